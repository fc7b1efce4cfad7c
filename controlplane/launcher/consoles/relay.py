"""The consoles that one web process holds, in a thread with an event loop of its own.

The process that the browser came to holds the session. The host may come to any other: that one hands its bytes on,
unread, over a connection between the two (on one machine an abstract UNIX socket; between machines TCP, where
CONSOLE_RELAY_ADDRESS says so), which begins with a line that only this installation can write.
"""

import asyncio
import hmac
import logging
import secrets
import socket
import threading
import time
import uuid
from collections.abc import Callable, Collection, Coroutine, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import close_old_connections
from django.utils.crypto import salted_hmac

from controlplane.kernel.kill_points import reach
from controlplane.launcher.consoles.rfb import RfbRefused, ViewOnly
from controlplane.launcher.consoles.websocket import READ_BYTES, EndGone, SocketEnd, upgrade_answer
from servers.conf import server_options
from servers.consoles.places import OpenedConsole
from servers.consoles.selectors import WAIT_S
from servers.consoles.services import console_host_wake, console_session_ended, console_sessions_over

log = logging.getLogger(__name__)
T = TypeVar("T")

CHECK_S = 5.0
"""How often it is asked who may go on: so long at most works whoever lost the right to."""
WAKE_EVERY_S = 2.0
CONNECT_S = 5.0
PREFACE_MAX_BYTES = 300
PREFACE_AGE_S = 30.0
GOING_AWAY, REFUSED, LOST = 1001, 4001, 4002
"""Codes of the closing of a WebSocket: come again; do not; the guest's side is gone."""


@dataclass(slots=True)
class Open:
    """A session that somebody looks at."""

    session_id: uuid.UUID
    host: str
    is_read_only: bool
    came: "asyncio.Future[SocketEnd]"
    over: "asyncio.Future[str]"


