"""Gunicorn's threaded worker, in which a long poll holds no thread and no database connection while it waits.

A poll is judged in a thread, as any request. Then its connection is parked with the worker's own event loop until a
wake-up comes, its time is over, or the agent hangs up; only then a thread answers it. Large answers (images) are sent
by threads of their own. All other requests are served as by gunicorn itself. This knows the insides of `ThreadWorker`,
so gunicorn is pinned to a major version.

A connection that says nothing at first is held by the loop as well (`handle`). On one that is kept, the thread that
gave an answer waits a moment for the next request, and goes on with it (`_comes_soon`): that saves a quarter of the CPU
of a small request of a client that asks one thing after the other.

Either end of a console is judged by a view, and goes on in a thread of their own (`consoles`).

A stream of events is begun by a view, in a thread; from the end of its first words on, the loop holds it (`streams`).
"""

import io
import select
import selectors
import socket
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from gunicorn.workers.gthread import _DEFER, ThreadWorker

from computeagent.protocol.consoles import BROWSER_CONSOLE_PATH, CONSOLE_PATH
from controlplane.infra.event_streams import STREAM_PATH, places_offered
from controlplane.launcher.large_answers import LargeAnswer, large_answers_raised
from controlplane.launcher.streams import HandedOver, Stream, StreamOffer, StreamRoom, Streams

if TYPE_CHECKING:
    from controlplane.infra.event_streams import Feed, MayGoOn
    from servers.agent_door.wakeups import LongPoll

_PARKED: Any = object()
_SENT_ELSEWHERE: Any = object()
_CONSOLE_PATHS = frozenset({BROWSER_CONSOLE_PATH, CONSOLE_PATH})
_GIVEN_AWAY: Any = object()
NEXT_REQUEST_WAIT_MS = 2
"""So long a thread waits for the next request on a connection that is kept."""
FIRST_BYTES_WAIT_S = 0.005
"""So long a thread waits for the first bytes of a new connection; most have come by then."""
_MORE_SENDERS = 8
"""For large answers that are no images."""


@dataclass(slots=True)
class Parked:
    """A connection that waits, and the request that it waits with."""

    conn: Any
    request: Any
    poll: "LongPoll"
    until: float


class Threads(ThreadPoolExecutor):
    """A pool that knows how many of its jobs wait for a thread: as many as `waiting` is long."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.waiting: deque[None] = deque()

    def submit(self, work: Any, /, *arguments: Any, **named: Any) -> "Future[Any]":
        """As the pool's own."""
        self.waiting.append(None)
        return super().submit(self._begin, work, *arguments, **named)

    def _begin(self, work: Any, *arguments: Any, **named: Any) -> Any:
        self.waiting.pop()
        return work(*arguments, **named)


