"""What the tests' browser does not mind."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest
from playwright.sync_api import Browser

pytestmark = pytest.mark.browser
ADDRESSES = [f"192.0.0.{number}/32" for number in range(11, 41)]
"""Reserved for protocols (RFC 6890): no network of a test or of an installation beside has them."""
ASKS = "url => { window.answer = fetch(url, {mode: 'no-cors'}).then(() => 'answered', String); }"
WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


@contextmanager
def full(server: socket.socket) -> Iterator[None]:
    """Others wait for it, so that who connects meanwhile has to wait."""
    with ExitStack() as ends:
        for _ in range(3):
            waits = ends.enter_context(socket.socket())
            waits.setblocking(False)
            waits.connect_ex(server.getsockname())
        yield


def an_interface_comes_and_goes() -> None:
    name = f"kn-{os.getpid()}"
    subprocess.run(["ip", "link", "add", name, "up", "type", "bridge"], check=True)
    try:
        for address in ADDRESSES:
            subprocess.run(["ip", "address", "add", address, "dev", name], check=True)
    finally:
        subprocess.run(["ip", "link", "delete", name], check=True)


def answer_all(server: socket.socket) -> None:
    """Answer whoever asks, until the server is closed."""
    with suppress(OSError):
        while True:
            connection, _ = server.accept()
            with connection:
                if connection.recv(4096):
                    connection.sendall(WHOLE)


@pytest.mark.skipif(os.geteuid() != 0, reason="Only root makes interfaces.")
def test_request_outlives_an_interface_that_comes_and_goes(chromium: Browser) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        page = chromium.new_page()
        with full(server):
            page.evaluate(ASKS, f"http://127.0.0.1:{server.getsockname()[1]}/")
            an_interface_comes_and_goes()
        threading.Thread(target=answer_all, args=(server,), daemon=True).start()
        assert page.evaluate("window.answer") == "answered"
        page.close()
