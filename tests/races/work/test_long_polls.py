"""The web server with hundreds of agents that wait: no thread, no connection of theirs, and everybody is answered."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from computeagent.protocol.wire import AGENT_HEADER, PROTOCOL_VERSION, VERSION_HEADER, encode
from controlplane.launcher.children import web_command
from controlplane.launcher.web.polls import EACH
from tests.fixtures.migrated import race_environment
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.fixtures.processes import ROOT, Processes
from tests.fixtures.servers import free_port

pytestmark = pytest.mark.processes

THREADS = 4
WAITING = 120
ACTS = Path(__file__).with_name("control_plane_acts.py")
Act = Callable[..., None]


@pytest.fixture(scope="module")
def env(module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    # Polls last a third of it at most: here as long as they ask to.
    return race_environment(module_database_url, tmp_path_factory.mktemp("state")) | {"SERVICE_DOWN_TIME_S": "180"}


@pytest.fixture(scope="module")
def act(env: dict[str, str]) -> Iterator[Act]:
    """Enrols, wakes and revokes hosts: `act("wake", "h1", "h2")`."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, str(ACTS)], env=env, cwd=ROOT, **pipes) as program:  # type: ignore[call-overload]

        def tell(what: str, *hosts: str) -> None:
            program.stdin.write(json.dumps([what, hosts]) + "\n")
            program.stdin.flush()
            assert program.stdout.readline() == "done\n"

        yield tell
        program.stdin.close()


@pytest.fixture(scope="module")
def server(module_processes: Processes, env: dict[str, str]) -> tuple[int, int]:
    """One web process with few threads, for the tests of one kind of database: its port, and its supervisor's pid."""
    number = free_port()
    process = module_processes.python(*web_command(number, processes=1, threads=THREADS, grace_s=60)[1:], env=env)
    eventually(lambda: status_of(number, "/healthz") == 200, "the web server answers")
    return number, process.pid


@pytest.fixture
def port(server: tuple[int, int]) -> int:
    """Of that server. Each test has hosts of its own."""
    return server[0]


def status_of(port: int, path: str) -> int:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        link.request("GET", path)
        return link.getresponse().status
    except OSError:
        return 0
    finally:
        link.close()


class Poll:
    """One agent's long poll, begun."""

    def __init__(self, port: int, host: str, timeout_s: float = 45.0, secret: str = "") -> None:
        self.link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        headers = {
            "Authorization": f"Bearer {secret or f'kna_of-{host}'}",
            AGENT_HEADER: "00000000-0000-0000-0000-000000000001",
            VERSION_HEADER: str(PROTOCOL_VERSION),
        }
        self.link.request("POST", "/agent/v1/wakeups", encode({"host": host, "timeout_s": timeout_s}), headers)

    def answer(self) -> tuple[int, Any]:
        response = self.link.getresponse()
        return response.status, json.loads(response.read())


def test_many_waiting_agents_hold_no_thread_and_each_hears_of_its_work(
    port: int, act: Act, module_database_url: str
) -> None:
    url = module_database_url
    hosts = [f"many{number}" for number in range(WAITING)]
    act("enrol", *hosts)
    polls = {host: Poll(port, host) for host in hosts}
    time.sleep(1.0)
    assert status_of(port, "/healthz") == 200
    act("wake", *hosts)
    for host, poll in polls.items():
        status, wakeups = poll.answer()
        assert (status, [one["kind"] for one in wakeups]) == (200, ["build"]), host
    if url.startswith("postgres"):
        with psycopg2.connect(url) as link, link.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
            # Of each thread one, the hub's two, the helping program's two (what it does, its hints), this one's.
            assert cursor.fetchone()[0] <= THREADS + 5


def test_poll_ends_when_its_time_is_over_and_the_connection_goes_on(port: int, act: Act) -> None:
    act("enrol", "timed")
    began = time.monotonic()
    poll = Poll(port, "timed", timeout_s=0.5)
    assert poll.answer() == (200, [])
    assert time.monotonic() - began >= 0.5
    sock = poll.link.sock
    poll.link.request("GET", "/healthz")
    assert poll.link.getresponse().read()
    assert poll.link.sock is sock


