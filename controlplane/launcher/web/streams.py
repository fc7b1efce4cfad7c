"""Open streams of one web process: connections that hear of small events, each a coroutine without any thread."""

import asyncio
import logging
import random
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from controlplane.infra.conf import stream_options
from controlplane.infra.event_streams import Feed, MayGoOn
from controlplane.kernel.errors import Throttled, Unavailable
from controlplane.launcher.web.incoming import Message, Receive, Send

log = logging.getLogger(__name__)

CHECKED_AT_ONCE = 100
CHECKED_EVERY_S = 0.25
MAX_UNSENT_BYTES = 8 * 1024
"""What a client has not taken of what was told. The kernel's default would let it hold megabytes."""
RETRY_MS = (1000, 5000)
"""When a browser comes again after a cut: not all of them at once."""
REFUSED_WAIT_S = 60
_KEEP_ALIVE = ":\n\n"


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds."""

    rest_s: float = 0.5
    """Events of one stream are this far apart at least; what comes meanwhile goes together."""
    keep_alive_s: float = 15.0
    """A comment goes out after so much silence: proxies cut what says nothing for a minute."""
    stalled_s: float = 30.0
    """A client that takes nothing for so long is cut off, and comes again by itself."""


class StreamLink(Protocol):
    """What a stream needs of its connection."""

    def unsent_limit(self, size_bytes: int) -> None:
        """Let no more than this wait to be sent."""

    def cut(self) -> None:
        """Close it, whatever is under way."""


@dataclass(slots=True, eq=False)
class Stream:
    """One open connection."""

    feed: Feed
    may_go_on: MayGoOn
    checked_at: float
    pending: dict[str, None] = field(default_factory=dict)
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    is_over: bool = False

    def end(self) -> None:
        """In the loop: as a response ends, once what was told is written."""
        self.is_over = True
        self.woken.set()


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
        return iter((f"retry: {random.randint(*RETRY_MS)}\n\n".encode(),))  # noqa: S311 - only spreads them


class Streams:
    """Used by the loop's thread alone, but for what a feed tells. `threads` judge who may go on."""

    def __init__(self, room: StreamRoom, threads: Executor, pace: Pace | None = None) -> None:
        self._room = room
        self._threads = threads
        self._pace = pace or Pace()
        self._open: set[Stream] = set()
        self._lock = threading.Lock()
        self._dirty: set[Stream] = set()
        self._checking: asyncio.Task[None] | None = None
        self._is_closing = False

    def __len__(self) -> int:
        return len(self._open)

    async def hold(
        self, taken: tuple[Feed, MayGoOn], begin: Awaitable[None], receive: Receive, send: Send, link: StreamLink
    ) -> None:
        """Write what its feed tells, until it ends on either side; `begin` writes the head and the first words."""
        loop = asyncio.get_running_loop()
        link.unsent_limit(MAX_UNSENT_BYTES)
        spread_s = random.uniform(0, stream_options().streams_check_s / 2)  # noqa: S311 - spreads the looks
        stream = Stream(*taken, checked_at=loop.time() - spread_s)
        self._open.add(stream)
        if self._checking is None and not self._is_closing:
            self._checking = loop.create_task(self._check_all())
        hung_up = asyncio.ensure_future(receive())
        hung_up.add_done_callback(lambda _: stream.end())
        try:
            await begin
            stream.feed.begin(self._teller(stream, loop))
            await self._write_all(stream, hung_up, send)
        except TimeoutError:
            link.cut()
        finally:
            stream.is_over = True
            hung_up.cancel()
            self._open.discard(stream)
            stream.feed.end()
            self._room.leave(stream.feed.owner)

    def close(self) -> None:
        """End them all, as a response ends: their browsers come again."""
        self._is_closing = True
        for stream in self._open:
            stream.end()
        if self._checking is not None:
            self._checking.cancel()

    async def _write_all(self, stream: Stream, hung_up: "asyncio.Future[Message]", send: Send) -> None:
        """Raises TimeoutError for a client that takes nothing."""
        while not self._is_closing and not hung_up.done():
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pace.keep_alive_s):
                    await stream.woken.wait()
            stream.woken.clear()
            with self._lock:
                text = "".join(stream.pending)
                stream.pending.clear()
            if hung_up.done():
                return
            if stream.is_over:
                break
            await self._sent(send, text or _KEEP_ALIVE)
            await asyncio.sleep(self._pace.rest_s)
        if not hung_up.done():
            await self._sent(send, "", is_last=True)

    async def _sent(self, send: Send, text: str, *, is_last: bool = False) -> None:
        async with asyncio.timeout(self._pace.stalled_s):
            await send({"type": "http.response.body", "body": text.encode(), "more_body": not is_last})

    def _teller(self, stream: Stream, loop: asyncio.AbstractEventLoop) -> Callable[[str], None]:
        def tell(text: str) -> None:
            """From any thread. One callback of the loop wakes all that were told something until it runs."""
            with self._lock:
                is_first = not self._dirty
                self._dirty.add(stream)
                stream.pending[text] = None
            if is_first:
                with suppress(RuntimeError):  # the process has ended
                    loop.call_soon_threadsafe(self._wake_dirty)

        return tell

    def _wake_dirty(self) -> None:
        with self._lock:
            dirty, self._dirty = self._dirty, set()
        for stream in dirty:
            stream.woken.set()

    async def _check_all(self) -> None:
        """Ask of those that are due, some together, as long as there are any."""
        loop = asyncio.get_running_loop()
        while self._open:
            since = loop.time() - stream_options().streams_check_s
            due = [stream for stream in self._open if stream.checked_at <= since][:CHECKED_AT_ONCE]
            by_judge: dict[MayGoOn, list[Stream]] = {}
            for stream in due:
                stream.checked_at = loop.time()
                by_judge.setdefault(stream.may_go_on, []).append(stream)
            for judge, streams in by_judge.items():
                feeds = [stream.feed for stream in streams]
                verdicts = await loop.run_in_executor(self._threads, _verdicts, judge, feeds)
                for stream, may in zip(streams, verdicts, strict=True):
                    if not may:
                        stream.end()
            await asyncio.sleep(CHECKED_EVERY_S)
        self._checking = None


def _verdicts(judge: MayGoOn, feeds: Sequence[Feed]) -> Sequence[bool]:
    """In a thread. Where it cannot be known, the answer is no."""
    try:
        verdicts = judge(feeds)
        if len(verdicts) == len(feeds):
            return verdicts
        log.error("%d streams were judged by %d verdicts", len(feeds), len(verdicts))
    except Exception:  # whatever it is, the streams must not go on unjudged
        log.warning("%d streams end, since nobody can say whether they may go on", len(feeds), exc_info=True)
    return [False] * len(feeds)
