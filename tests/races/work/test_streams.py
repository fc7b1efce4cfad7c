"""The web server with hundreds of open pages that are told of changes: no thread and no connection of theirs."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import psycopg2
import pytest

from controlplane.launcher.children import web_command
from tests.fixtures.migrated import race_environment
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.fixtures.processes import ROOT, Processes
from tests.fixtures.servers import free_port

pytestmark = pytest.mark.processes

THREADS = 4
PAGES = 150
CHECK_S = 1
ACTS = Path(__file__).with_name("page_acts.py")
Act = Callable[..., Any]


@pytest.fixture(scope="module")
def env(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    made = race_environment(module_database_url, tmp_path_factory.mktemp("state"))
    return made | {"STREAMS_CHECK_S": str(CHECK_S), "STREAMS_PER_USER": str(PAGES), "STREAMS_MAX": str(2 * PAGES)}


@pytest.fixture(scope="module")
def act(env: dict[str, str]) -> Iterator[Act]:
    """What another process does meanwhile: `act("change", "hosts")`."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, str(ACTS)], env=env, cwd=ROOT, **pipes) as program:  # type: ignore[call-overload]

        def tell(what: str, *words: str) -> Any:
            program.stdin.write(json.dumps([what, words]) + "\n")
            program.stdin.flush()
            return json.loads(program.stdout.readline())

        yield tell
        program.stdin.close()


@pytest.fixture(scope="module")
def server(module_processes: Processes, env: dict[str, str]) -> "Server":
    """One web process with few threads."""
    number = free_port()
    process = module_processes.python(*web_command(number, processes=1, threads=THREADS, grace_s=60)[1:], env=env)
    eventually(lambda: healthy(number), "the web server answers")
    return Server(number, process.pid)


@pytest.fixture
def port(server: "Server", act: Act) -> Iterator[int]:
    """Of that server, with no stream of an earlier test left."""
    yield server.port
    OpenPage.close_all()


@dataclass(frozen=True)
class Server:
    """A web server that runs."""

    port: int
    pid: int


def healthy(port: int) -> bool:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        link.request("GET", "/healthz")
        return link.getresponse().status == 200
    except OSError:
        return False
    finally:
        link.close()


class OpenPage:
    """A stream as a browser opens it."""

    all: ClassVar[list["OpenPage"]] = []

    def __init__(self, port: int, cookie: str, *watches: str) -> None:
        self.link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        query = "&".join(f"watch={watch}" for watch in watches)
        self.link.request("GET", f"/events/?{query}", headers={"Cookie": cookie, "Accept": "text/event-stream"})
        self.answer = self.link.getresponse()
        self.all.append(self)

    def close(self) -> None:
        self.link.close()
        self.answer.close()

    @classmethod
    def close_all(cls) -> None:
        while cls.all:
            cls.all.pop().close()

    def event(self) -> tuple[str, str]:
        """The next one; ("", "") at the end."""
        name = data = ""
        while line := self.answer.readline().decode():
            if line.startswith("event: "):
                name = line[7:].strip()
            elif line.startswith("data: "):
                data = line[6:].strip()
            elif line == "\n" and name:
                return name, data
        return "", ""

    def silent_for(self, seconds: float) -> bool:
        self.link.sock.settimeout(seconds)
        try:
            return not self.event()[0]
        except TimeoutError:
            return True


def opened(port: int, cookie: str, *watches: str) -> OpenPage:
    page = OpenPage(port, cookie, *watches)
    assert page.answer.status == 200
    assert page.event() == ("ready", "")
    return page


