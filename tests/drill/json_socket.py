"""Questions over a Unix socket: one JSON line there, one JSON line back. For the harness to look into processes."""

import json
import socket
import socketserver
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

Answerer = Callable[[dict[str, Any]], Any]


def ask(path: Path, question: dict[str, Any], *, timeout_s: float = 30.0) -> Any:
    """The answer. Raises OSError when nobody is there, RuntimeError when the other side failed."""
    with socket.socket(socket.AF_UNIX) as wire:
        wire.settimeout(timeout_s)
        wire.connect(str(path))
        wire.sendall(json.dumps(question).encode() + b"\n")
        with wire.makefile() as lines:
            text = lines.readline()
    if not text:
        raise ConnectionResetError(f"{path.name} hung up")
    answer = json.loads(text)
    if "failed" in answer:
        raise RuntimeError(f"{path.name}: {answer['failed']}")
    return answer["answer"]


class _Handler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        question = json.loads(self.rfile.readline())
        try:
            answer = {"answer": self.server.answerer(question)}  # type: ignore[attr-defined]
        except Exception as error:  # noqa: BLE001 - the other side is told
            answer = {"failed": f"{type(error).__name__}: {error}"}
        self.wfile.write(json.dumps(answer, default=str).encode() + b"\n")


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


def server(path: Path, answerer: Answerer) -> socketserver.BaseServer:
    """Listen at `path`, in place of a dead process that did; call `serve_forever`."""
    path.unlink(missing_ok=True)
    made = _Server(str(path), _Handler)
    made.answerer = answerer  # type: ignore[attr-defined]
    return made


def serve_in_background(path: Path, answerer: Answerer) -> None:
    """The same in a thread that ends with the process."""
    threading.Thread(target=server(path, answerer).serve_forever, name="drill-questions", daemon=True).start()
