"""The consoles that one web process holds, as coroutines of its loop.

The process that the browser came to holds the session. The host may come to any other: that one hands its bytes on over
a connection between the two (on one machine an abstract UNIX socket; between machines TCP, where CONSOLE_RELAY_ADDRESS
says so), which begins with a line that only this installation can write.
"""

import asyncio
import logging
import secrets
import socket
import time
import uuid
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeVar

from django.db import close_old_connections

from controlplane.infra.reader_texts import said_in
from controlplane.infra.secret_keys import is_keyed_hash, keyed_hash
from controlplane.kernel.kill_points import reach
from controlplane.kernel.texts import phrase as _
from controlplane.launcher.web.console_ends import READ_BYTES, BrowserEnd, ConsoleEnd, EndGone, RelayedEnd
from controlplane.launcher.web.rfb import RfbRefused, ViewOnly
from servers.conf import server_options
from servers.consoles.places import OpenedConsole
from servers.consoles.selectors import WAIT_S, console_session_end_reason
from servers.consoles.services import (
    SERIAL_TAKEN,
    console_host_wake,
    console_session_ended,
    console_sessions_over,
)

log = logging.getLogger(__name__)
T = TypeVar("T")

CHECK_S = 5.0
"""How often it is asked who may go on: so long at most works whoever lost the right to."""
WAKE_EVERY_S = 2.0
CONNECT_S = 5.0
PREFACE_MAX_BYTES = 300
PREFACE_AGE_S = 30.0
SEAL_SALT = "kilonova console relay"
NORMAL, GOING_AWAY, REFUSED, LOST, TAKEN = 1000, 1001, 4001, 4002, 4003
"""Codes of the closing of a WebSocket: its user closed it; come again; do not; the guest's side is gone; another
console has the serial port.
"""


@dataclass(slots=True)
class Open:
    """A session that somebody looks at."""

    session_id: uuid.UUID
    host: str
    is_read_only: bool
    came: "asyncio.Future[ConsoleEnd]"
    over: "asyncio.Future[str]"


@dataclass(slots=True)
class Early:
    """A host that came before its browser. `taken`: the browser has it; False: it waits no more."""

    end: ConsoleEnd
    taken: "asyncio.Future[bool]"


class Borrowed:
    """A WebSocket's end whose request lasts until it is let go of."""

    def __init__(self, end: ConsoleEnd) -> None:
        self._end = end
        self.let_go = asyncio.Event()
        self.read = end.read
        self.write = end.write

    async def close(self, code: int, reason: str) -> None:
        """See ConsoleEnd."""
        try:
            await self._end.close(code, reason)
        finally:
            self.let_go.set()


