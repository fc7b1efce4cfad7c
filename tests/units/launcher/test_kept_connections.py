"""A thread goes on with a kept connection whose next request is there, and keeps no thread from other connections."""

import socket
import threading
from io import BytesIO
from types import SimpleNamespace
from typing import Any

from controlplane.launcher.long_poll_worker import LongPollWorker, Threads
from tests.fixtures.patience import PATIENCE_S


def test_waits_only_for_what_comes_at_once_and_never_with_all_threads() -> None:
    worker: Any = object.__new__(LongPollWorker)
    worker.alive, worker._may_wait, worker.tpool = True, threading.Semaphore(1), Threads(1)
    near, far = socket.socketpair()
    with near, far:
        conn = SimpleNamespace(
            sock=near, is_http2=False, parser=SimpleNamespace(unreader=SimpleNamespace(buf=BytesIO()))
        )
        assert not worker._comes_soon(conn), "its client says nothing"
        far.send(b"GET / HTTP/1.1\r\n\r\n")
        assert worker._comes_soon(conn)
        assert worker._comes_soon(conn), "the permit to wait came back"
        worker._may_wait.acquire()
        assert not worker._comes_soon(conn), "as many threads wait as may"
        worker._may_wait.release()
        first, second = threading.Event(), worker.tpool.submit(lambda: None)
        second.result(PATIENCE_S)
        running = worker.tpool.submit(first.wait, 60)
        queued = worker.tpool.submit(lambda: None)
        assert not worker._comes_soon(conn), "somebody waits for a thread"
        first.set()
        running.result(PATIENCE_S)
        queued.result(PATIENCE_S)
        assert worker._comes_soon(conn)
        conn.is_http2 = True
        assert not worker._comes_soon(conn)
        conn.is_http2, worker.alive = False, False
        assert not worker._comes_soon(conn), "a worker that stops lets the loop end its connections"
        near.recv(100)
        worker.alive = True
        conn.parser.unreader.buf.write(b"GET / HTTP/1.1\r\n\r\n")
        assert worker._comes_soon(conn), "the request was read together with the last one"
    worker.tpool.shutdown()
