"""A real server on loopback: what it may send, where it may send us to, and how long it may take."""

import contextlib
import os
import socket

import pytest

from controlplane.kernel.errors import Invalid, Unavailable
from servers.images.domain.remote_sources import SourceRules
from servers.images.remote import fetch
from servers.images.remote.fetch import CutOff, FetchLimits, RemoteFile
from tests.fixtures.file_server import file_server

LIMITS = FetchLimits(deadline_s=20, slow_s=20)


@pytest.fixture
def server():
    with file_server() as found:
        yield found


def rules(server, **changes) -> SourceRules:
    fields = {"schemes": ("http",), "hosts": (), "ports": (server.port,), "networks": ("127.0.0.0/8",), **changes}
    return SourceRules(**fields)


def fetched(server, url: str, *, limits: FetchLimits = LIMITS, **changes) -> bytes:
    with contextlib.closing(RemoteFile(url, rules(server, **changes), limits)) as remote:
        remote.open()
        return b"".join(iter(lambda: remote.read(65536), b""))


def test_file_comes_whole_with_its_length(server):
    data = os.urandom(300_000)
    url = server.file("/a", data)
    with contextlib.closing(RemoteFile(url, rules(server), LIMITS)) as remote:
        remote.open()
        assert remote.total_bytes == len(data)
        assert b"".join(iter(lambda: remote.read(65536), b"")) == data


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"])
def test_loopback_is_refused_however_it_is_written_and_nothing_is_sent(server, host):
    server.file("/a", b"x")
    with pytest.raises((Invalid, Unavailable)) as refused:
        fetched(server, server.url("/a", host), networks=())
    assert server.asked == []
    assert host != "localhost" or "127.0.0.1" not in refused.value.message


def test_name_is_looked_up_once_and_its_checked_address_is_connected_to(server, monkeypatch):
    """A name that answers with a public address first and with loopback then (DNS rebinding) leads nowhere new."""
    looked_up, real = [], socket.getaddrinfo

    def answers(host, port, *args, **kwargs):
        if host != "rebinding.example":
            return real(host, port, *args, **kwargs)
        looked_up.append(host)
        address = "127.0.0.1" if len(looked_up) == 1 else "127.0.0.2"
        return real(address, port, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", answers)
    server.file("/a", b"data")
    url = server.url("/a", "rebinding.example")
    assert fetched(server, url, networks=("127.0.0.1",)) == b"data"
    assert looked_up == ["rebinding.example"]
    assert server.hosts == [f"rebinding.example:{server.port}"]
    with pytest.raises(Invalid, match="has no public address"):
        fetched(server, url, networks=("127.0.0.1",))


def test_redirects_are_followed_and_each_is_held_to_the_rules(server):
    server.file("/b", b"data")
    assert fetched(server, server.redirect("/a", "/b")) == b"data"
    with pytest.raises(Invalid, match="Begins with 'file'"):
        fetched(server, server.redirect("/file", "file:///etc/passwd"))
    with pytest.raises(Invalid, match="Names port 1"):
        fetched(server, server.redirect("/port", "http://127.0.0.1:1/"))
    with pytest.raises(Invalid, match="Is of host 127"):
        fetched(server, server.redirect("/host", f"http://127.0.0.2:{server.port}/b"), hosts=("127.0.0.1",))
    with pytest.raises(Invalid, match="no public address"):
        away = server.redirect("/metadata", f"http://169.254.169.254:{server.port}/latest")
        fetched(server, away)
    with pytest.raises(Invalid, match="more than 5 times"):
        fetched(server, server.redirect("/round", "/round"))


def test_answers_that_are_no_file_are_told_apart_by_whether_they_may_pass(server):
    with pytest.raises(Invalid, match="status 403"):
        fetched(server, server.status("/a", 403))
    with pytest.raises(Unavailable, match="status 503"):
        fetched(server, server.status("/b", 503))
    with pytest.raises(Unavailable, match="cannot be reached"), socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
        fetched(server, f"http://127.0.0.1:{port}/", ports=(port,))


def test_encoding_that_nobody_asked_for_is_refused(server):
    def answer(request):
        request.send_response(200)
        request.send_header("Content-Encoding", "gzip")
        request.send_header("Content-Length", "3")
        request.end_headers()
        request.wfile.write(b"abc")

    server.answers["/a"] = answer
    with pytest.raises(Invalid, match="encoding"):
        fetched(server, server.url("/a"))


def test_cut_connection_is_gone_on_with_where_the_server_lets_it(server):
    data = os.urandom(200_000)
    url = server.file("/a", data, cut_after=70_000, etag='"1"')
    assert fetched(server, url) == data
    assert [asked for _, asked in server.asked] == ["", "bytes=70000-"]


def test_cut_connection_without_a_mark_of_the_file_is_an_error_and_not_the_end(server):
    with pytest.raises(CutOff, match="cut off after 10 bytes"):
        fetched(server, server.file("/a", b"x" * 1000, cut_after=10))


def test_server_that_drips_is_cut_off(server, monkeypatch):
    monkeypatch.setattr(fetch, "HEAD_S", 0.5)
    with pytest.raises(CutOff, match="did not answer within"):
        fetched(server, server.drip("/head", head=True))
    with pytest.raises(CutOff, match="too slow"):
        fetched(server, server.drip("/body"), limits=FetchLimits(deadline_s=20, slow_s=0.5))
    with pytest.raises(Invalid, match="did not come within"):
        fetched(server, server.drip("/body"), limits=FetchLimits(deadline_s=0.5, slow_s=20))


def test_url_of_a_message_has_no_query(server):
    server.status("/a", 404)
    with pytest.raises(Invalid) as refused:
        fetched(server, server.url("/a?signature=secret"))
    assert "secret" not in refused.value.message
    assert server.asked == [("/a?signature=secret", "")]
