"""Connections of one web process, bounded in number and in how long they may say nothing.

uvicorn bounds a connection between two requests, but not the head of a request that comes a byte at a time, nor how
many connections there are. Only methods of `asyncio.Protocol` are extended here. The application, which finds a
connection in the scope, says when the head of a request is whole and when its answer is over (`request`).
"""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from controlplane.infra.conf import web_options

MAX_HEAD_BYTES = 128 * 2**10
"""More than this without the end of a head is no request. One read of a socket may go beyond it once."""
PROBE_IDLE_S, PROBE_EVERY_S, PROBES = 15, 5, 3
"""A machine that is gone without a word is noticed half a minute later."""
_HEAD_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Connections:
    """All connections of a process. Those without a request are idle: they have to go first where there are too many.

    Used by the loop's thread alone.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._open: set[GuardedProtocol] = set()
        self._idle: dict[str, OrderedDict[GuardedProtocol, None]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def came(self, one: "GuardedProtocol") -> None:
        """A client has connected. Where its address has too many idle connections, or the process too many at all, the
        one goes that has been idle for longest.
        """
        self._open.add(one)
        self.idle(one)
        mine = self._idle[one.address]
        if len(mine) > web_options().web_idle_connections_each:
            next(iter(mine)).cut()
        elif len(self._open) > self._maximum:
            crowd = max(self._idle.values(), key=len)
            next(iter(crowd)).cut()

    def idle(self, one: "GuardedProtocol") -> None:
        """It waits for a request."""
        self._idle.setdefault(one.address, OrderedDict())[one] = None

    def busy(self, one: "GuardedProtocol") -> None:
        """It has a request."""
        if (mine := self._idle.get(one.address)) is not None:
            mine.pop(one, None)
            if not mine:
                del self._idle[one.address]

    def left(self, one: "GuardedProtocol") -> None:
        """It is closed."""
        self._open.discard(one)
        self.busy(one)


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's HTTP/1.1, on a connection that is bounded."""

    def __init__(self, connections: Connections, *, app_state: dict[str, Any], **given: Any) -> None:
        super().__init__(app_state={**app_state, "connection": self}, **given)
        self._bounds = connections
        self._requests = 0
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self.address = ""
        """Of the peer, which may be a proxy."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn has it
        """Of `asyncio.Protocol`."""
        super().connection_made(transport)
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if isinstance(peer, tuple) else ""
        _set_up(transport.get_extra_info("socket"))
        self._head_begins()
        self._bounds.came(self)

    def data_received(self, data: bytes) -> None:
        """Of `asyncio.Protocol`."""
        if not self._requests:
            if self._head_bytes > MAX_HEAD_BYTES:
                self.transport.write(_HEAD_TOO_LARGE)
                self.transport.close()
                return
            self._head_bytes += len(data)
            self._head_begins()
        super().data_received(data)
        if self.transport.get_protocol() is not self:  # it goes on as a WebSocket, whose end another protocol hears of
            self._head_ends()
            self._bounds.left(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Of `asyncio.Protocol`."""
        self._head_ends()
        self._bounds.left(self)
        super().connection_lost(exc)

    @contextmanager
    def request(self) -> Iterator[None]:
        """Around the handling of a request, whose head is whole."""
        self._requests += 1
        self._head_ends()
        self._bounds.busy(self)
        try:
            yield
        finally:
            self._requests -= 1
            self._head_bytes = 0
            if not self.is_gone and self.transport.get_protocol() is self:
                self._bounds.idle(self)

    @property
    def is_gone(self) -> bool:
        """Whether nobody hears any more what is sent."""
        return self.transport.is_closing()

    @property
    def has_much_unsent(self) -> bool:
        """Whether more is to be sent than may wait in memory: who sends now waits until the peer takes some of it."""
        return bool(self.flow.write_paused)

    def cut(self) -> None:
        """Close it, whatever is under way."""
        self.transport.abort()

    def unsent_limit(self, size_bytes: int) -> None:
        """Let no more than this wait to be sent, here and in the kernel."""
        self.transport.set_write_buffer_limits(high=size_bytes)
        with suppress(OSError):
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * size_bytes)

    def _head_begins(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(web_options().web_head_timeout_s, self.cut)

    def _head_ends(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def guarded(connections: Connections) -> type[asyncio.Protocol]:
    """What makes a protocol for each new connection, as uvicorn asks for it."""
    made: Callable[..., GuardedProtocol] = partial(GuardedProtocol, connections)
    return cast("type[asyncio.Protocol]", made)


def _set_up(sock: socket.socket) -> None:
    """Small writes go at once. Dead peers are noticed: by probes while nothing is said, and by a limit to what they may
    leave unacknowledged or untaken.
    """
    for level, option, value in (
        # asyncio sets this for sockets that know their protocol by number, which those of a shared listener do not.
        # Without it head and body of an answer are 40 ms apart for a client that acknowledges late.
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, PROBE_IDLE_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, PROBE_EVERY_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, PROBES),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(web_options().large_answer_stalled_s * 1000)),
    ):
        with suppress(OSError):  # a socket of another family
            sock.setsockopt(level, option, value)
