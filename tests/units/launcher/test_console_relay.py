"""The relay between web processes: bytes of a host that came to the wrong one, and who may knock."""

import gc
import secrets
import socket
import time
import uuid

import pytest

from controlplane.launcher.consoles.relay import ConsoleRelay, preface, preface_read
from servers.consoles.places import OpenedConsole

UPGRADE = {
    "Host": "kilonova",
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def test_bytes_are_handed_on_for_as_long_as_both_are_there() -> None:
    name = f"kilonova-test-{secrets.token_hex(4)}"
    ours, theirs = socket.socketpair()
    with socket.socket(socket.AF_UNIX) as holder, ours:
        holder.bind(f"\0{name}")
        holder.listen()
        session = OpenedConsole(uuid.uuid4(), "h1", f"unix:{name}", is_read_only=False)
        ConsoleRelay().take_host(theirs, "/agent/v1/console", UPGRADE, session)
        del theirs
        far, _ = holder.accept()
        with far:
            far.settimeout(60)
            ours.settimeout(60)
            assert preface_read(far.recv(300), session.holder) == session.session_id
            assert ours.recv(1000).startswith(b"HTTP/1.1 101 ")
            gc.collect()  # nobody else holds what waits here
            time.sleep(0.05)
            ours.sendall(b"from the host")
            assert far.recv(100) == b"from the host"
            far.sendall(b"to the host")
            assert ours.recv(100) == b"to the host"
        assert ours.recv(100) == b""


@pytest.mark.parametrize("spoilt", [b"", b"\xff\xfe\n", b"a b c\n", b"a b\n"])
def test_what_is_no_preface_names_nothing(spoilt: bytes) -> None:
    assert preface_read(spoilt, "unix:here") is None


def test_preface_is_for_one_process_and_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    session = uuid.uuid4()
    line = preface(session, "unix:here")
    assert preface_read(line, "unix:here") == session
    assert preface_read(line, "unix:there") is None
    assert preface_read(line.replace(str(session).encode(), str(uuid.uuid4()).encode()), "unix:here") is None
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 60)
    assert preface_read(line, "unix:here") is None
