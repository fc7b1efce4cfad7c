"""Streams over real connections: slow clients, dead clients, limits, checks."""

import asyncio
import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from controlplane.infra.conf import stream_options
from controlplane.infra.event_streams import Feed, Tell, event
from controlplane.kernel.errors import Throttled, Unavailable
from controlplane.launcher.web.streams import Pace, StreamOffer, StreamRoom, Streams
from tests.fixtures.asgi import AsgiServer, asgi_server
from tests.fixtures.patience import eventually

BRISK = Pace(rest_s=0.01, keep_alive_s=3600.0, stalled_s=0.3)


class Told:
    """A feed that tells what a test says."""

    owner = "mary"

    def __init__(self) -> None:
        self.tell: Tell = lambda _: None
        self.has_begun = threading.Event()
        self.is_over = threading.Event()

    def begin(self, tell: Tell) -> None:
        self.tell = tell
        self.has_begun.set()

    def end(self) -> None:
        self.is_over.set()


def always(feeds: Sequence[Feed]) -> list[bool]:
    return [True] * len(feeds)


class Stage:
    """A server whose every request is a stream of the next feed."""

    def __init__(self, pace: Pace = BRISK) -> None:
        self.room = StreamRoom()
        self.threads = ThreadPoolExecutor(2)
        self.pace = pace
        self.next: list[tuple[Told, Any]] = []
        self.browsers: list[socket.socket] = []
        self.streams: Streams | None = None
        self.server: AsgiServer

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        self.streams = self.streams or Streams(self.room, self.threads, self.pace)
        await receive()  # the body, which is empty

        async def begin() -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"", "more_body": True})

        await self.streams.hold(self.next.pop(), begin(), receive, send, scope["state"]["connection"])

    def opened(self, judge: Any = always) -> tuple[Told, socket.socket]:
        feed = Told()
        self.next.append((feed, judge))
        self.room.enter(feed.owner)
        browser = self.server.link()
        browser.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        browser.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        feed.has_begun.wait()
        self.browsers.append(browser)
        return feed, browser

    def told(self, feed: Told, *texts: str) -> None:
        """All in one turn of the loop."""
        self.server.loop.call_soon_threadsafe(lambda: [feed.tell(text) for text in texts])

    def close(self) -> None:
        if self.streams is not None:
            self.server.loop.call_soon_threadsafe(self.streams.close)


@pytest.fixture
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    made = Stage(getattr(request, "param", BRISK))
    with asgi_server(made.app) as made.server:
        yield made
        made.close()
    made.threads.shutdown()
    assert [task for task in asyncio.all_tasks(made.server.loop) if not task.done()] == []


def until(browser: socket.socket, end: bytes) -> bytes:
    """All that comes, to where it ends so."""
    come = b""
    while not come.endswith(end):
        part = browser.recv(65536)
        assert part, come
        come += part
    return come


def chunk(text: str) -> bytes:
    return b"%x\r\n%b\r\n" % (len(text), text.encode())


@pytest.mark.parametrize("stage", [Pace(rest_s=0.5)], indirect=True)
def test_what_is_told_at_once_goes_together_and_the_rest_later(stage: Stage) -> None:
    feed, browser = stage.opened()
    stage.told(feed, *(event("changed", name) for name in ("one", "two", "one")))
    both = chunk(event("changed", "one") + event("changed", "two"))
    assert both in until(browser, both)
    stage.told(feed, *(event("changed", name) for name in ("three", "four")))
    assert until(browser, chunk(event("changed", "three") + event("changed", "four")))


def test_chunks_are_framed_and_ended(stage: Stage) -> None:
    feed, browser = stage.opened()
    feed.tell("x" * 20)
    until(browser, b"14\r\n" + b"x" * 20 + b"\r\n")
    stage.close()
    assert until(browser, b"0\r\n\r\n") == b"0\r\n\r\n"
    feed.is_over.wait()
    eventually(lambda: len(stage.streams or ()) == 0, "it is given back")


def test_client_that_takes_nothing_is_cut_off(stage: Stage) -> None:
    feed, browser = stage.opened()
    texts = iter(range(1_000_000))

    def cut() -> bool:
        feed.tell(f"{next(texts)}" + "x" * 4000)
        return feed.is_over.is_set()

    eventually(cut, "it is cut off")
    received = 0
    with pytest.raises(OSError):  # noqa: PT011 - reset, since it had not taken all
        while part := browser.recv(65536):
            received += len(part)
        raise OSError
    assert received < 1_000_000
    assert len(stage.streams or ()) == 0


@pytest.mark.parametrize("stage", [Pace(rest_s=0.0, keep_alive_s=3600.0, stalled_s=3600.0)], indirect=True)
def test_client_that_was_slow_for_a_moment_gets_everything(stage: Stage) -> None:
    feed, browser = stage.opened()
    for number in range(400):
        feed.tell(f"{number:04d}" + "x" * 1000)
    feed.tell("the last")
    come = until(browser, b"the last\r\n")
    assert all(f"{number:04d}xx".encode() in come for number in range(400))


def test_client_that_hangs_up_gives_everything_back(stage: Stage) -> None:
    feed, browser = stage.opened()
    browser.close()
    feed.is_over.wait()
    feed.tell("too late")
    eventually(lambda: len(stage.streams or ()) == 0, "it is given back")
    for _ in range(stream_options().streams_per_user):
        stage.room.enter("mary")


@pytest.mark.parametrize("stage", [Pace(keep_alive_s=0.01)], indirect=True)
def test_comment_keeps_a_silent_stream_alive(stage: Stage) -> None:
    _, browser = stage.opened()
    assert until(browser, chunk(":\n\n"))


def test_owner_who_may_not_go_on_is_cut_off_and_so_is_one_of_whom_nobody_can_say(stage: Stage, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "STREAMS_CHECK_S": 1.0}

    def fails(feeds: Sequence[Feed]) -> list[bool]:
        raise RuntimeError("the database is away")

    refused, kept, unknown = stage.opened(lambda _: [False])[0], stage.opened()[0], stage.opened(fails)[0]
    refused.is_over.wait()
    unknown.is_over.wait()
    assert not kept.is_over.is_set()


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
