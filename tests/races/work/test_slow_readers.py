"""The web server with more slow readers of an image than it has threads: others are answered as if there were none."""

import hashlib
import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from controlplane.launcher.children import web_command
from tests.fixtures.migrated import race_environment
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.fixtures.processes import ROOT, Processes
from tests.fixtures.s3_server import S3Server
from tests.fixtures.servers import free_port

pytestmark = pytest.mark.processes

THREADS = 2
PLACES = 6
IMAGE_BYTES = 48 * 2**20
MAKE = Path(__file__).with_name("image_make.py")


@dataclass(frozen=True)
class Served:
    """A web server with one image, and somebody who may read it."""

    port: int
    pid: int
    image: str
    token: str
    sha256: str

    def ask(self, path: str) -> http.client.HTTPConnection:
        """A connection on which this was asked for; it reads as slowly as it likes."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        link.sock = socket.socket()
        link.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        link.sock.settimeout(60)
        link.sock.connect(("127.0.0.1", self.port))
        link.request("GET", path, headers={"X-Auth-Token": self.token})
        return link

    def image_asked(self) -> http.client.HTTPConnection:
        return self.ask(f"/api/images/{self.image}/file/")

    def memory_mib(self) -> float:
        """Of the worker, the one child of the server."""
        (worker,) = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        status = dict(line.split(":", 1) for line in Path(f"/proc/{worker}/status").read_text().splitlines())
        return int(status["VmRSS"].split()[0]) / 1024


@pytest.fixture(params=["directory", pytest.param("s3", marks=pytest.mark.long)])
def served(request: pytest.FixtureRequest, processes: Processes, sqlite_file_url: str, tmp_path: Path) -> Served:
    env = {**race_environment(sqlite_file_url, tmp_path), "IMAGE_DOWNLOADS": str(PLACES)}
    env |= {"IMAGE_DOWNLOADS_EACH": str(PLACES), "LARGE_ANSWER_STALLED_S": "3600"}
    if request.param == "s3":
        s3_server: S3Server = request.getfixturevalue("s3_server")
        env |= s3_server.settings("slow-readers/")
    data = os.urandom(2**20) * (IMAGE_BYTES // 2**20)
    made = subprocess.run([sys.executable, str(MAKE)], env=env, cwd=ROOT, check=True, input=data, capture_output=True)
    told: dict[str, Any] = json.loads(made.stdout)
    port = free_port()
    web = processes.python(*web_command(port, processes=1, threads=THREADS, grace_s=60)[1:], env=env)
    eventually(lambda: status_of(port) == 200, "the web server answers")
    return Served(port, web.pid, told["image"], told["token"], hashlib.sha256(data).hexdigest())


def status_of(port: int) -> int:
    with suppress(OSError), closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as link:
        link.request("GET", "/healthz")
        return link.getresponse().status
    return 0


def until(condition: Callable[[], bool], what: str) -> None:
    eventually(condition, what)


def test_slow_readers_hold_up_nobody_and_leave_no_place_taken(served: Served) -> None:
    with closing(served.image_asked()) as link:  # what the first download needs is loaded by then
        assert hashlib.sha256(link.getresponse().read()).hexdigest() == served.sha256
    before_mib = served.memory_mib()
    readers = [served.image_asked() for _ in range(PLACES)]
    answers = [link.getresponse() for link in readers]
    assert [answer.status for answer in answers] == [200] * PLACES
    for _ in range(10):
        assert status_of(served.port) == 200
    refused = served.image_asked().getresponse()
    assert (refused.status, refused.headers["Retry-After"]) == (429, "3")
    assert f"{PLACES} in all" in json.loads(refused.read())["error"]["message"]
    readers.pop().close()
    answers.pop().close()

    def is_place_free() -> bool:
        with closing(served.image_asked()) as link:
            return link.getresponse().status == 200

    until(is_place_free, "who hangs up gives its place back")
    for link, answer in zip(readers, answers, strict=True):
        assert hashlib.sha256(answer.read()).hexdigest() == served.sha256
        link.request("GET", "/healthz")
        assert link.getresponse().status == 200
    assert served.memory_mib() - before_mib < 24