class LongPollWorker(ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    """`gunicorn --worker-class controlplane.launcher.long_poll_worker.LongPollWorker`."""

    wsgi: Any
    tpool: Any

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # Both are touched by the main thread alone, but for the one entry that a thread makes of its own connection.
        self._begun: dict[int, Parked] = {}
        self._parked: dict[int, Parked] = {}
        self._begun_streams: dict[int, Stream] = {}
        self._stream_room = StreamRoom()
        self._streams = Streams(self._stream_room, self)
        self._may_wait = threading.Semaphore(self.cfg.threads // 2)

    def get_thread_pool(self) -> Threads:
        """Gunicorn's hook."""
        return Threads(self.cfg.threads)

    def load_wsgi(self) -> None:
        """The application; what it says of long polls can be imported once it is loaded."""
        super().load_wsgi()
        from controlplane.launcher.console_places import Consoles  # noqa: PLC0415
        from servers.agent_door import wakeups  # noqa: PLC0415 - needs Django
        from servers.images.downloads import senders_needed  # noqa: PLC0415

        self._consoles = Consoles()
        self._long_polls = wakeups
        self._senders = ThreadPoolExecutor(senders_needed() + _MORE_SENDERS, thread_name_prefix="large-answers")
        self.wsgi = large_answers_raised(self.wsgi)

    def handle(self, conn: Any) -> Any:
        """In a thread. A client that has connected and says nothing goes to the loop, until it does.

        Gunicorn alone would let a thread wait five seconds for it: a few of them (browsers connect ahead) would stop
        all others, and thousands of agents for minutes.
        """
        if not conn.initialized and not conn.data_ready and not conn.wait_for_data(FIRST_BYTES_WAIT_S):
            return _DEFER
        result = super().handle(conn)
        while result is True and self._comes_soon(conn):
            result = super().handle(conn)
        return result

    def _comes_soon(self, conn: Any) -> bool:
        """In a thread, after an answer: whether the next request of this connection is here in a moment.

        Then the same thread goes on with it: to give the connection to the loop and to get it back is a quarter of the
        CPU of a small request. Whoever waits for a thread comes first, and half of the threads never wait.
        """
        if not self.alive or conn.is_http2 or self.tpool.waiting or not self._may_wait.acquire(blocking=False):
            return False
        try:
            poll = select.poll()
            poll.register(conn.sock, select.POLLIN)
            return bool(conn.parser.unreader.buf.getvalue() or poll.poll(NEXT_REQUEST_WAIT_MS))
        finally:
            self._may_wait.release()

    def handle_request(self, req: Any, conn: Any) -> Any:
        """In a thread. A poll that has to wait is parked; one that is refused, or has its answer, is served."""
        if req.path == STREAM_PATH:
            return self._begin_stream(req, conn)
        if req.path in _CONSOLE_PATHS:
            is_taken = self.alive and self._consoles.taken(req, conn, super().handle_request)
            return _GIVEN_AWAY if is_taken else False
        if req.path != self._long_polls.LONG_POLL_PATH:
            try:
                return super().handle_request(req, conn)
            except LargeAnswer as answer:
                sent = self._senders.submit(self._send, answer, req, conn)
                sent.add_done_callback(lambda done: self.method_queue.defer(self.finish_request, conn, done))
                return _SENT_ELSEWHERE
        body = req.body.read(self._long_polls.MAX_POLL_BYTES + 1)
        req.body = io.BytesIO(body)
        poll = self._long_polls.long_poll_begin(dict(req.headers), body) if self.alive else None
        if poll is None:
            return super().handle_request(req, conn)
        self._begun[id(conn)] = Parked(conn, req, poll, time.monotonic() + poll.timeout_s)
        return _PARKED

    def _begin_stream(self, req: Any, conn: Any) -> Any:
        """In a thread: the request is served as any. Where its answer is a stream, the loop goes on with it."""
        if not self.alive:
            return super().handle_request(req, conn)
        offer, stream = StreamOffer(self._stream_room), None
        try:
            with places_offered(offer):
                return super().handle_request(req, conn)
        except HandedOver:
            feed, may_go_on = cast("tuple[Feed, MayGoOn]", offer.taken)
            stream = self._begun_streams[id(conn)] = Stream(conn, feed, may_go_on, is_chunked=req.version > (1, 0))
            return _PARKED
        finally:
            if offer.taken is not None and stream is None:  # its client left while its head was written
                self._stream_room.leave(offer.taken[0].owner)

    def _keepalive_after(self, conn: Any, keepalive: Any) -> Any:
        is_over = not any(keepalive is still for still in (_PARKED, _SENT_ELSEWHERE, _GIVEN_AWAY))
        return super()._keepalive_after(conn, keepalive) if is_over else keepalive

    def _send(self, answer: LargeAnswer, req: Any, conn: Any) -> Any:
        """In a thread that sends, from the first byte to the last."""
        try:
            return super()._keepalive_after(conn, answer.send(conn.sock))
        except (OSError, StopIteration) as error:
            self.log.debug("a large answer was cut off: %s", error)
        except Exception as error:  # noqa: BLE001 - whatever stops the body from being read ends this connection alone
            self.log.warning("a large answer could not be read to its end: %s", error)
        finally:
            self.log.access(answer.response, req, answer.environ, datetime.now() - answer.began)  # noqa: DTZ005
            answer.close()
        with suppress(OSError):  # else the main thread would wait for the reader's own end when it closes this
            conn.sock.shutdown(socket.SHUT_RDWR)
        return False

    def finish_request(self, conn: Any, fs: "Future[Any]") -> None:
        """In the main thread, when a thread is done with a connection."""
        result = None if fs.cancelled() or fs.exception() is not None else fs.result()
        if result is _SENT_ELSEWHERE:
            return
        if result is _GIVEN_AWAY:
            self.nr_conns -= 1
            return
        if result is not _PARKED:
            super().finish_request(conn, fs)
            return
        if (stream := self._begun_streams.pop(id(conn), None)) is not None:
            self._streams.hold(stream)
            if not self.alive:
                self._streams.close()
            return
        parked = self._parked[id(conn)] = self._begun.pop(id(conn))
        conn.sock.setblocking(False)
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._hung_up, parked))
        parked.poll.wakeups.add_done_callback(lambda _: self.method_queue.defer(self._wake, parked))

    def murder_pending(self) -> None:
        """In the main thread, once a second at least: polls whose time is over are answered too."""
        super().murder_pending()
        self._streams.tick()
        now = time.monotonic()
        for parked in [one for one in self._parked.values() if one.until <= now]:
            self._wake(parked)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """In the main thread."""
        super().wait_for_and_dispatch_events(self._streams.longest_wait_s(timeout))

    def _cap_keepalive(self, deadline: float) -> None:
        """A worker that stops answers all who wait, and ends its streams: they come again, to another."""
        self._streams.close()
        self._consoles.close()
        for parked in list(self._parked.values()):
            self._wake(parked)
        super()._cap_keepalive(deadline)

    def _wake(self, parked: Parked) -> None:
        """Let a thread answer it. Nothing, when that was done already."""
        if not self._leave(parked):
            return
        answer = self.tpool.submit(self._answer, parked)
        answer.add_done_callback(lambda done: self.method_queue.defer(self.finish_request, parked.conn, done))

    def _hung_up(self, parked: Parked, _sock: Any) -> None:
        """What becomes readable while an answer is due was closed by the other side, or breaks the protocol."""
        if self._leave(parked):
            if not parked.poll.wakeups.cancel():  # wake-ups came for it at this moment
                self.tpool.submit(self._long_polls.long_poll_give_up, parked.poll)
            self.nr_conns -= 1
            parked.conn.close()

    def _leave(self, parked: Parked) -> bool:
        if self._parked.pop(id(parked.conn), None) is None:
            return False
        self.poller.unregister(parked.conn.sock)
        return True

    def _answer(self, parked: Parked) -> Any:
        """In a thread."""
        parked.conn.sock.setblocking(True)
        with self._long_polls.long_poll_answer(parked.poll):
            try:
                return super()._keepalive_after(parked.conn, super().handle_request(parked.request, parked.conn))
            except (OSError, StopIteration) as error:
                self.log.debug("a long poll was cut off: %s", error)
                self._long_polls.long_poll_give_up(parked.poll)
                return False