class ConsoleRelay:
    """Used by the loop's thread alone, but for `holder` and `is_full`."""

    def __init__(self) -> None:
        self._open: dict[uuid.UUID, Open] = {}
        self._early: dict[uuid.UUID, Early] = {}
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="consoles-rows")
        self._holder = ""
        self._starting = asyncio.Lock()
        self._server: asyncio.AbstractServer | None = None
        self._checking: asyncio.Task[None] | None = None

    @property
    def holder(self) -> str:
        """Where the other processes reach this one, once it has started."""
        return self._holder

    @property
    def is_full(self) -> bool:
        """Whether it holds as many as it may."""
        return len(self._open) >= server_options().consoles_per_process

    async def start(self) -> None:
        """Listen for hosts that come to other processes. Nothing, when that was done already."""
        async with self._starting:
            if self._server is not None:
                return
            if address := server_options().console_relay_address:
                self._server = server = await asyncio.start_server(self._arrived, address, 0)
                self._holder = f"tcp:{address}:{server.sockets[0].getsockname()[1]}"
            else:
                name = f"kilonova-consoles-{secrets.token_hex(8)}"
                listener = socket.socket(socket.AF_UNIX)
                listener.bind(_abstract(name))
                self._server = await asyncio.start_unix_server(self._arrived, sock=listener)
                self._holder = f"unix:{name}"
            self._checking = asyncio.create_task(self._check_all())

    def close(self) -> None:
        """The process ends: browsers come again, to another."""
        for here in self._open.values():
            if not here.over.done():
                here.over.set_result(RESTART)
        for early in self._early.values():
            if not early.taken.done():
                early.taken.set_result(False)

    async def browser(self, end: BrowserEnd, session: OpenedConsole) -> None:
        """Go on with the connection of whoever opened the session, until it is over."""
        loop = asyncio.get_running_loop()
        here = Open(session.session_id, session.host, session.is_read_only, loop.create_future(), loop.create_future())
        self._open[session.session_id] = here
        reach("controlplane.launcher.consoles:browser-came")
        early = self._early.pop(session.session_id, None)
        if early is not None and not early.taken.done():
            here.came.set_result(early.end)
            early.taken.set_result(True)
        code, because = LOST, BROKE_OFF
        try:
            code, because = await self._joined(here, end)
        finally:
            del self._open[session.session_id]
            if here.came.done():  # also where nobody waited for it any more
                await here.came.result().close(NORMAL, "")
            await end.close(code, await _in_language(end.language, because))
            await self._rows(lambda: console_session_ended(session_id=session.session_id, because=because))

    async def host(self, end: ConsoleEnd, session: OpenedConsole) -> None:
        """Go on with the connection of the guest's host, here or where its session is, until that is over."""
        if session.holder == self._holder:
            waited = Borrowed(end)
            await self._came(session.session_id, waited)
            await waited.let_go.wait()
        else:
            await self._hand_on(end, session)

    async def _joined(self, here: Open, browser: BrowserEnd) -> tuple[int, str]:
        """Wait for the host, pass bytes on both ways, and say how it ended."""
        host = await self._host_of(here)
        if host is None:
            return _ended_by(here.over.result()) if here.over.done() else (LOST, HOST_DID_NOT_COME)
        reach("controlplane.launcher.consoles:joined")
        with suppress(EndGone):  # found out below
            await browser.joined()
        typed = asyncio.ensure_future(_pass_on(browser, host, ViewOnly() if here.is_read_only else None))
        shown = asyncio.ensure_future(_pass_on(host, browser, None))
        either: list[asyncio.Future[Any]] = [typed, shown, here.over]
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if here.over.done():
                return _ended_by(here.over.result())
            if typed.done() and typed.result() is Ending.CUT_OFF:
                return REFUSED, CUT_OFF
            is_host_gone = (shown.done() and shown.result() is Ending.SOURCE) or (
                typed.done() and typed.result() is Ending.TARGET
            )
            return await self._guest_side_ended(here) if is_host_gone else (NORMAL, CLOSED_BY_USER)
        finally:
            typed.cancel()
            shown.cancel()
            await asyncio.gather(typed, shown, return_exceptions=True)

    async def _guest_side_ended(self, here: Open) -> tuple[int, str]:
        """The host lets go of a console whose serial port another one took: its row says so then."""
        because = ""
        with suppress(Exception):  # a database that is away: the browser comes again, and is judged anew
            because = await self._rows(lambda: console_session_end_reason(session_id=here.session_id))
        return _ended_by(because) if because else (LOST, GUEST_SIDE_ENDED)

    async def _host_of(self, here: Open) -> ConsoleEnd | None:
        """The host's end, waking it again meanwhile, since wake-ups may be lost."""
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            either: list[asyncio.Future[Any]] = [here.came, here.over]
            await asyncio.wait(either, timeout=WAKE_EVERY_S, return_when=asyncio.FIRST_COMPLETED)
            if here.over.done():
                return None
            if here.came.done():
                return here.came.result()
            await self._rows(lambda: console_host_wake(host=here.host))
            await self._check([here.session_id])
        return None

    async def _came(self, session_id: uuid.UUID, end: ConsoleEnd) -> None:
        here = self._open.get(session_id)
        if here is not None and not here.came.done():
            here.came.set_result(end)
            return
        if here is None:
            # The host is woken by the row, and may be quicker than the browser's connection is on its way to this loop.
            early, before = Early(end, asyncio.get_running_loop().create_future()), self._early.get(session_id)
            if before is not None and not before.taken.done():
                before.taken.set_result(False)
            self._early[session_id] = early
            try:
                await asyncio.wait([early.taken], timeout=CONNECT_S)
            finally:
                if self._early.get(session_id) is early:
                    del self._early[session_id]
            if early.taken.done() and early.taken.result():
                return
        await end.close(LOST, "Nobody waits for it any more.")

    async def _hand_on(self, near: ConsoleEnd, session: OpenedConsole) -> None:
        """To the process that holds the session, as the bytes come."""
        try:
            far = RelayedEnd(*await asyncio.wait_for(_reach(session.holder), CONNECT_S))
        except (OSError, TimeoutError, ValueError) as error:
            log.warning("console %s: the process that holds it cannot be reached: %s", session.session_id, error)
            await near.close(LOST, "The web server that holds this console cannot be reached.")
            return
        ways: list[asyncio.Future[Ending]] = []
        try:
            await far.write(preface(session.session_id, session.holder))
            reach("controlplane.launcher.consoles:handed-on")
            ways += [asyncio.ensure_future(_pass_on(near, far, None)), asyncio.ensure_future(_pass_on(far, near, None))]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        except EndGone:
            log.info("console %s: the process that holds it is gone", session.session_id)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            await far.close(NORMAL, "")
            await near.close(NORMAL, "")

    async def _arrived(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A host that came to another process."""
        try:
            line = await asyncio.wait_for(reader.readuntil(b"\n"), CONNECT_S)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            line = b""
        session_id = preface_read(line, self._holder) if len(line) <= PREFACE_MAX_BYTES else None
        if session_id is None:
            log.warning("somebody who is none of this installation knocked at the relay of consoles")
            writer.close()
            return
        await self._came(session_id, RelayedEnd(reader, writer))

    async def _check_all(self) -> None:
        while True:
            await asyncio.sleep(CHECK_S)
            with suppress(Exception):
                await self._check(list(self._open))

    async def _check(self, session_ids: Collection[uuid.UUID]) -> None:
        """Ask which may go on. Where it cannot be known, the answer is no."""
        if not session_ids:
            return
        try:
            over = await self._rows(lambda: console_sessions_over(session_ids=session_ids))
        except Exception:  # whatever it is, nobody goes on unjudged
            log.warning("%d consoles end, since nobody can say whether they may go on", len(session_ids), exc_info=True)
            over = dict.fromkeys(session_ids, RESTART)
        for session_id, why in over.items():
            here = self._open.get(session_id)
            if here is not None and not here.over.done():
                here.over.set_result(why)

    async def _rows(self, act: Callable[[], T]) -> T:
        def run() -> T:
            close_old_connections()
            try:
                return act()
            finally:
                close_old_connections()

        return await asyncio.get_running_loop().run_in_executor(self._pool, run)


RESTART = _("The web server restarts.")
CUT_OFF = _("A viewer that may only look said what is not known here.")
BROKE_OFF = _("It broke off.")
HOST_DID_NOT_COME = _("The guest's host did not come.")
GUEST_SIDE_ENDED = _("The guest's side ended.")
CLOSED_BY_USER = _("Closed by its user.")


def _ended_by(because: str) -> tuple[int, str]:
    """The code of the closing for a session that ended because of this, and the reason itself."""
    return {RESTART: GOING_AWAY, SERIAL_TAKEN: TAKEN}.get(because, REFUSED), because


async def _in_language(language: str, because: str) -> str:
    """Stored and logged it is English. In a thread, since translations are read from files."""
    return await asyncio.to_thread(said_in, language, because) if language else because


class Ending(Enum):
    """Why bytes are passed on no more: which of the two ends has gone, or that the source said what it may not."""

    SOURCE = auto()
    TARGET = auto()
    CUT_OFF = auto()


async def _pass_on(source: ConsoleEnd, target: ConsoleEnd, view_only: ViewOnly | None) -> Ending:
    """Until one of them ends. What the target does not take is not read."""
    while True:
        try:
            data = await source.read()
        except EndGone:
            return Ending.SOURCE
        try:
            data = data if view_only is None else view_only.passed(data)
        except RfbRefused as error:
            log.info("a viewer that may only look was cut off: %s", error)
            return Ending.CUT_OFF
        try:
            if data:
                await target.write(data)
        except EndGone:
            return Ending.TARGET


def _abstract(name: str) -> str:
    """The address of an abstract UNIX socket. The loop takes it for a path: sockets are bound and connected here."""
    return f"\0{name}"


async def _reach(holder: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    kind, _, place = holder.partition(":")
    if kind == "unix":
        with ExitStack() as if_failed:
            connection = if_failed.enter_context(socket.socket(socket.AF_UNIX))
            connection.setblocking(False)
            await asyncio.get_running_loop().sock_connect(connection, _abstract(place))
            streams = await asyncio.open_unix_connection(sock=connection, limit=2 * READ_BYTES)
            if_failed.pop_all()
            return streams
    address, _, port = place.rpartition(":")
    return await asyncio.open_connection(address, int(port), limit=2 * READ_BYTES)


def preface(session_id: uuid.UUID, holder: str) -> bytes:
    """The line that begins a connection between two processes of one installation."""
    said = f"{session_id} {int(time.time())}"
    return f"{said} {keyed_hash(f'{holder} {said}', salt=SEAL_SALT)}\n".encode()


def preface_read(line: bytes, holder: str) -> uuid.UUID | None:
    """The session that it names; None for one that somebody else wrote, or wrote long ago."""
    try:
        session, at, seal = line.decode("ascii").split()
        if not is_keyed_hash(seal, f"{holder} {session} {at}", salt=SEAL_SALT):
            return None
        return uuid.UUID(session) if abs(time.time() - int(at)) <= PREFACE_AGE_S else None
    except (UnicodeDecodeError, ValueError):
        return None
