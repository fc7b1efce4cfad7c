"""The server over real sockets of the loopback: what guests ask, and what hostile ones try."""

import base64
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from computeagent.metadata import connection, limits
from computeagent.metadata.listening import Listening
from computeagent.metadata.server import MetadataServer
from computeagent.metadata.store import DocumentStore
from computeagent.protocol.metadata import GuestDocument
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.units.computeagent.metadata.documents import BLUE, HOST, RED, given, guest_of

ONE, TWO = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6", "0b0c0d0e-7dec-41d0-a765-00a0c91e6bf6"
USER_DATA = b"x" * 60000
LATEST = "/openstack/latest/meta_data.json"
PASSWORD = "/openstack/latest/password"


@dataclass
class Served:
    store: DocumentStore
    server: MetadataServer
    port: int

    def ask(
        self,
        path: str,
        *,
        method: str = "GET",
        body: bytes | None = None,
        address: str = "127.0.0.5",
        headers: dict[str, str] | None = None,
    ) -> tuple[int, bytes]:
        with closing(self.connect(address)) as raw:
            client = http.client.HTTPConnection("169.254.169.254")
            client.sock = raw
            client.request(method, path, body, headers or {})
            answer = client.getresponse()
            return answer.status, answer.read()

    def connect(self, address: str = "127.0.0.5") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S, source_address=(address, 0))

    def raw(self, data: bytes) -> bytes:
        with closing(self.connect()) as sock:
            sock.sendall(data)
            found = b""
            while piece := sock.recv(65536):
                found += piece
            return found


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    store = DocumentStore(tmp_path / "metadata", HOST)
    store.open()
    data = base64.b64encode(USER_DATA).decode()
    one = GuestDocument(HOST, guest_of(ONE, "127.0.0.5", user_data_base64=data))
    store.take(given(one, GuestDocument(HOST, guest_of(TWO, "127.0.0.6", network=BLUE))))
    server = MetadataServer(store)
    thread = threading.Thread(target=server.run)
    thread.start()
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    port = listening.getsockname()[1]
    server.listen(RED, Listening(listening, 1))
    yield Served(store, server, port)
    server.stop()
    thread.join(PATIENCE_S)
    assert not thread.is_alive()


def test_guest_reads_what_it_is(served: Served) -> None:
    status, content = served.ask(LATEST)

    assert status == 200
    assert json.loads(content)["uuid"] == ONE
    assert served.ask("/latest/user-data") == (200, USER_DATA)
    assert served.ask("/latest/meta-data/local-ipv4") == (200, b"127.0.0.5")
    assert served.ask(LATEST, method="HEAD") == (200, b"")


def test_each_reading_has_another_seed(served: Served) -> None:
    seeds = {json.loads(served.ask(LATEST)[1])["random_seed"] for _ in range(3)}

    assert len(seeds) == 3
    assert {len(base64.b64decode(seed)) for seed in seeds} == {512}


def test_guest_of_another_network_and_one_without_a_document_get_404(served: Served) -> None:
    assert served.ask(LATEST, address="127.0.0.6") == (404, b"")
    assert served.ask("/", address="127.0.0.7") == (404, b"")


def test_what_a_request_says_of_its_sender_is_not_believed(served: Served) -> None:
    claims = {
        "X-Forwarded-For": "127.0.0.6",
        "X-Real-IP": "127.0.0.6",
        "X-Instance-ID": TWO,
        "Forwarded": "for=127.0.0.6",
        "Host": "127.0.0.6",
    }

    status, content = served.ask(LATEST, headers=claims)
    assert (status, json.loads(content)["uuid"]) == (200, ONE)
    assert served.ask(LATEST, headers={"X-Forwarded-For": "127.0.0.5"}, address="127.0.0.7")[0] == 404


def test_several_requests_go_over_one_connection(served: Served) -> None:
    client = http.client.HTTPConnection("169.254.169.254")
    client.sock = served.connect()
    for path in ("/openstack", "/latest/meta-data/", LATEST):
        client.request("GET", path)
        assert client.getresponse().read()
    client.close()


def test_guest_tells_its_password_once(served: Served) -> None:
    assert served.ask(PASSWORD) == (200, b"")
    assert served.ask(PASSWORD, method="POST", body=b"bm8=")[0] == 200
    assert served.ask(PASSWORD) == (200, b"bm8=")
    assert served.ask(PASSWORD, method="POST", body=b"b3RoZXI=")[0] == 409
    assert served.store.passwords() == {ONE: "bm8="}
    assert served.server.responder.password_posted.is_set()


@pytest.mark.parametrize("body", [b"", b" \n", b"x" * 1021, b"\xff\xfe", b"a\x00b"])
def test_what_is_no_password_is_refused(served: Served, body: bytes) -> None:
    assert served.ask(PASSWORD, method="POST", body=body)[0] == 400
    assert served.store.passwords() == {}


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "CONNECT"])
def test_nothing_else_can_be_written(served: Served, method: str) -> None:
    assert served.ask(LATEST, method=method, body=b"x")[0] == 405


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"y" * 60000 + b"\r\n\r\n", b"431"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100000, b"413"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n", b"417"),
        (b"GET http://127.0.0.6/latest/ HTTP/1.0\r\n\r\n", b"404"),
    ],
)
def test_what_is_not_http_as_it_should_be_ends_the_connection(served: Served, data: bytes, status: bytes) -> None:
    assert served.raw(data).split(b" ")[1:2] in ([status], [])
    assert served.ask("/openstack")[0] == 200


def test_slow_request_is_cut_off(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "REQUEST_S", 0.3)
    with closing(served.connect()) as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHos")
        assert sock.recv(100) == b""


def test_guest_that_does_not_read_is_cut_off(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SEND_S", 0.3)
    with closing(served.connect()) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(60)
        sock.sendall(b"GET /latest/user-data HTTP/1.1\r\nHost: a\r\n\r\n" * 150)
        time.sleep(1.5)
        with pytest.raises(ConnectionError):
            while sock.recv(65536):
                pass


def test_one_guest_has_so_many_connections_and_no_more(served: Served) -> None:
    def status() -> int:
        try:
            return served.ask("/openstack")[0]
        except (ConnectionError, http.client.HTTPException):
            return 0

    held = [served.connect() for _ in range(limits.GUEST_CONNECTIONS)]
    eventually(lambda: status() == 0, "there are as many as it may have")
    assert served.ask("/openstack", address="127.0.0.7")[0] == 404
    for sock in held:
        sock.close()
    eventually(lambda: status() == 200, "they are gone")


def test_guest_that_asks_too_often_is_told_to_wait(served: Served) -> None:
    client = http.client.HTTPConnection("169.254.169.254")
    client.sock = served.connect()
    statuses = []
    for number in range(int(limits.BURST) + 40):
        if number % 100 == 99:
            client.close()
            client.sock = served.connect()
        client.request("GET", "/openstack")
        answer = client.getresponse()
        answer.read()
        statuses.append((answer.status, answer.getheader("Retry-After")))
    client.close()

    assert statuses[0] == (200, None)
    assert (429, "1") in statuses


def test_socket_that_is_left_answers_nobody(served: Served) -> None:
    served.server.leave([RED])

    assert served.server.namespaces() == {}
    with pytest.raises(ConnectionError):
        served.connect()
