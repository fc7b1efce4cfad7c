"""A secret is given up only when the next one has worked; wherever an agent dies, one on its disk opens the door."""

import json
import os
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from computeagent.protocol.conductor import Conductor
from computeagent.protocol.refusals import DoorRefused
from computeagent.protocol.wire import encode, secret_digest
from computeagent.transport.address import ControlPlaneAddress
from computeagent.transport.http_conductor import enrol, http_conductor
from computeagent.transport.secret_file import SecretFile
from controlplane.audit_log.models import AuditLogEntry
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import KilonovaError, Unavailable
from servers.agent_api.credentials import credential_revoke, credential_set, enrolment_create
from servers.models import AgentCredential
from tests.worlds import agents
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

AGENT = str(uuid.uuid4())
OVERDUE_S = 40 * 86400.0


@pytest.fixture
def address(live_server: Any) -> ControlPlaneAddress:
    return ControlPlaneAddress(live_server.url)


@pytest.fixture
def secret(address: ControlPlaneAddress, tmp_path: Path) -> SecretFile:
    """That of h1, enrolled long ago."""
    world.cloud("h1")
    made = SecretFile(tmp_path)
    enrol(address, made, host="h1", token=enrolment_create(host="h1").token)
    overdue(tmp_path)
    return made


def overdue(state_dir: Path) -> None:
    path = state_dir / "secret"
    os.utime(path, (path.stat().st_atime - OVERDUE_S, path.stat().st_mtime - OVERDUE_S))


def owns(address: ControlPlaneAddress, secret: SecretFile) -> Conductor:
    """As an agent that begins: what it does first."""
    conductor = http_conductor(address, secret)
    conductor.host_own(host="h1", agent_id=AGENT, guests=[])
    return conductor


def known(digest: str, previous: str = "") -> None:
    """What the control plane holds of h1, the hour of the one before not over."""
    AgentCredential.objects.update(digest=digest, previous_digest=previous, previous_until=now_plus(60))


@contextmanager
def stranger(status: int, body: bytes) -> Iterator[ControlPlaneAddress]:
    """Something at the address that answers every request with this."""

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield ControlPlaneAddress(f"http://127.0.0.1:{server.server_port}")
    server.shutdown()
    server.server_close()


def refusal(code: str) -> bytes:
    return json.dumps({"error": {"code": code, "message": f"No: {code}.", "field": None}}).encode()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (409, refusal("incompatible")),
        (403, refusal("secret_refused")),
        (403, refusal("forbidden")),
        (404, refusal("not_found")),
        (500, refusal("internal")),
        (200, b"<html>Welcome to this hotel. Log in to use the network.</html>"),
        (502, b"bad gateway"),
    ],
)
def test_secret_outlives_whatever_refuses_it(
    address: ControlPlaneAddress, secret: SecretFile, status: int, body: bytes
) -> None:
    before = secret.read()
    with stranger(status, body) as other:
        for _ in range(2):
            with pytest.raises(KilonovaError):
                owns(other, secret)
    assert secret.read() == before
    assert not owns(address, secret).heartbeat(host="h1").disabled
    assert secret.read() != before, "the rotation that was due has come through"


def test_token_is_traded_with_a_control_plane_alone(address: ControlPlaneAddress, secret: SecretFile) -> None:
    before = secret.read()
    with stranger(200, b"<html>Welcome</html>") as other, pytest.raises(Unavailable, match="not by the control plane"):
        enrol(other, secret, host="h1", token="kn_one")
    assert secret.read() == before


Death = Callable[[SecretFile, Path], None]


def _asked_not_heard(secret: SecretFile, state: Path) -> None:
    secret.next_secret()


def _taken_not_told(secret: SecretFile, state: Path) -> None:
    known(secret_digest(secret.next_secret()), secret_digest(str(secret.read())))


def _taken_long_ago(secret: SecretFile, state: Path) -> None:
    _taken_not_told(secret, state)
    AgentCredential.objects.update(previous_until=now_plus(-1))


def _about_to_replace(secret: SecretFile, state: Path) -> None:
    _taken_long_ago(secret, state)
    os.link(state / "secret", state / "secret.previous")


def _half_written(secret: SecretFile, state: Path) -> None:
    (state / "secret.next.part").write_text("kna_ha")


