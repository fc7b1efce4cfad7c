"""Clients that say nothing, or too little, or too much before a request is whole; and too many of them."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.fixtures.asgi import AsgiServer, asgi_server, said
from tests.fixtures.patience import eventually

HEAD = b"GET / HTTP/1.1\r\nHost: here\r\n"


async def hello(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await said(send, b"hello")


@pytest.fixture
def impatient(settings: Any) -> Iterator[AsgiServer]:
    """A head may take a second."""
    settings.KILONOVA = {**settings.KILONOVA, "WEB_HEAD_TIMEOUT_S": 1.0}
    with asgi_server(hello) as server:
        yield server


def answered(link: socket.socket) -> bool:
    come = b""
    while not come.endswith(b"hello"):
        part = link.recv(1000)
        if not part:
            return False
        come += part
    return come.startswith(b"HTTP/1.1 200 ")


def is_cut(link: socket.socket) -> bool:
    try:
        return link.recv(1000) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("begun", [b"", b"G", HEAD], ids=["nothing", "a letter", "no end"])
def test_head_that_does_not_become_whole_ends_its_connection(impatient: AsgiServer, begun: bytes) -> None:
    link = impatient.link()
    link.sendall(begun)
    assert is_cut(link)
    eventually(lambda: len(impatient.connections) == 0, "it is counted no more")


def test_second_head_that_does_not_become_whole_ends_its_connection_too(impatient: AsgiServer) -> None:
    link = impatient.link()
    link.sendall(HEAD + b"\r\n")
    assert answered(link)
    link.sendall(HEAD)
    assert is_cut(link)


def test_connection_that_is_kept_may_be_silent_for_longer_than_a_head_takes(impatient: AsgiServer) -> None:
    kept, trickling = impatient.link(), impatient.link()
    kept.sendall(HEAD + b"\r\n")
    assert answered(kept)
    trickling.sendall(b"G")
    assert is_cut(trickling)  # by now a head would have taken too long
    kept.sendall(HEAD + b"\r\n")
    assert answered(kept)


def test_head_without_an_end_is_refused() -> None:
    with asgi_server(hello) as server, server.link() as link:
        link.sendall(HEAD)
        answer = b""
        try:
            while b"\r\n\r\n" not in answer:
                link.sendall(b"X-More: " + b"x" * 8000 + b"\r\n")
                link.setblocking(False)
                with suppress(BlockingIOError):
                    answer += link.recv(1000)
                link.setblocking(True)
        except ConnectionError:
            return  # closed before the answer was read, which TCP may do
        assert answer.startswith(b"HTTP/1.1 431 ")


def test_of_too_many_idle_ones_of_an_address_the_oldest_goes(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "WEB_IDLE_CONNECTIONS_EACH": 16}
    with asgi_server(hello) as server:
        links = []
        for _ in range(16):
            links.append(server.link())
            eventually(lambda: len(server.connections) == len(links), "it is seen")
        busy = links.pop(5)
        busy.sendall(HEAD + b"\r\n")
        assert answered(busy)  # and so it is the youngest idle one
        newest = server.link()
        assert is_cut(links[0])
        for link in (busy, newest, *links[1:]):
            link.sendall(HEAD + b"\r\n")
            assert answered(link)


def test_full_process_lets_the_longest_idle_go_and_serves_the_newest() -> None:
    with asgi_server(hello, maximum=20) as server:
        links = []
        for number in range(20):
            links.append(server.link())
            eventually(lambda many=number + 1: len(server.connections) == many, "it is seen")
        newest = server.link()
        assert is_cut(links[0])
        newest.sendall(HEAD + b"\r\n")
        assert answered(newest)
        assert len(server.connections) == 20


def test_what_is_sent_in_small_pieces_does_not_wait_to_be_acknowledged() -> None:
    async def tells(scope: Any, receive: Any, send: Any) -> None:
        sock = scope["state"]["connection"].transport.get_extra_info("socket")
        await said(send, str(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)).encode())

    with asgi_server(tells) as server:
        assert server.ask() == (200, b"1")
