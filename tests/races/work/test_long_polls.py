"""The web server with hundreds of agents that wait: no thread, no connection of theirs, and everybody is answered."""

import http.client
import json
import os
import signal
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
from controlplane.launcher.children import WEB_WORKER
from tests.fixtures.processes import Processes
from tests.fixtures.races import ROOT, race_environment
from tests.fixtures.servers import free_port, wait_until

pytestmark = pytest.mark.processes

THREADS = 4
WAITING = 120
ACTS = Path(__file__).with_name("control_plane_acts.py")
Act = Callable[..., None]


@pytest.fixture
def env(either_database_url: str, tmp_path: Path) -> dict[str, str]:
    made = race_environment(either_database_url, tmp_path)
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], env=made, cwd=ROOT, check=True)
    return made


@pytest.fixture
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


@pytest.fixture
def port(processes: Processes, env: dict[str, str], tmp_path: Path) -> int:
    """One web process with few threads."""
    number = free_port()
    processes.python(
        "-m", "gunicorn", "controlplane.wsgi:application", "--bind", f"127.0.0.1:{number}",
        "--worker-class", WEB_WORKER, "--workers", "1", "--threads", str(THREADS), "--graceful-timeout", "5",
        "--pid", str(tmp_path / "pid"), "--no-control-socket", env=env,
    )  # fmt: skip
    wait_until(lambda: status_of(number, "/healthz") == 200, timeout_s=30, what="the web server answers")
    return number


def status_of(port: int, path: str) -> int:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        link.request("GET", path)
        return link.getresponse().status
    except OSError:
        return 0
    finally:
        link.close()


class Poll:
    """One agent's long poll, begun."""

    def __init__(self, port: int, host: str, timeout_s: float = 30.0, secret: str = "") -> None:
        self.link = http.client.HTTPConnection("127.0.0.1", port, timeout=40)
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
    port: int, act: Act, either_database_url: str
) -> None:
    url = either_database_url
    hosts = [f"h{number}" for number in range(WAITING)]
    act("enrol", *hosts)
    polls = {host: Poll(port, host) for host in hosts}
    time.sleep(1.0)
    began = time.monotonic()
    assert status_of(port, "/healthz") == 200
    assert time.monotonic() - began < 2.0
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
    act("enrol", "h1")
    poll = Poll(port, "h1", timeout_s=0.5)
    began = time.monotonic()
    assert poll.answer() == (200, [])
    assert 0.4 < time.monotonic() - began < 5.0
    sock = poll.link.sock
    poll.link.request("GET", "/healthz")
    assert poll.link.getresponse().read()
    assert poll.link.sock is sock


def test_wakeup_that_came_before_the_poll_is_heard_at_once(port: int, act: Act) -> None:
    act("enrol", "h1")
    act("wake", "h1")
    _, wakeups = Poll(port, "h1").answer()
    assert [one["kind"] for one in wakeups] == ["build"]


def test_who_hangs_up_is_forgotten_and_its_wakeup_waits(port: int, act: Act) -> None:
    act("enrol", "h1")
    for _ in range(20):
        Poll(port, "h1").link.close()
    time.sleep(0.5)
    act("wake", "h1")
    time.sleep(0.5)
    assert Poll(port, "h1").answer()[1]


def test_refused_poll_says_why_at_once(port: int, act: Act) -> None:
    act("enrol", "h1")
    status, body = Poll(port, "h1", secret="kna_of-nobody").answer()
    assert (status, body["error"]["code"]) == (403, "secret_refused")
    status, body = Poll(port, "h2", secret="kna_of-h1").answer()
    assert (status, body["error"]["code"]) == (403, "forbidden")


def test_secret_that_is_revoked_while_its_agent_waits_hears_nothing(port: int, act: Act) -> None:
    act("enrol", "h1")
    poll = Poll(port, "h1", timeout_s=3.0)
    time.sleep(0.5)
    act("revoke", "h1")
    act("wake", "h1")
    status, body = poll.answer()
    assert (status, body["error"]["code"]) == (403, "secret_refused")


def test_stopping_server_answers_all_who_wait(port: int, act: Act, tmp_path: Path) -> None:
    hosts = [f"h{number}" for number in range(30)]
    act("enrol", *hosts)
    polls = [Poll(port, host) for host in hosts]
    time.sleep(1.0)
    began = time.monotonic()
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGTERM)
    answers: list[tuple[int, Any]] = []
    threads = [threading.Thread(target=lambda poll=poll: answers.append(poll.answer())) for poll in polls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [(200, [])] * len(polls)
    assert time.monotonic() - began < 5.0
