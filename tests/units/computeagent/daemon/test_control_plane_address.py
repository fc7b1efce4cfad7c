"""Where the control plane is: what is said on the way there may be read by others."""

import logging
import threading
from argparse import Namespace
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from computeagent.daemon.program import conductor_of_arguments, enrol_only
from computeagent.transport.address import ControlPlaneAddress
from computeagent.transport.secret_file import SecretFile
from controlplane.kernel.errors import Invalid

WARNED = "is not https: this host's token, its secret and all that it is told can be read"


@pytest.mark.parametrize(
    ("url", "is_in_clear"),
    [
        ("http://cloud.example.org", True),
        ("http://192.0.2.1:8000/kilonova", True),
        ("http://[2001:db8::1]", True),
        ("http://localhost.example.org", True),
        ("https://cloud.example.org", False),
        ("http://127.0.0.1:8000", False),
        ("http://127.9.9.9", False),
        ("http://[::1]:8000", False),
        ("http://localhost:8000", False),
        ("http://cloud.localhost", False),
    ],
)
def test_http_to_another_machine_is_in_clear(url: str, *, is_in_clear: bool) -> None:
    assert ControlPlaneAddress(url).is_in_clear is is_in_clear


def options(state: Path, url: str) -> Namespace:
    return Namespace(
        state=state, host="h1", enrol_token="", control_plane=url, ca_file="", cert_file="", key_file=""
    )  # fmt: skip


@pytest.mark.parametrize(("url", "count"), [("http://cloud.example.org", 1), ("http://127.0.0.1:9", 0)])
def test_agent_warns_of_it_before_anything_is_sent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, url: str, count: int
) -> None:
    secret = SecretFile(tmp_path)
    with caplog.at_level(logging.WARNING), pytest.raises(Invalid, match="is not enrolled"):
        enrol_only(options(tmp_path, url), lambda _: None)
    assert caplog.text.count(WARNED) == count
    secret.take(secret.next_secret())
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        conductor_of_arguments(options(tmp_path, url), lambda _: None)
    assert caplog.text.count(WARNED) == count


class ProxyThatAsksWho(BaseHTTPRequestHandler):
    """Lets one person through, and answers for the control plane."""

    let_in = f"Basic {b64encode(b'agents:p@ss:word').decode()}"

    def do_POST(self) -> None:
        is_known = self.headers.get("Proxy-Authorization") == self.let_in
        self.send_response(200 if is_known and self.path.startswith("http://cloud.example.org/") else 407)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def proxy() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), ProxyThatAsksWho)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(("who", "status"), [("agents:p%40ss:word@", 200), ("agents@", 407), ("", 407)])
def test_proxy_is_told_who_asks(proxy: str, monkeypatch: pytest.MonkeyPatch, who: str, status: int) -> None:
    for name in ("HTTP_PROXY", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", f"http://{who}{proxy}")
    answer = (
        ControlPlaneAddress("http://cloud.example.org").pool().request("POST", "http://cloud.example.org/agent/v1/x")
    )
    assert answer.status == status