def test_wakeup_that_came_before_the_poll_is_heard_at_once(port: int, act: Act) -> None:
    act("enrol", "early")
    act("wake", "early")
    _, wakeups = Poll(port, "early").answer()
    assert [one["kind"] for one in wakeups] == ["build"]


def test_who_hangs_up_is_forgotten_and_its_wakeup_waits(port: int, act: Act) -> None:
    act("enrol", "hangs-up")
    for _ in range(20):
        Poll(port, "hangs-up").link.close()
    time.sleep(0.5)
    act("wake", "hangs-up")
    time.sleep(0.5)
    assert Poll(port, "hangs-up").answer()[1]


def test_of_more_polls_than_a_host_may_have_the_oldest_is_answered(port: int, act: Act) -> None:
    act("enrol", "greedy")
    polls = [Poll(port, "greedy") for _ in range(EACH + 1)]
    assert polls[0].answer() == (200, [])
    act("wake", "greedy")
    for poll in polls[1:]:
        assert poll.answer()[0] == 200


def test_refused_poll_says_why_at_once(port: int, act: Act) -> None:
    act("enrol", "refused")
    status, body = Poll(port, "refused", secret="kna_of-nobody").answer()
    assert (status, body["error"]["code"]) == (403, "secret_refused")
    status, body = Poll(port, "another", secret="kna_of-refused").answer()
    assert (status, body["error"]["code"]) == (403, "forbidden")


def test_secret_that_is_revoked_while_its_agent_waits_hears_nothing_and_the_next_one_hears_it(
    port: int, act: Act
) -> None:
    act("enrol", "revoked")
    poll = Poll(port, "revoked")
    time.sleep(0.5)
    act("revoke", "revoked")
    act("wake", "revoked")
    status, body = poll.answer()
    assert (status, body["error"]["code"]) == (403, "secret_refused")
    act("enrol", "revoked")
    _, wakeups = Poll(port, "revoked").answer()
    assert [one["kind"] for one in wakeups] == ["build"]


def _asked_in_a_row(port: int, times: int, found: list[int]) -> None:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    for _ in range(times):
        link.request("GET", "/healthz")
        response = link.getresponse()
        response.read()
        found.append(response.status)


def test_more_clients_that_ask_on_and_on_than_threads_are_all_served(port: int) -> None:
    found: list[int] = []
    clients = [threading.Thread(target=_asked_in_a_row, args=(port, 50, found)) for _ in range(3 * THREADS)]
    for client in clients:
        client.start()
    assert status_of(port, "/healthz") == 200
    for client in clients:
        client.join(PATIENCE_S)
    assert found == [200] * (50 * 3 * THREADS)


def test_clients_that_keep_their_connection_and_say_nothing_hold_no_thread(port: int) -> None:
    silent = [http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S) for _ in range(3 * THREADS)]
    for link in silent:
        link.request("GET", "/healthz")
        assert link.getresponse().read()
    assert status_of(port, "/healthz") == 200


def test_clients_that_connect_and_say_nothing_hold_no_thread(port: int) -> None:
    """Where each held one until it is given up, those who speak at last would be served no more."""
    silent = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) for _ in range(12 * THREADS)]
    assert status_of(port, "/healthz") == 200
    for link in silent:  # and who speaks at last is served
        link.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert link.recv(65536).startswith(b"HTTP/1.1 200 ")
        link.close()


def test_requests_that_are_sent_together_are_answered_one_after_the_other(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as link:
        asked = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        link.sendall((asked + b"\r\n") * 2 + asked + b"Connection: close\r\n\r\n")
        answers = b"".join(iter(lambda: link.recv(65536), b""))
    assert answers.count(b"HTTP/1.1 200 ") == 3


def test_stopping_server_answers_all_who_wait(server: tuple[int, int], act: Act) -> None:
    port, pid = server
    hosts = [f"stopping{number}" for number in range(30)]
    act("enrol", *hosts)
    polls = [Poll(port, host, timeout_s=60.0) for host in hosts]
    time.sleep(1.0)
    began = time.monotonic()
    os.kill(pid, signal.SIGTERM)
    answers: list[tuple[int, Any]] = []
    threads = [threading.Thread(target=lambda poll=poll: answers.append(poll.answer())) for poll in polls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [(200, [])] * len(polls)
    assert time.monotonic() - began < 50.0, "the polls themselves would go on for longer"