class ConsoleRelay:
    """Started with the first console; the methods without an underscore may be called by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: dict[uuid.UUID, Open] = {}
        self._early: dict[uuid.UUID, SocketEnd] = {}
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="consoles-rows")
        self._holder = ""
        self._running: set[Future[None]] = set()
        self._server: asyncio.AbstractServer | None = None

    @property
    def holder(self) -> str:
        """Where the other processes reach this one."""
        self._started()
        return self._holder

    @property
    def is_full(self) -> bool:
        """Whether it holds as many as it may."""
        return len(self._open) >= server_options().consoles_per_process

    def take_browser(self, sock: socket.socket, path: str, headers: Mapping[str, str], session: OpenedConsole) -> None:
        """Go on with the connection of whoever opened the session."""
        self._run(self._browser(sock, path, headers, session))

    def take_host(self, sock: socket.socket, path: str, headers: Mapping[str, str], session: OpenedConsole) -> None:
        """Go on with the connection of the guest's host, here or where its session is."""
        self._run(self._host(sock, path, headers, session))

    def close(self) -> None:
        """The process ends: browsers come again, to another."""
        loop = self._loop
        if loop is not None:
            loop.call_soon_threadsafe(self._end_all)

    def _run(self, story: Coroutine[Any, Any, None]) -> None:
        # A loop holds its tasks by weak references: one that only waits for bytes would be collected as garbage.
        running = asyncio.run_coroutine_threadsafe(story, self._started())
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop, listening = asyncio.new_event_loop(), threading.Event()

                def serve() -> None:
                    asyncio.set_event_loop(loop)
                    loop.run_until_complete(self._listen())
                    listening.set()
                    loop.run_until_complete(self._check_all())

                threading.Thread(target=serve, name="consoles", daemon=True).start()
                listening.wait()
                self._loop = loop
            return self._loop

    async def _listen(self) -> None:
        if address := server_options().console_relay_address:
            self._server = server = await asyncio.start_server(self._arrived, address, 0)
            self._holder = f"tcp:{address}:{server.sockets[0].getsockname()[1]}"
        else:
            name = f"kilonova-consoles-{secrets.token_hex(8)}"
            self._server = await asyncio.start_unix_server(self._arrived, f"\0{name}")
            self._holder = f"unix:{name}"

    async def _browser(
        self, sock: socket.socket, path: str, headers: Mapping[str, str], session: OpenedConsole
    ) -> None:
        answer, is_opened = upgrade_answer(path, headers)
        loop = asyncio.get_running_loop()
        sock.setblocking(False)
        try:
            await loop.sock_sendall(sock, answer)
        except OSError:
            is_opened = False
        if not is_opened:
            sock.close()
            await self._rows(lambda: console_session_ended(session_id=session.session_id, because="It was not opened."))
            return
        end = await SocketEnd.of_socket(sock)
        here = Open(session.session_id, session.host, session.is_read_only, loop.create_future(), loop.create_future())
        self._open[session.session_id] = here
        reach("controlplane.launcher.consoles:browser-came")
        if (early := self._early.pop(session.session_id, None)) is not None:
            here.came.set_result(early)
        code, because = LOST, "It broke off."
        try:
            code, because = await self._joined(here, end)
        finally:
            del self._open[session.session_id]
            await end.close(code, because)
            await self._rows(lambda: console_session_ended(session_id=session.session_id, because=because))

    async def _joined(self, here: Open, browser: SocketEnd) -> tuple[int, str]:
        """Wait for the host, pass bytes on both ways, and say how it ended."""
        host = await self._host_of(here)
        if host is None:
            return (REFUSED, here.over.result()) if here.over.done() else (LOST, "The guest's host did not come.")
        reach("controlplane.launcher.consoles:joined")
        ways: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(_pass_on(browser, host, ViewOnly() if here.is_read_only else None)),
            asyncio.ensure_future(_pass_on(host, browser, None)),
            asyncio.ensure_future(browser.keep_alive()),
            asyncio.ensure_future(host.keep_alive()),
        ]
        try:
            await asyncio.wait([*ways, here.over], return_when=asyncio.FIRST_COMPLETED)
            if here.over.done():
                return REFUSED if here.over.result() != RESTART else GOING_AWAY, here.over.result()
            if ways[1].done() or ways[3].done():
                return LOST, "The guest's side ended."
            return 1000, "Closed by its user."
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            await host.close(1000, "")

    async def _host_of(self, here: Open) -> SocketEnd | None:
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

    async def _host(self, sock: socket.socket, path: str, headers: Mapping[str, str], session: OpenedConsole) -> None:
        answer, is_opened = upgrade_answer(path, headers)
        sock.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_sendall(sock, answer)
        except OSError:
            is_opened = False
        if not is_opened:
            sock.close()
        elif session.holder == self._holder:
            await self._came(session.session_id, await SocketEnd.of_socket(sock))
        else:
            await self._hand_on(sock, session)

    async def _came(self, session_id: uuid.UUID, end: SocketEnd) -> None:
        here = self._open.get(session_id)
        if here is not None and not here.came.done():
            here.came.set_result(end)
            return
        if here is None:
            # The host is woken by the row, and may be quicker than the browser's connection is on its way to this loop.
            self._early[session_id] = end
            await asyncio.sleep(CONNECT_S)
            if self._early.get(session_id) is not end:
                return
            del self._early[session_id]
        await end.close(LOST, "Nobody waits for it any more.")

    async def _hand_on(self, sock: socket.socket, session: OpenedConsole) -> None:
        """To the process that holds the session, byte by byte as they come."""
        near_reader, near = await asyncio.open_connection(sock=sock, limit=2 * READ_BYTES)
        try:
            far_reader, far = await asyncio.wait_for(_reach(session.holder), CONNECT_S)
        except (OSError, TimeoutError, ValueError) as error:
            log.warning("console %s: the process that holds it cannot be reached: %s", session.session_id, error)
            near.close()
            return
        far.write(preface(session.session_id, session.holder))
        reach("controlplane.launcher.consoles:handed-on")
        ways = [asyncio.ensure_future(_copy(near_reader, far)), asyncio.ensure_future(_copy(far_reader, near))]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way, writer in zip(ways, (far, near), strict=True):
            way.cancel()
            writer.close()

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
        await self._came(session_id, SocketEnd(reader, writer))

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

    def _end_all(self) -> None:
        for here in self._open.values():
            if not here.over.done():
                here.over.set_result(RESTART)

    async def _rows(self, act: Callable[[], T]) -> T:
        def run() -> T:
            close_old_connections()
            try:
                return act()
            finally:
                close_old_connections()

        return await asyncio.get_running_loop().run_in_executor(self._pool, run)


RESTART = "The web server restarts."


async def _pass_on(source: SocketEnd, target: SocketEnd, view_only: ViewOnly | None) -> None:
    """Until one of them ends. What the target does not take is not read."""
    with suppress(EndGone):
        while True:
            data = await source.read()
            try:
                data = data if view_only is None else view_only.passed(data)
            except RfbRefused as error:
                log.info("a viewer that may only look was cut off: %s", error)
                return
            if data:
                await target.write(data)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(READ_BYTES):
            writer.write(data)
            await writer.drain()


async def _reach(holder: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    kind, _, place = holder.partition(":")
    if kind == "unix":
        return await asyncio.open_unix_connection(f"\0{place}", limit=2 * READ_BYTES)
    address, _, port = place.rpartition(":")
    return await asyncio.open_connection(address, int(port), limit=2 * READ_BYTES)


def preface(session_id: uuid.UUID, holder: str) -> bytes:
    """The line that begins a connection between two processes of one installation."""
    said = f"{session_id} {int(time.time())}"
    return f"{said} {_seal(said, holder)}\n".encode()


def preface_read(line: bytes, holder: str) -> uuid.UUID | None:
    """The session that it names; None for one that somebody else wrote, or wrote long ago."""
    try:
        session, at, seal = line.decode("ascii").split()
        if not hmac.compare_digest(_seal(f"{session} {at}", holder), seal):
            return None
        return uuid.UUID(session) if abs(time.time() - int(at)) <= PREFACE_AGE_S else None
    except (UnicodeDecodeError, ValueError):
        return None


def _seal(said: str, holder: str) -> str:
    return salted_hmac("kilonova console relay", f"{holder} {said}", algorithm="sha256").hexdigest()