@pytest.mark.parametrize(
    "death", [_asked_not_heard, _taken_not_told, _taken_long_ago, _about_to_replace, _half_written]
)
def test_agent_killed_anywhere_in_a_rotation_comes_in_again(
    address: ControlPlaneAddress, secret: SecretFile, tmp_path: Path, death: Death
) -> None:
    before = secret.read()
    death(secret, tmp_path)
    assert not owns(address, secret).heartbeat(host="h1").disabled
    after = str(secret.read())
    assert after != before
    assert (secret.waiting(), AgentCredential.objects.get().digest) == (None, secret_digest(after))
    assert sorted(path.name for path in tmp_path.glob("secret*")) == ["secret", "secret.previous"]
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("secret*")} == {0o600}


def test_database_of_before_the_rotation_learns_the_secret_in_use(
    address: ControlPlaneAddress, secret: SecretFile
) -> None:
    backup = AgentCredential.objects.values("digest", "previous_digest", "previous_until", "rotated_at").get()
    owns(address, secret)
    in_use = secret.read()
    AgentCredential.objects.update(**backup)
    assert not owns(address, secret).heartbeat(host="h1").disabled
    assert secret.read() == in_use
    assert AgentCredential.objects.get().digest == secret_digest(str(in_use))
    rotations = AuditLogEntry.objects.filter(action="host.credential_rotate", target_name="h1")
    assert rotations.count() == 2, "an admin sees that it was let in by an older secret"


def test_running_agent_goes_on_with_a_database_of_before(address: ControlPlaneAddress, secret: SecretFile) -> None:
    backup = AgentCredential.objects.values("digest", "previous_digest", "previous_until", "rotated_at").get()
    conductor = owns(address, secret)
    AgentCredential.objects.update(**backup)
    conductor.host_own(host="h1", agent_id=AGENT, guests=[])
    assert not conductor.heartbeat(host="h1").disabled


def test_previous_secret_is_of_no_use_after_a_revocation(address: ControlPlaneAddress, secret: SecretFile) -> None:
    owns(address, secret)
    credential_revoke(host="h1")
    for _ in range(2):
        with pytest.raises(DoorRefused, match="Enrol the host again"):
            owns(address, secret)
    assert AgentCredential.objects.get().revoked_at is not None


def test_enrolment_leaves_nothing_of_the_secret_before(
    address: ControlPlaneAddress, secret: SecretFile, tmp_path: Path
) -> None:
    owns(address, secret)
    credential_revoke(host="h1")
    enrol(address, secret, host="h1", token=enrolment_create(host="h1").token)
    assert [path.name for path in tmp_path.glob("secret*")] == ["secret"]


def test_agent_that_waits_and_a_person_who_enrols_take_the_same_secret(
    address: ControlPlaneAddress, secret: SecretFile
) -> None:
    """The agent finds the secret of an enrolment that is under way beside it, and takes it into use first."""
    credential_revoke(host="h1")
    following = secret.next_secret()
    credential_set(host="h1", secret_digest=secret_digest(following))
    owns(address, secret)
    assert secret.read() == following
    secret.take(following)
    assert (secret.read(), secret.waiting()) == (following, None)


def test_next_secret_that_is_another_hosts_is_made_anew(address: ControlPlaneAddress, secret: SecretFile) -> None:
    """As where the disk of a hypervisor was copied with a rotation half done."""
    taken = secret.next_secret()
    credential_set(host="h2", secret_digest=secret_digest(taken))
    for _ in range(2):
        assert not owns(address, secret).heartbeat(host="h1").disabled
    assert secret.read() != taken
    assert AgentCredential.objects.get(host="h1").digest == secret_digest(str(secret.read()))


def test_digest_that_is_taken_is_a_conflict(address: ControlPlaneAddress, secret: SecretFile) -> None:
    agent, other = agents.door_agent("h1"), secret_digest("kna_other")
    credential_set(host="h2", secret_digest=other)
    rotated = agent.post("rotate", encode({"secret_digest": other}))
    assert (rotated.status_code, agents.code_of(rotated)) == (409, "secret_taken")
    token = enrolment_create(host="h3").token
    enrolled = agent.post("enrol", encode({"host": "h3", "token": token, "secret_digest": other}))
    assert (enrolled.status_code, agents.code_of(enrolled)) == (409, "secret_taken")
    assert enrolled.json()["error"]["field"] == "secret_digest"
    assert sorted(AgentCredential.objects.values_list("host", flat=True)) == ["h1", "h2"]
