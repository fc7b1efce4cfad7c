"""The share of consoles in the mixed load: opened by their token as a browser opens them, typed into, and closed."""

import random
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from computeagent.protocol.consoles import ConsoleKind
from tests.drill.asking import Ask
from tests.drill.names import CONSOLE_TOKEN_S
from tests.drill.simulated_consoles import greeting

LEFT_ALONE = 0.2
"""So many tokens are not used: nobody may use them later."""
HELD_S = 1.2
OPEN_S = 30.0
ANSWER_S = 30.0
GONE = (404, 429)
"""Right for a guest that somebody takes away meanwhile, and for a user who has very many open."""
REFUSED = frozenset({403, 409, 429, 503})
"""Right for a guest that went between the token and its use, and for a server that is busy."""
ENDS = ("close", "cut", "end")
BROKEN = (OSError, EOFError, WebSocketException)


@dataclass(frozen=True, slots=True)
class Access:
    """What opens a console once. `was_used`: it did; else until its time is over."""

    id: str
    stream: str
    token: str
    asked_at: float
    was_used: bool = False


class ConsoleLoad:
    """Consoles side by side with the load of instances. Refusals by the state of things are right."""

    def __init__(self, ask: Ask, rng: random.Random) -> None:
        self._ask, self._rng = ask, rng
        self._lock = threading.Lock()
        self._given: list[Access] = []
        self.opened = self.typed = 0
        """Consoles that were opened; and those through which bytes went to the guest and back."""
        self.unexpected: list[str] = []

    def visit(self, instances: Sequence[tuple[str, str]]) -> None:
        """One of these, each with its host, is typed into for a moment; some are asked for and left alone."""
        if instances:
            uid, host = self._rng.choice(list(instances))
            if self._rng.random() < LEFT_ALONE:
                self.look(uid, host, ConsoleKind.VNC, is_left_alone=True)
            self.look(uid, host, self._rng.choice(list(ConsoleKind)))

    def look(self, uid: str, host: str, kind: ConsoleKind, *, is_left_alone: bool = False) -> bool:
        """Whether bytes went both ways."""
        asked = self._ask(f"instances/{uid}/consoles/", {"kind": kind.value}, fine=GONE)
        if not asked or "token" not in asked:
            return False
        access = Access(asked["id"], asked["stream"], asked["token"], time.monotonic())
        if is_left_alone:
            self._note(access)
            return False
        try:
            console = _opened(access)
        except InvalidStatus as error:
            self._note(access)
            if (status := error.response.status_code) not in REFUSED:
                self._complain(f"console {access.id} of {uid} was answered with {status}")
            return False
        except BROKEN:  # whether it was opened is not known
            self._note(access)
            return False
        self._note(Access(access.id, access.stream, access.token, access.asked_at, was_used=True))
        try:
            is_typed = self._converse(console, uid, host, kind)
            self._finish(console, access)
        except BROKEN:
            return False
        finally:
            with suppress(*BROKEN):
                console.close()
        with self._lock:
            self.typed += is_typed
        return is_typed

    def usable(self, *, has_expired: bool = False) -> list[str]:
        """Tokens that open a console and may not: one that was used; with `has_expired` all others as well, once their
        time is over. What cannot be tried now is tried the next time.
        """
        with self._lock:
            tried = [one for one in self._given if one.was_used or has_expired]
            self._given = [one for one in self._given if one not in tried]
        found = []
        for one in tried:
            if not one.was_used:
                time.sleep(max(0.0, one.asked_at + CONSOLE_TOKEN_S + 1.0 - time.monotonic()))
            try:
                _opened(one).close()
                found.append(f"the token of console {one.id} opened it {'again' if one.was_used else 'too late'}")
            except InvalidStatus as error:
                if error.response.status_code != 403:
                    self._note(one)
            except BROKEN:
                self._note(one)
        return found

    def _converse(self, console: ClientConnection, uid: str, host: str, kind: ConsoleKind) -> bool:
        """Type and read for a while. The serial port of a real guest takes what is typed, and is silent."""
        until = time.monotonic() + self._rng.uniform(0, HELD_S)
        if not host.startswith("q"):
            expected = greeting(uid, kind)
            while time.monotonic() < until or expected.startswith(b"console"):
                if (said := _read(console, len(expected))) != expected:
                    self._complain(f"the {kind} console of {uid} said {said!r} instead of {expected!r}")
                    return False
                expected = b"typed %d\r" % self._rng.randrange(1000)
                console.send(expected)
            return True
        if kind is ConsoleKind.VNC:
            if not (said := _read(console, 12)).startswith(b"RFB 003."):
                self._complain(f"the screen of {uid} began with {said!r}")
                return False
            console.send(said)
            _read(console, 2)  # how many kinds of security there are, and the first
        else:
            console.send(b"\r")
        time.sleep(max(0.0, until - time.monotonic()))
        return kind is ConsoleKind.VNC

    def _finish(self, console: ClientConnection, access: Access) -> None:
        """As people do, as machines that lose their power do, or as an administrator does."""
        how = self._rng.choice(ENDS)
        if how == "cut":
            console.socket.shutdown(socket.SHUT_RDWR)
        elif how == "end" and self._ask(f"consoles/{access.id}/", None, "DELETE", fine=GONE) is not None:
            with suppress(TimeoutError, *BROKEN):
                while True:
                    console.recv(timeout=ANSWER_S)

    def _note(self, access: Access) -> None:
        with self._lock:
            self._given.append(access)
            self.opened += access.was_used

    def _complain(self, line: str) -> None:
        with self._lock:
            self.unexpected.append(line)


def _opened(access: Access) -> ClientConnection:
    return connect(
        access.stream,
        subprotocols=[Subprotocol("binary"), Subprotocol(f"kilonova.token.{access.token}")],
        compression=None,
        proxy=None,
        open_timeout=OPEN_S,
        close_timeout=1.0,
    )


def _read(console: ClientConnection, size: int) -> bytes:
    """So many bytes. Raises OSError when they do not come."""
    data = b""
    while len(data) < size:
        data += bytes(console.recv(timeout=ANSWER_S))  # type: ignore[arg-type]
    return data
