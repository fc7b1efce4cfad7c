"""The web server with hundreds of clients that are slow, stall or say nothing: everybody else is answered as ever."""

import http.client
import json
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from controlplane.launcher.children import web_command
from tests.fixtures.migrated import MigratedDatabases, race_environment
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.fixtures.processes import ROOT, Processes
from tests.fixtures.servers import free_port

pytestmark = pytest.mark.processes

THREADS = 2
MANY = 200
MAKE = Path(__file__).with_name("image_make.py")
Link = socket.socket


@pytest.fixture(scope="module")
def told(module_processes: Processes, migrated: MigratedDatabases, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A web process with few threads, one image of a project, and a token of its member."""
    state = tmp_path_factory.mktemp("state")
    env = race_environment(migrated.sqlite(state / "slow.sqlite3"), state)
    made = subprocess.run([sys.executable, str(MAKE)], env=env, cwd=ROOT, check=True, input=b"x", capture_output=True)
    port = free_port()
    module_processes.python(*web_command(port, processes=1, threads=THREADS)[1:], env=env)
    eventually(lambda: status_of(port, "/healthz") == 200, "the web server answers")
    return {**json.loads(made.stdout), "port": port}


def asked(port: int, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as link:
        link.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = link.getresponse()
        return answer.status, answer.read()


def status_of(port: int, path: str) -> int:
    try:
        return asked(port, "GET", path)[0]
    except OSError:
        return 0


def connected(port: int, text: bytes) -> Link:
    link = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    link.sendall(text)
    return link


def post(path: str, length: int, begun: bytes = b"{", more: bytes = b"") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n"
    return head.encode() + more + b"\r\n" + begun


KINDS: dict[str, bytes] = {
    "silent": b"",
    "half a head": b"GET /healthz HTTP/1.1\r\nHost: localh",
    "half a body": post("/api/instances/", 500),
    "half a large body": post("/api/instances/", 300_000, b"x" * 100_000),
    "half a message of an agent": post("/agent/v1/enrol", 5000),
    "half a log-in": post("/api/tokens/", 500),
    "half of what no body says the end of": (
        b"POST /api/instances/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_clients_that_stall_hold_up_nobody(told: Any, kind: str) -> None:
    links = [connected(told["port"], KINDS[kind]) for _ in range(MANY)]
    for _ in range(3):
        assert status_of(told["port"], "/healthz") == 200
    status, body = asked(told["port"], "GET", "/api/images/", X_Auth_Token=told["token"])
    assert (status, len(json.loads(body)["results"])) == (200, 1)
    for link in links:
        link.close()


def test_uploads_of_one_image_that_stall_hold_one_place(told: Any) -> None:
    path = f"/api/images/{fresh(told)}/file/"
    head = (
        f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: {told['token']}\r\n"
        "Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\nQFI"
    )
    links = [connected(told["port"], head.encode()) for _ in range(40)]
    refused = [json.loads(body_of(link)) for link in links if is_answered(link)]
    eventually(lambda: sum(map(is_answered, links)) == 39, "all but one are refused")
    assert {one["error"]["code"] for one in refused} <= {"throttled"}
    assert status_of(told["port"], "/healthz") == 200
    for link in links:
        link.close()
    octets = {"X_Auth_Token": told["token"], "Content_Type": "application/octet-stream"}
    eventually(lambda: asked(told["port"], "PUT", path, b"x" * 512, **octets)[0] == 200, "the place is free again")


def test_uploads_of_strangers_take_no_place(told: Any) -> None:
    head = (
        f"PUT /api/images/{told['image']}/file/ HTTP/1.1\r\nHost: localhost\r\n"
        "Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\nQFI"
    )
    links = [connected(told["port"], head.encode()) for _ in range(MANY)]
    for link in links:
        assert link.recv(12) == b"HTTP/1.1 401"
    assert status_of(told["port"], "/healthz") == 200


def fresh(told: Any) -> str:
    """An image without bytes."""
    body = json.dumps({"name": "fresh", "disk_format": "raw"}).encode()
    status, answer = asked(
        told["port"], "POST", "/api/images/", body, X_Auth_Token=told["token"], Content_Type="application/json"
    )
    assert status == 201, answer
    return str(json.loads(answer)["id"])


def is_answered(link: Link) -> bool:
    link.setblocking(False)
    try:
        return bool(link.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False
    finally:
        link.settimeout(PATIENCE_S)


def body_of(link: Link) -> bytes:
    response = http.client.HTTPResponse(link)
    response.begin()
    return response.read()


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/api/instances/", lambda body: json.loads(body)["error"]["code"] == "too_large"),
        ("/agent/v1/enrol", lambda body: json.loads(body)["error"]["code"] == "too_large"),
        ("/compute/v2.1/servers", lambda body: "larger than" in body.decode() and json.loads(body)),
        ("/placement/resource_providers", lambda body: json.loads(body)["errors"][0]["status"] == 413),
        ("/login/", lambda body: b"larger than" in body),
    ],
)
def test_body_that_is_too_large_is_refused_unread_in_the_shape_of_its_door(
    told: Any, path: str, shape: Callable[[bytes], bool]
) -> None:
    with connected(told["port"], post(path, 10**9)) as link:
        response = http.client.HTTPResponse(link)
        response.begin()
        assert response.status == 413
        assert response.getheader("X-OpenStack-Request-Id")
        assert shape(response.read())


def test_path_that_is_too_long_is_refused_in_the_shape_of_its_door(told: Any) -> None:
    status, body = asked(told["port"], "GET", "/api/images/?name=" + "x" * 40_000)
    assert (status, json.loads(body)["error"]["code"]) == (414, "url_too_long")
    assert asked(told["port"], "GET", "/api/images/?name=" + "x" * 20_000, X_Auth_Token=told["token"])[0] == 200


@pytest.mark.parametrize("path", ["/api/images/%ff%fe/", "/%c3/", "/api/images/?name=%ff", "//", "/api/%00/"])
def test_odd_paths_are_answered_and_never_500(told: Any, path: str) -> None:
    assert asked(told["port"], "GET", path, X_Auth_Token=told["token"])[0] in {200, 302, 400, 404}


@pytest.mark.parametrize("text", [b"GET /\xff HTTP/1.1", b"GET /?q=\xff HTTP/1.1", b"GET * HTTP/1.1", b"\x16\x03\x01"])
def test_odd_requests_are_answered_and_never_500(told: Any, text: bytes) -> None:
    with connected(told["port"], text + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n") as link:
        first = link.makefile("rb").readline()
    assert first.startswith((b"HTTP/1.1 2", b"HTTP/1.1 3", b"HTTP/1.1 4")), first
