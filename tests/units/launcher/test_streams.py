"""Streams over real sockets and a real poller, without a web server: slow clients, dead clients, limits, checks."""

import select
import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from controlplane.infra.conf import stream_options
from controlplane.infra.event_streams import Feed, Tell, event
from controlplane.kernel.errors import Throttled, Unavailable
from controlplane.launcher import streams as subject
from controlplane.launcher.streams import Stream, StreamOffer, StreamRoom, Streams


class Connection:
    """As much of gunicorn's connection as a stream uses."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.parser: object | None = object()

    def close(self) -> None:
        self.sock.close()


class Loop:
    """The worker's loop: a poller, callbacks from other threads, a pool."""

    def __init__(self) -> None:
        self.poller = selectors.DefaultSelector()
        self.tpool = ThreadPoolExecutor(2)
        self.nr_conns = 0
        self.method_queue = self
        self._lock = threading.Lock()
        self._deferred: list[Callable[[], None]] = []

    def defer(self, callback: Callable[..., None], *arguments: Any) -> None:
        with self._lock:
            self._deferred.append(lambda: callback(*arguments))

    def run(self, streams: Streams, until: Callable[[], object], timeout_s: float = 5.0) -> None:
        end = time.monotonic() + timeout_s
        while not until():
            assert time.monotonic() < end
            for key, _ in self.poller.select(0.01):
                key.data(key.fileobj)
            with self._lock:
                deferred, self._deferred = self._deferred, []
            for callback in deferred:
                callback()
            streams.tick()


class Told:
    """A feed that tells what a test says."""

    owner = "mary"

    def __init__(self) -> None:
        self.tell: Tell = lambda _: None
        self.is_over = False

    def begin(self, tell: Tell) -> None:
        self.tell = tell

    def end(self) -> None:
        self.is_over = True


def always(feeds: Sequence[Feed]) -> list[bool]:
    return [True] * len(feeds)


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.tpool.shutdown()
    made.poller.close()


@pytest.fixture
def room() -> StreamRoom:
    return StreamRoom()


@pytest.fixture
def streams(room: StreamRoom, loop: Loop) -> Streams:
    return Streams(room, loop)


@pytest.fixture
def opened(room: StreamRoom, loop: Loop, streams: Streams) -> Iterator[Callable[..., tuple[Told, socket.socket]]]:
    ends: list[socket.socket] = []

    def one(*, judge: Any = always, is_chunked: bool = True) -> tuple[Told, socket.socket]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            browser = socket.create_connection(listener.getsockname())
            browser.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            server, _ = listener.accept()
        browser.settimeout(60)
        ends.append(browser)
        feed = Told()
        room.enter(feed.owner)
        loop.nr_conns += 1
        streams.hold(Stream(Connection(server), feed, judge, is_chunked))
        return feed, browser

    yield one
    streams.close()
    for end in ends:
        end.close()


Opened = Callable[..., tuple[Told, socket.socket]]


def arrived(browser: socket.socket) -> bytes:
    """What has arrived until now, and stays to be read."""
    is_there = bool(select.select([browser], [], [], 0)[0])
    return browser.recv(65536, socket.MSG_PEEK) if is_there else b""


def test_what_is_told_at_once_goes_together_and_the_rest_later(opened: Opened, loop: Loop, streams: Streams) -> None:
    feed, browser = opened(is_chunked=False)
    began = time.monotonic()
    for name in ("one", "two", "one"):
        feed.tell(event("changed", name))
    both = (event("changed", "one") + event("changed", "two")).encode()
    loop.run(streams, lambda: arrived(browser) == both)
    browser.recv(1000)
    feed.tell(event("changed", "three"))
    loop.run(streams, lambda: arrived(browser))
    assert browser.recv(1000) == event("changed", "three").encode()
    assert time.monotonic() - began >= subject.REST_S


def test_chunks_are_framed_and_ended(opened: Opened, loop: Loop, streams: Streams) -> None:
    feed, browser = opened()
    feed.tell("x" * 20)
    loop.run(streams, lambda: arrived(browser))
    assert browser.recv(100) == b"14\r\n" + b"x" * 20 + b"\r\n"
    streams.close()
    assert browser.recv(100) == b"0\r\n\r\n"
    assert browser.recv(100) == b""
    assert (feed.is_over, len(streams), loop.nr_conns) == (True, 0, 0)


def test_client_that_takes_nothing_is_cut_off(opened: Opened, loop: Loop, streams: Streams) -> None:
    feed, browser = opened()
    for stream in streams.held():
        stream.sent_at = -1e9
    texts = iter(range(10_000))

    def cut() -> bool:
        for stream in streams.held():
            stream.sent_at = -1e9  # without the rest between two writes, so that it does not take minutes
        feed.tell(f"{next(texts)}" + "x" * 4000)
        return feed.is_over

    loop.run(streams, cut)
    assert loop.nr_conns == 0
    received = 0
    with pytest.raises(OSError):  # noqa: PT011 - reset, since it had not taken all
        while part := browser.recv(65536):
            received += len(part)
        raise OSError
    assert received < 200_000


def test_client_that_was_slow_for_a_moment_gets_everything(opened: Opened, loop: Loop, streams: Streams) -> None:
    feed, browser = opened(is_chunked=False)
    (stream,) = streams.held()
    sent = 0
    while not stream.unsent:
        stream.sent_at = -1e9
        text = f"{sent:09d}" + "x" * 500
        feed.tell(text)
        sent += len(text)
        loop.run(streams, lambda: not stream.pending)
    received = 0

    def all_there() -> bool:
        nonlocal received
        if arrived(browser):
            received += len(browser.recv(65536))
        return received == sent

    loop.run(streams, all_there)
    assert not stream.unsent
    feed.tell("more")
    stream.sent_at = -1e9
    sent += 4
    loop.run(streams, all_there)


def test_client_that_hangs_up_gives_everything_back(
    opened: Opened, loop: Loop, streams: Streams, room: StreamRoom
) -> None:
    feed, browser = opened()
    browser.close()
    loop.run(streams, lambda: feed.is_over)
    assert (len(streams), loop.nr_conns) == (0, 0)
    feed.tell("too late")
    loop.run(streams, lambda: True)
    for _ in range(stream_options().streams_per_user):
        room.enter("mary")


def test_comment_keeps_a_silent_stream_alive(opened: Opened, loop: Loop, streams: Streams) -> None:
    _, browser = opened(is_chunked=False)
    (stream,) = streams.held()
    stream.written_at -= subject.KEEP_ALIVE_S
    loop.run(streams, lambda: arrived(browser))
    assert browser.recv(10) == b":\n\n"


def test_owner_who_may_not_go_on_is_cut_off_and_so_is_one_of_whom_nobody_can_say(
    opened: Opened, loop: Loop, streams: Streams
) -> None:
    def fails(feeds: Sequence[Feed]) -> list[bool]:
        raise RuntimeError("the database is away")

    refused, kept, unknown = opened(judge=lambda _: [False])[0], opened()[0], opened(judge=fails)[0]
    for stream in streams.held():
        stream.checked_at = -1e9
    loop.run(streams, lambda: refused.is_over and unknown.is_over)
    assert not kept.is_over


def test_room_is_bounded_for_one_and_for_all(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "STREAMS_MAX": 3, "STREAMS_PER_USER": 2}
    room = StreamRoom()
    room.enter("mary")
    room.enter("mary")
    with pytest.raises(Throttled):
        room.enter("mary")
    room.enter("john")
    with pytest.raises(Unavailable):
        StreamOffer(room).take(Told(), always)
    room.leave("mary")
    StreamOffer(room).take(Told(), always)
