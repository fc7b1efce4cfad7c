"""Open streams of one web process: connections to which the worker's loop writes small events, without any thread."""

import logging
import random
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any

from controlplane.infra.conf import stream_options
from controlplane.infra.event_streams import Feed, MayGoOn
from controlplane.kernel.errors import Throttled, Unavailable

log = logging.getLogger(__name__)

REST_S = 0.5
"""Events of one stream are this far apart at least; what comes meanwhile goes together."""
KEEP_ALIVE_S = 15.0
"""A comment goes out after so much silence: proxies cut what says nothing for a minute."""
CHECKED_AT_ONCE = 100
MAX_UNSENT_BYTES = 8 * 1024
"""What a client has not taken of what was told. One that is slower is cut off, and comes again by itself."""
MAX_STALLED_S = 30.0
SEND_BUFFER_BYTES = 16 * 1024
"""Of the kernel, for each stream: the default would let a client that takes nothing hold megabytes."""
RETRY_MS = (1000, 5000)
"""When a browser comes again after a cut: not all of them at once."""
REFUSED_WAIT_S = 60
_KEEP_ALIVE = ":\n\n"
_BLOCKED = (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError)


class HandedOver(OSError):
    """Ends the body of a response that goes on as a stream. Gunicorn passes on an OSError of a body without a word."""


@dataclass(slots=True, eq=False)
class Stream:
    """One open connection."""

    conn: Any
    feed: Feed
    may_go_on: MayGoOn
    is_chunked: bool
    pending: dict[str, None] = field(default_factory=dict)
    unsent: bytearray = field(default_factory=bytearray)
    stalled_since: float = 0.0
    sent_at: float = 0.0
    written_at: float = 0.0
    checked_at: float = 0.0


