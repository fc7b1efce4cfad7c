"""An HTTP proxy between agents and the web server that cuts, withholds, delays and alters what passes.

It knows the verb of each request by its path. What `strike` arms happens to the next request of that verb, once;
the other settings hold for all requests until they are changed.
"""

import http.client
import select
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from computeagent.protocol.wire import PREFIX
from tests.drill.faults.fault import agents_with, until
from tests.drill.stage import Stage

PIECE = 4096
UPSTREAM_S = 120.0
HELD_S = 60.0
BEGINS_S = 30.0
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "date", "server"}
GATEWAY_PAGE = b"<html><head><title>%d %s</title></head><body><center><h1>%d %s</h1></center></body></html>"


class Strike(StrEnum):
    """What happens to one request."""

    CUT_BEFORE = "cut-before"
    """The connection ends before the control plane hears of it."""
    CUT_AFTER = "cut-after"
    """The control plane did it, and the connection ends without an answer."""
    CUT_WITHIN = "cut-within"
    """The connection ends in the middle of the answer."""
    ANSWER_LOST = "answer-lost"
    """The control plane did it; the connection stays open, and nothing comes."""


class DoorProxy:
    """Listens on a port of its own until `close`. Safe to use from any thread."""

    def __init__(self, port: int) -> None:
        self.upstream = port
        self.is_buffered = False
        """Whether an answer is passed on only when all of it is there."""
        self.poll_limit_s = 0.0
        """After how long without an answer a request gets a page that says 504; 0: never."""
        self.alter_headers: Callable[[dict[str, str]], dict[str, str]] = dict
        self.alter_request: Callable[[str, bytes], bytes] = lambda _verb, body: body
        self.alter_answer: Callable[[str, bytes], bytes] = lambda _verb, body: body
        self.passed: Counter[str] = Counter()
        """Requests that were answered, by verb."""
        self.timed_out: Counter[str] = Counter()
        """Requests whose answer was not waited for any longer, by verb."""
        self._armed: dict[str, Strike] = {}
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def strike(self, verb: str, how: Strike) -> None:
        """Do this to the next request of the verb."""
        with self._lock:
            self._armed[verb] = how

    def is_armed(self, verb: str) -> bool:
        """Whether nobody came by yet."""
        with self._lock:
            return verb in self._armed

    def take_strike(self, verb: str) -> Strike | None:
        """What is to happen to this request."""
        with self._lock:
            return self._armed.pop(verb, None)

    def close(self) -> None:
        """End."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    proxy: DoorProxy

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A side that hung up is nothing to tell."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        """One request, from the agent to the control plane and back."""
        proxy, verb = self.server.proxy, self.path.rpartition(PREFIX)[2]
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        strike = proxy.take_strike(verb)
        if strike is Strike.CUT_BEFORE:
            self.close_connection = True
            return
        upstream = http.client.HTTPConnection("127.0.0.1", proxy.upstream, timeout=proxy.poll_limit_s or UPSTREAM_S)
        try:
            upstream.request("POST", self.path, proxy.alter_request(verb, body), self._headers())
            answer = upstream.getresponse()
            if strike is None:
                self._pass_on(verb, answer)
            else:
                self._break_off(strike, answer)
        except TimeoutError:
            proxy.timed_out[verb] += 1
            self._gateway_page(504, "Gateway Time-out")
        except (OSError, http.client.HTTPException):
            self._gateway_page(502, "Bad Gateway")
        finally:
            upstream.close()

    def log_message(self, *_args: Any) -> None:
        """Nothing."""

    def _headers(self) -> dict[str, str]:
        left_out = {*HOP_BY_HOP, "content-length"}
        return self.server.proxy.alter_headers(
            {name: value for name, value in self.headers.items() if name.lower() not in left_out}
        )

    def _pass_on(self, verb: str, answer: http.client.HTTPResponse) -> None:
        proxy = self.server.proxy
        is_json = answer.getheader("Content-Type", "").startswith("application/json")
        whole = proxy.alter_answer(verb, answer.read()) if is_json or proxy.is_buffered else None
        length = len(whole) if whole is not None else int(answer.getheader("Content-Length", "0"))
        self._head(answer, length)
        if whole is not None:
            self.wfile.write(whole)
        else:
            while piece := answer.read1(PIECE):
                self.wfile.write(piece)
        proxy.passed[verb] += 1

    def _break_off(self, strike: Strike, answer: http.client.HTTPResponse) -> None:
        whole = answer.read()
        self.close_connection = True
        if strike is Strike.CUT_WITHIN:
            self._head(answer, len(whole))
            self.wfile.write(whole[: len(whole) // 2])
        elif strike is Strike.ANSWER_LOST:
            select.select([self.connection], [], [], HELD_S)  # until the agent gives up

    def _head(self, answer: http.client.HTTPResponse, length: int) -> None:
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in {*HOP_BY_HOP, "content-length"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def _gateway_page(self, status: int, words: str) -> None:
        with suppress(OSError):
            page = GATEWAY_PAGE % (status, words.encode(), status, words.encode())
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)


@contextmanager
def behind_proxy(stage: Stage, **settings: Any) -> Iterator[DoorProxy]:
    """All agents reach the control plane through a proxy whose attributes are as given."""
    proxy = DoorProxy(stage.client.port)
    for name, value in settings.items():
        setattr(proxy, name, value)
    try:
        with agents_with(stage, "--control-plane", f"http://127.0.0.1:{proxy.port}"):
            began = f"{len(stage.agents)} agents began through the proxy"
            until(lambda: proxy.passed["void_leases"] >= len(stage.agents), BEGINS_S, began)
            yield proxy
    finally:
        proxy.close()
