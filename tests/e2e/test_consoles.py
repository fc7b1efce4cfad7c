"""Consoles through `manage.py up`: from a WebSocket like a browser's to a guest and back, whichever process has it."""

from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from tests.fixtures.installation import Installation
from tests.fixtures.migrated import MigratedDatabases
from tests.fixtures.patience import PATIENCE_S
from tests.fixtures.processes import Processes

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def running(module_processes: Processes, migrated: MigratedDatabases) -> Installation:
    state = module_processes.directory / "state"
    return Installation(module_processes, state, driver="fake", hypervisors=1, migrated=migrated).start()


@pytest.fixture(scope="module")
def instance(running: Installation) -> str:
    made = running.create("talker")["id"]
    running.wait_for(lambda: running.call(f"instances/{made}/")["power_state"] == "running")
    return str(made)


def asked(running: Installation, instance: str, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = running.call(f"instances/{instance}/consoles/", {"kind": "serial", **more})
    return answer


def opened(access: dict[str, Any], **options: Any) -> ClientConnection:
    protocols = [Subprotocol("binary"), Subprotocol(f"kilonova.token.{access['token']}")]
    return connect(
        access["stream"], subprotocols=protocols, compression=None, proxy=None, **{"open_timeout": 60.0, **options}
    )


def received(console: ClientConnection, end: bytes) -> bytes:
    data = b""
    while not data.endswith(end):
        data += bytes(console.recv(timeout=PATIENCE_S))  # type: ignore[arg-type]
    return data


def test_what_is_typed_comes_back_from_every_process(running: Installation, instance: str) -> None:
    # Browser and host come to one of two web processes each, as chance has it: all four ways are met soon.
    for number in range(8):
        with opened(asked(running, instance)) as console:
            assert console.subprotocol == "binary"
            assert b"serial of talker" in received(console, b"\n")
            console.send(b"hello %d" % number)
            assert received(console, b"%d" % number) == b"hello %d" % number


def test_token_opens_one_console_once(running: Installation, instance: str) -> None:
    access = asked(running, instance)
    with opened(access) as console:
        received(console, b"\n")
        with pytest.raises(InvalidStatus) as refused:
            opened(access)
        assert refused.value.response.status_code == 403
    with pytest.raises(InvalidStatus):
        opened({**asked(running, instance), "token": "guessed"})


def test_administrator_ends_a_session(running: Installation, instance: str) -> None:
    access = asked(running, instance)
    with opened(access) as console:
        received(console, b"\n")
        running.call(f"consoles/{access['id']}/", method="DELETE")
        with pytest.raises(ConnectionClosed) as closed:
            console.recv(timeout=PATIENCE_S)
        assert closed.value.rcvd is not None
        assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (4001, "Ended by admin.")


def test_session_is_over_when_its_user_leaves(running: Installation, instance: str) -> None:
    access = asked(running, instance)
    with opened(access) as console:
        received(console, b"\n")
    running.wait_for(lambda: running.call(f"consoles/{access['id']}/")["ended_at"] is not None)
    assert running.call(f"consoles/{access['id']}/")["ended_because"] == "Closed by its user."


def test_browser_hears_that_the_agent_went_and_finds_the_next_one(running: Installation, instance: str) -> None:
    with opened(asked(running, instance)) as console:
        received(console, b"\n")
        killed = running.kill_nine("computeagent")
        with pytest.raises(ConnectionClosed) as closed:
            console.recv(timeout=PATIENCE_S)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4002
    running.wait_for(lambda: bool(set(running.pids("computeagent")) - set(killed)))
    with opened(asked(running, instance)) as console:
        assert b"serial of talker" in received(console, b"\n")