class StreamRoom:
    """Who has how many streams. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()

    def enter(self, owner: str) -> None:
        """Raises Unavailable where the process is full, Throttled where the owner has all that one may have."""
        options = stream_options()
        with self._lock:
            if self._taken.total() >= options.streams_max:
                raise Unavailable("This server holds as many streams as it may.", wait_s=REFUSED_WAIT_S)
            if self._taken[owner] >= options.streams_per_user:
                raise Throttled("You have as many open pages as one may have here.", wait_s=REFUSED_WAIT_S)
            self._taken[owner] += 1

    def leave(self, owner: str) -> None:
        """Give the place back."""
        with self._lock:
            self._taken[owner] -= 1
            if self._taken[owner] <= 0:
                del self._taken[owner]


class StreamOffer:
    """What one request is offered. See `controlplane.infra.event_streams.Places`."""

    def __init__(self, room: StreamRoom) -> None:
        self._room = room
        self.taken: tuple[Feed, MayGoOn] | None = None

    def take(self, feed: Feed, may_go_on: MayGoOn) -> Iterator[bytes]:
        """See Places."""
        self._room.enter(feed.owner)
        self.taken = feed, may_go_on
        return self._body()

    def _body(self) -> Iterator[bytes]:
        yield f"retry: {random.randint(*RETRY_MS)}\n\n".encode()  # noqa: S311 - only spreads them
        raise HandedOver


class Streams:
    """Used by the main thread alone, but for what a feed tells."""

    def __init__(self, room: StreamRoom, worker: Any) -> None:
        self._room = room
        self._worker = worker
        self._open: dict[int, Stream] = {}
        self._lock = threading.Lock()
        self._dirty: set[Stream] = set()
        self._resting: set[Stream] = set()
        self._ticked_at = 0.0
        self._checks = 0

    def __len__(self) -> int:
        return len(self._open)

    def held(self) -> list[Stream]:
        """Those that are open."""
        return list(self._open.values())

    def longest_wait_s(self, timeout_s: float) -> float:
        """How long the loop may wait, so that what rests is written in time."""
        return min(timeout_s, REST_S / 2) if self._resting else timeout_s

    def hold(self, stream: Stream) -> None:
        """Write to it from now on. Its head is written, and no thread uses it any more."""
        sock = stream.conn.sock
        sock.setblocking(False)
        for level, option, value in (
            (socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER_BYTES),
            # A machine that is gone without a word is noticed by what it does not acknowledge.
            (socket.IPPROTO_TCP, getattr(socket, "TCP_USER_TIMEOUT", 18), int(MAX_STALLED_S * 1000)),
        ):
            try:
                sock.setsockopt(level, option, value)
            except OSError as error:  # a socket of another family, or another kernel
                log.debug("a stream goes without one option of its socket: %s", error)
        stream.conn.parser = None  # of the request, which is over: it is the largest part of a connection's memory
        now = time.monotonic()
        stream.written_at = now
        stream.checked_at = now - random.uniform(0, stream_options().streams_check_s / 2)  # noqa: S311 - spreads the looks
        self._open[id(stream.conn)] = stream
        self._watch(stream)
        stream.feed.begin(lambda text: self._tell(stream, text))

    def tick(self) -> None:
        """Call it often. Some times a second it writes what rested and keep-alives, and looks who may go on."""
        now = time.monotonic()
        if now - self._ticked_at < REST_S / 2:
            return
        self._ticked_at = now
        resting, self._resting = self._resting, set()
        for stream in resting:
            self._write_pending(stream, now)
        for stream in self.held():
            if stream.unsent and now - stream.stalled_since > MAX_STALLED_S:
                self._drop(stream)
            elif now - stream.written_at >= KEEP_ALIVE_S:
                self._write(stream, _KEEP_ALIVE, now)
        self._check(now)

    def close(self) -> None:
        """End them all, as a response ends: their browsers come again."""
        for stream in self.held():
            self._end(stream)

    def _tell(self, stream: Stream, text: str) -> None:
        """From any thread. One callback of the loop writes what was told until it runs, to all of them."""
        with self._lock:
            is_first = not self._dirty
            self._dirty.add(stream)
            stream.pending[text] = None
        if is_first:
            self._worker.method_queue.defer(self._write_dirty)

    def _write_dirty(self) -> None:
        with self._lock:
            dirty, self._dirty = self._dirty, set()
        now = time.monotonic()
        for stream in dirty:
            self._write_pending(stream, now)

    def _write_pending(self, stream: Stream, now: float) -> None:
        if id(stream.conn) not in self._open:
            return
        if now - stream.sent_at < REST_S:
            self._resting.add(stream)
            return
        with self._lock:
            text = "".join(stream.pending)
            stream.pending.clear()
        if text:
            stream.sent_at = now
            self._write(stream, text, now)

    def _write(self, stream: Stream, text: str, now: float) -> None:
        data = text.encode()
        if stream.is_chunked:
            data = b"%x\r\n%b\r\n" % (len(data), data)
        stream.written_at = now
        if stream.unsent:
            stream.unsent += data
            if len(stream.unsent) > MAX_UNSENT_BYTES:
                self._drop(stream)
            return
        if (left := self._send(stream, data)) is not None and left:
            stream.unsent += left
            stream.stalled_since = now
            self._worker.poller.modify(stream.conn.sock, EVENT_WRITE, lambda _: self._send_unsent(stream))

    def _send(self, stream: Stream, data: bytes) -> bytes | None:
        """What the kernel did not take; None for a stream that is over."""
        try:
            return data[stream.conn.sock.send(data) :]
        except _BLOCKED:
            return data
        except OSError:
            self._drop(stream)
            return None

    def _send_unsent(self, stream: Stream) -> None:
        left = self._send(stream, bytes(stream.unsent))
        if left is None:
            return
        if len(left) < len(stream.unsent):
            stream.stalled_since = time.monotonic()
        stream.unsent[:] = left
        if not left:
            self._worker.poller.unregister(stream.conn.sock)
            self._watch(stream)

    def _watch(self, stream: Stream) -> None:
        """What becomes readable was closed by the other side, or breaks the protocol."""
        self._worker.poller.register(stream.conn.sock, EVENT_READ, lambda _: self._drop(stream))

    def _check(self, now: float) -> None:
        """Ask of those that are due, all together in one thread."""
        if self._checks:
            return
        since = now - stream_options().streams_check_s
        due = [stream for stream in self._open.values() if stream.checked_at <= since][:CHECKED_AT_ONCE]
        by_judge: dict[MayGoOn, list[Stream]] = {}
        for stream in due:
            stream.checked_at = now
            by_judge.setdefault(stream.may_go_on, []).append(stream)
        for judge, streams in by_judge.items():
            self._checks += 1
            self._worker.tpool.submit(self._judge, judge, streams)

    def _judge(self, judge: MayGoOn, streams: Collection[Stream]) -> None:
        """In a thread. Where it cannot be known, the answer is no."""
        refused: list[Stream] = list(streams)
        try:
            verdicts = judge([stream.feed for stream in streams])
            refused = [stream for stream, may in zip(streams, verdicts, strict=True) if not may]
        except Exception:  # whatever it is, the streams must not go on unjudged
            log.warning("%d streams end, since nobody can say whether they may go on", len(refused), exc_info=True)
        finally:
            self._worker.method_queue.defer(self._judged, refused)

    def _judged(self, refused: Collection[Stream]) -> None:
        self._checks -= 1
        for stream in refused:
            self._end(stream)

    def _end(self, stream: Stream) -> None:
        if stream.is_chunked and not stream.unsent and self._send(stream, b"0\r\n\r\n") is None:
            return
        self._drop(stream)

    def _drop(self, stream: Stream) -> None:
        """Close it and give back all that it holds. Nothing, when that was done already."""
        if self._open.pop(id(stream.conn), None) is None:
            return
        stream.feed.end()
        self._room.leave(stream.feed.owner)
        self._worker.poller.unregister(stream.conn.sock)
        self._worker.nr_conns -= 1
        stream.conn.close()