def test_many_open_pages_hold_no_thread_and_each_hears_of_its_own(
    port: int, act: Act, module_database_url: str
) -> None:
    root, mary, john = (
        act("log_in", "root", "ops", "admin"),
        act("log_in", "mary", "a", "member"),
        act("log_in", "john", "b", "reader"),
    )
    fleet = [opened(port, root["cookie"], "hosts", "instances:all") for _ in range(PAGES // 3)]
    mine = [opened(port, mary["cookie"], "instances") for _ in range(PAGES // 3)]
    others = [opened(port, john["cookie"], "instances") for _ in range(PAGES // 3)]
    head = fleet[0].answer
    assert head.getheader("Content-Type") == "text/event-stream; charset=utf-8"
    assert head.getheader("X-Accel-Buffering") == "no"
    assert "no-store" in (head.getheader("Cache-Control") or "")
    assert healthy(port)
    act("change_nothing", "hosts")
    act("change", "hosts")
    assert {page.event() for page in fleet} == {("changed", "hosts")}
    act("change_in", mary["project"])
    assert {page.event() for page in mine} == {("changed", "instances")}
    assert all(page.silent_for(0.05) for page in others[:10])
    if module_database_url.startswith("postgres"):
        with psycopg2.connect(module_database_url) as link, link.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
            # Of each thread one, the hub's, the helping program's two, this one's.
            assert cursor.fetchone()[0] <= THREADS + 4


def test_burst_is_few_events(port: int, act: Act) -> None:
    root = act("log_in", "root", "ops", "admin")
    page = opened(port, root["cookie"], "hosts", "work")
    began = time.monotonic()
    for _ in range(100):
        act("change", "hosts")
    act("change", "work")  # what came before this has been heard when this is
    events = list(iter(page.event, ("changed", "work")))
    took = time.monotonic() - began
    assert set(events) == {("changed", "hosts")}
    assert len(events) <= 2 + took / 0.5


def test_client_of_http_1_0_is_sent_to_look_by_itself(port: int, act: Act) -> None:
    """It knows no chunks, so nothing would tell it where a stream ends."""
    root = act("log_in", "root", "ops", "admin")
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as link:
        link.sendall(
            f"GET /events/?watch=work HTTP/1.0\r\nHost: localhost\r\nCookie: {root['cookie']}\r\n\r\n".encode()
        )
        assert link.makefile("rb").readline() == b"HTTP/1.1 204 No Content\r\n"


def test_one_user_and_one_process_hold_so_many_and_who_is_gone_makes_room(port: int, act: Act) -> None:
    cookies = [act("log_in", name, "ops", "admin")["cookie"] for name in ("one", "two", "three")]
    pages = [opened(port, cookies[0], "work") for _ in range(PAGES)]
    refused = OpenPage(port, cookies[0], "work").answer
    assert (refused.status, refused.getheader("Retry-After")) == (429, "60")
    pages += [opened(port, cookies[1], "work") for _ in range(PAGES)]
    refused = OpenPage(port, cookies[2], "work").answer
    assert (refused.status, refused.getheader("Retry-After")) == (503, "60")
    for page in pages:
        page.close()
    eventually(lambda: OpenPage(port, cookies[2], "work").answer.status == 200, "there is room")


def test_session_that_ends_and_role_that_is_taken_end_the_streams(port: int, act: Act) -> None:
    mary, john, root = (
        act("log_in", name, "a", role) for name, role in (("mary", "member"), ("john", "reader"), ("root", "admin"))
    )
    pages = [opened(port, one["cookie"], "instances") for one in (mary, john, root)]
    act("log_out", mary["cookie"])
    act("take_role", "john")
    assert pages[0].event() == ("", "")
    assert pages[1].event() == ("", "")
    act("change_in", root["project"])
    assert pages[2].event() == ("changed", "instances")
    assert OpenPage(port, mary["cookie"], "instances").answer.status == 302
    assert OpenPage(port, john["cookie"], "instances").answer.status == 403


def test_stopping_server_ends_all_streams(server: Server, port: int, act: Act) -> None:
    root = act("log_in", "root", "ops", "admin")
    pages = [opened(port, root["cookie"], "work") for _ in range(30)]
    os.kill(server.pid, signal.SIGTERM)
    assert {page.event() for page in pages} == {("", "")}
