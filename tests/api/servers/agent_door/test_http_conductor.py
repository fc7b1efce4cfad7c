"""The agent's end of the door over real sockets: enrolment, errors as exceptions, cuts, rotation, versions."""

import dataclasses
import hashlib
import io
import os
import socket
import threading
import uuid
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from computeagent.daemon.program import conductor_of_arguments
from computeagent.protocol.conductor import Conductor
from computeagent.protocol.guests import GuestCounters
from computeagent.protocol.refusals import DoorRefused
from computeagent.protocol.wire import secret_digest, verbs
from computeagent.transport.address import ControlPlaneAddress
from computeagent.transport.http_conductor import HttpConductor, enrol, http_conductor
from computeagent.transport.secret_file import SecretFile
from computeagent.transport.secret_rotation import ROTATE_AFTER_S
from controlplane.kernel.errors import Conflict, Fenced, Forbidden, Invalid, NotFound, Unavailable
from servers.agent_api.credentials import credential_revoke, enrolment_create
from servers.images.downloads import agent_downloads
from servers.images.services.image_store import image_upload
from servers.models import AgentCredential, AgentEnrolment, GuestCounterChunk, Image, Instance
from tests.fixtures.patience import eventually
from tests.fixtures.s3_server import S3Server
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

AGENT = str(uuid.uuid4())


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1")


@pytest.fixture
def address(live_server: Any) -> ControlPlaneAddress:
    return ControlPlaneAddress(live_server.url)


@pytest.fixture
def secret(tmp_path: Path) -> SecretFile:
    return SecretFile(tmp_path)


@pytest.fixture
def conductor(who: world.People, address: ControlPlaneAddress, secret: SecretFile) -> Conductor:
    enrol(address, secret, host="h1", token=enrolment_create(host="h1").token)
    made = http_conductor(address, secret)
    made.host_own(host="h1", agent_id=AGENT, guests=[])
    return made


def test_enrolled_agent_builds(who: world.People, conductor: Conductor) -> None:
    (made,) = world.create(who.member)
    world.pump()
    (wakeup,) = conductor.wakeups(host="h1", timeout_s=5.0)
    order = conductor.take(host="h1", work_id=wakeup.work_id, owner="h1:1")
    assert order is not None
    assert order.guest.uuid == str(made.pk)
    conductor.build_done(lease=order.lease, facts=world.RUNNING)
    assert Instance.objects.get(pk=made.pk).vm_state == "active"
    with pytest.raises(Fenced):
        conductor.renew(lease=order.lease)


def test_errors_are_the_same_exceptions(conductor: Conductor) -> None:
    with pytest.raises(Forbidden, match="says nothing about host h2"):
        conductor.heartbeat(host="h2")
    with pytest.raises(Invalid, match="Expected `str`"):
        conductor.heartbeat(host=1)  # type: ignore[arg-type]
    with pytest.raises(Conflict, match="served by the agent"):
        conductor.host_own(host="h1", agent_id=str(uuid.uuid4()), guests=[])


def test_host_that_is_not_registered_is_not_found(
    who: world.People, address: ControlPlaneAddress, secret: SecretFile
) -> None:
    enrol(address, secret, host="new", token=enrolment_create(host="new").token)
    conductor = http_conductor(address, secret)
    conductor.host_own(host="new", agent_id=AGENT, guests=[])
    with pytest.raises(NotFound):
        conductor.heartbeat(host="new")


def test_secret_is_for_its_owner_alone_and_known_by_hash(conductor: Conductor, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    text = path.read_text().strip()
    assert path.stat().st_mode & 0o777 == 0o600
    row = AgentCredential.objects.get(host="h1")
    assert row.digest == secret_digest(text)
    assert all(text not in str(value) for value in vars(row).values())


def test_token_is_for_one_host_and_one_secret(who: world.People, address: ControlPlaneAddress, tmp_path: Path) -> None:
    token = enrolment_create(host="h1").token
    with pytest.raises(Forbidden, match="does not enrol host h2"):
        enrol(address, SecretFile(tmp_path / "thief"), host="h2", token=token)
    mine = SecretFile(tmp_path / "mine")
    enrol(address, mine, host="h1", token=token)
    with pytest.raises(Forbidden, match="does not enrol host h1"):
        enrol(address, SecretFile(tmp_path / "late"), host="h1", token=token)
    with pytest.raises(Forbidden):
        enrol(address, SecretFile(tmp_path / "none"), host="h1", token="kn_nonsense")
    assert AgentCredential.objects.get().digest == secret_digest(str(mine.read()))


def test_enrolment_whose_answer_was_lost_is_asked_for_again(
    who: world.People, address: ControlPlaneAddress, secret: SecretFile
) -> None:
    token = enrolment_create(host="h1").token
    enrol(address, secret, host="h1", token=token)
    current = secret.read()
    # As if the agent had died before it heard the answer.
    os.rename(secret._current, secret._next)
    enrol(address, secret, host="h1", token=token)
    assert secret.read() == current


def test_same_command_again_changes_nothing(
    who: world.People, address: ControlPlaneAddress, secret: SecretFile
) -> None:
    token = enrolment_create(host="h1").token
    enrol(address, secret, host="h1", token=token)
    current = secret.read()
    enrol(address, secret, host="h1", token=token)
    assert (secret.read(), secret.waiting()) == (current, None)
    assert AgentCredential.objects.get().digest == secret_digest(str(current))
    with pytest.raises(Forbidden, match="does not enrol host h2"):
        enrol(address, secret, host="h2", token=token)
    credential_revoke(host="h1")
    with pytest.raises(Forbidden, match="does not enrol host h1"):
        enrol(address, secret, host="h1", token=token)


def test_command_of_a_machine_that_was_replaced_does_not_let_it_in_again(
    who: world.People, address: ControlPlaneAddress, tmp_path: Path
) -> None:
    """A token that lives for an hour gives the secret of its own trade again, but not over that of a later one."""
    first, second = SecretFile(tmp_path / "first"), SecretFile(tmp_path / "second")
    token, later = enrolment_create(host="h1").token, enrolment_create(host="h1").token
    enrol(address, first, host="h1", token=token)
    enrol(address, first, host="h1", token=token)
    enrol(address, second, host="h1", token=later)
    with pytest.raises(Forbidden, match="does not enrol host h1"):
        enrol(address, first, host="h1", token=token)
    assert AgentCredential.objects.get().digest == secret_digest(str(second.read()))
    enrol(address, second, host="h1", token=later)


def test_token_that_is_refused_leaves_no_secret_that_waits(
    who: world.People, address: ControlPlaneAddress, secret: SecretFile
) -> None:
    """One would be taken for a rotation that was cut, and each start with a used token would rotate."""
    token = enrolment_create(host="h1").token
    enrol(address, secret, host="h1", token=token)
    with pytest.raises(Forbidden):
        enrol(address, secret, host="h1", token="kn_nonsense")
    assert secret.waiting() is None
    begun = secret.next_secret()
    with pytest.raises(Forbidden):
        enrol(address, secret, host="h1", token="kn_nonsense")
    assert secret.waiting() == begun, "what a cut rotation left is not this token's to end"


def test_expired_token_enrols_nobody(who: world.People, address: ControlPlaneAddress, secret: SecretFile) -> None:
    token = enrolment_create(host="h1").token
    AgentEnrolment.objects.update(expires_at="2020-01-01T00:00:00Z")
    with pytest.raises(Forbidden, match="older than an hour"):
        enrol(address, secret, host="h1", token=token)
    assert secret.read() is None


def test_revoked_agent_is_refused_and_may_enrol_again(
    conductor: Conductor, address: ControlPlaneAddress, secret: SecretFile
) -> None:
    credential_revoke(host="h1")
    with pytest.raises(DoorRefused, match="Enrol the host again"):
        conductor.heartbeat(host="h1")
    enrol(address, secret, host="h1", token=enrolment_create(host="h1").token)
    conductor.host_own(host="h1", agent_id=AGENT, guests=[])
    assert not conductor.heartbeat(host="h1").disabled


def test_used_token_does_not_bring_a_revoked_secret_back(
    who: world.People, address: ControlPlaneAddress, secret: SecretFile
) -> None:
    token = enrolment_create(host="h1").token
    enrol(address, secret, host="h1", token=token)
    credential_revoke(host="h1")
    os.rename(secret._current, secret._next)
    with pytest.raises(Forbidden):
        enrol(address, secret, host="h1", token=token)
    assert AgentCredential.objects.get().revoked_at is not None


def test_token_is_used_where_a_revoked_secret_lies(
    conductor: Conductor, address: ControlPlaneAddress, secret: SecretFile, tmp_path: Path
) -> None:
    credential_revoke(host="h1")
    again = Namespace(
        control_plane=address.url, ca_file="", cert_file="", key_file="", state=tmp_path, host="h1", enrol_token="",
    )  # fmt: skip
    again.enrol_token = enrolment_create(host="h1").token
    for _ in range(2):  # the second start has the same command, whose token is used up
        started = conductor_of_arguments(again, lambda _: None)
        started.host_own(host="h1", agent_id=AGENT, guests=[])
        assert not started.heartbeat(host="h1").disabled


def test_old_secret_is_rotated_with_a_heartbeat(conductor: Conductor, secret: SecretFile) -> None:
    before = secret.read()
    age(secret, ROTATE_AFTER_S + 60)
    conductor.host_own(host="h1", agent_id=AGENT, guests=[])
    after = secret.read()
    assert after not in {before, None}
    assert AgentCredential.objects.get().digest == secret_digest(str(after))
    assert secret.age_s() < 60
    conductor.host_own(host="h1", agent_id=AGENT, guests=[])
    assert secret.read() == after


def test_secret_of_a_clock_that_was_ahead_is_rotated_a_month_after_the_clock_was_put_right(
    conductor: Conductor, secret: SecretFile
) -> None:
    before = secret.read()
    age(secret, -10 * 365 * 86400.0)
    conductor.host_own(host="h1", agent_id=AGENT, guests=[])
    assert secret.read() == before
    age(secret, ROTATE_AFTER_S + 60)
    conductor.host_own(host="h1", agent_id=AGENT, guests=[])
    assert secret.read() not in {before, None}


def test_rotation_whose_answer_was_lost_is_ended(conductor: Conductor, secret: SecretFile) -> None:
    before = str(secret.read())
    waiting = secret.next_secret()
    AgentCredential.objects.update(digest=secret_digest(waiting), previous_digest=secret_digest(before))
    with pytest.raises(DoorRefused):  # the hour is over, so only the next secret is left
        conductor.waiting_work(host="h1")
    conductor.heartbeat(host="h1")
    assert (secret.read(), secret.waiting()) == (waiting, None)


def age(secret: SecretFile, seconds: float) -> None:
    stat = secret._current.stat()
    os.utime(secret._current, (stat.st_atime - seconds, stat.st_mtime - seconds))


def test_image_comes_whole_and_from_an_offset(
    who: world.People, conductor: Conductor, settings: Any, tmp_path: Path
) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    data, lease = leased_image(who, conductor)
    assert b"".join(conductor.image_chunks(lease=lease)) == data
    assert b"".join(conductor.image_chunks(lease=lease, offset=3_000_000)) == data[3_000_000:]
    assert b"".join(conductor.image_chunks(lease=lease, offset=len(data))) == b""


def leased_image(who: world.People, conductor: Conductor, size: int = 5 * 2**20) -> tuple[bytes, Any]:
    data = os.urandom(size)
    image = Image.objects.create(name="big", visibility="public", disk_format="raw", project_id=who.admin.project_id)
    image_upload(
        caller=who.admin,
        image_id=image.pk,
        stream=io.BytesIO(data),
        expected_sha256=hashlib.sha256(data).hexdigest(),
    )
    world.create(who.member, image="big")
    world.pump()
    (wakeup,) = conductor.waiting_work(host="h1")
    order = conductor.take(host="h1", work_id=wakeup.work_id, owner="h1:1")
    assert order is not None
    return data, order.lease


@contextmanager
def cutting_proxy(target: ControlPlaneAddress, limit: Callable[[int], int | None]) -> Iterator[ControlPlaneAddress]:
    """Passes connections on; the n-th one is cut once so many bytes came back (None: never, 0: before any)."""
    host, _, port = target.url.removeprefix("http://").partition(":")
    listener = socket.create_server(("127.0.0.1", 0))
    count = iter(range(1_000_000))

    def pump(source: socket.socket, sink: socket.socket, left: int | None) -> None:
        try:
            # It is cut once the answer began to come: what was asked for has taken effect by then.
            while data := source.recv(65536):
                sink.sendall(data if left is None else data[:left])
                left = None if left is None else left - len(data)
                if left is not None and left <= 0:
                    break
        except OSError:
            pass
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.create_connection((host, int(port)))
            threading.Thread(target=pump, args=(client, server, None), daemon=True).start()
            threading.Thread(target=pump, args=(server, client, limit(next(count))), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield ControlPlaneAddress(f"http://127.0.0.1:{listener.getsockname()[1]}")
    listener.close()


def test_image_is_resumed_after_cuts(
    who: world.People,
    conductor: Conductor,
    address: ControlPlaneAddress,
    secret: SecretFile,
    settings: Any,
    tmp_path: Path,
) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    assert_resumes_after_cuts(who, conductor, address, secret)


@pytest.mark.processes
@pytest.mark.long
def test_image_in_an_s3_store_is_resumed_after_cuts(
    who: world.People,
    conductor: Conductor,
    address: ControlPlaneAddress,
    secret: SecretFile,
    settings: Any,
    s3_server: S3Server,
) -> None:
    settings.KILONOVA = {**settings.KILONOVA, **s3_server.settings(f"{uuid.uuid4()}/")}
    assert_resumes_after_cuts(who, conductor, address, secret)


def assert_resumes_after_cuts(
    who: world.People, conductor: Conductor, address: ControlPlaneAddress, secret: SecretFile
) -> None:
    data, lease = leased_image(who, conductor)
    asked: list[int] = []

    def limit(number: int) -> int | None:
        asked.append(number)
        return (None, 1_500_000, 1_200_000)[number] if number < 3 else None

    with cutting_proxy(address, limit) as cut:
        other = http_conductor(cut, secret)
        other.host_own(host="h1", agent_id=AGENT, guests=[])
        # Each cut is a connection more, which goes on where the one before ended.
        other._pool.clear()  # type: ignore[attr-defined]
        assert b"".join(other.image_chunks(lease=lease)) == data
    assert len(asked) >= 4


def test_host_that_reads_too_many_images_at_once_is_told_when_to_ask_again(
    who: world.People, conductor: Conductor, settings: Any, tmp_path: Path
) -> None:
    names = {"IMAGE_DIR": tmp_path / "images", "IMAGE_DOWNLOADS_EACH": 1}
    settings.KILONOVA = {**settings.KILONOVA, **names}
    data, lease = leased_image(who, conductor, size=32 * 2**20)
    first = conductor.image_chunks(lease=lease)
    assert next(first)
    with pytest.raises(Unavailable, match="1 downloads of images go there already") as refused:
        conductor.image_chunks(lease=lease)
    assert refused.value.extra == {"wait_s": 3.0}
    assert sum(map(len, first)) > 0
    eventually(lambda: not agent_downloads().taken(), "the place is given back")
    assert b"".join(conductor.image_chunks(lease=lease)) == data


def test_lost_answer_is_unavailable_and_asking_again_has_one_effect(
    who: world.People, conductor: Conductor, address: ControlPlaneAddress, secret: SecretFile
) -> None:
    world.create(who.member)
    world.pump()
    (wakeup,) = conductor.waiting_work(host="h1")
    order = conductor.take(host="h1", work_id=wakeup.work_id, owner="h1:1")
    assert order is not None
    with cutting_proxy(address, lambda number: 0 if number == 1 else None) as cut:
        other = http_conductor(cut, secret)
        other.host_own(host="h1", agent_id=AGENT, guests=[])
        other._pool.clear()  # type: ignore[attr-defined]
        with pytest.raises(Unavailable):
            other.build_done(lease=order.lease, facts=world.RUNNING)
        with pytest.raises(Fenced):  # it took effect: the work is over, and nothing is done twice
            other.build_done(lease=order.lease, facts=world.RUNNING)
    assert Instance.objects.get(pk=order.guest.uuid).vm_state == "active"


def test_nobody_there_is_unavailable(secret: SecretFile) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(Unavailable, match="does not answer"):
        http_conductor(ControlPlaneAddress(f"http://127.0.0.1:{port}"), secret).heartbeat(host="h1")


@pytest.mark.parametrize(
    "url", ["", "cloud", "ftp://cloud", "https://", "https://root:pw@cloud", "https://cloud?x=1", "https://cloud#x"]
)
def test_addresses_that_are_none_are_refused(url: str) -> None:
    with pytest.raises(Invalid):
        ControlPlaneAddress(url)


def test_verb_that_an_older_control_plane_lacks_is_not_found(conductor: Conductor) -> None:
    newer = dataclasses.replace(verbs()["guest_counters"], name="verb_of_a_later_release")
    assert isinstance(conductor, HttpConductor)
    with pytest.raises(NotFound, match="There is no verb 'verb_of_a_later_release' here"):
        conductor.ask(newer, b'{"host": "h1", "counters": {}}')


def test_counters_come_through_the_door(who: world.People, conductor: Conductor) -> None:
    instance = world.active(who.member)
    stranger = uuid.uuid4()
    conductor.guest_counters(
        host="h1", counters={str(instance.pk): GuestCounters(cpu_ns=1), str(stranger): GuestCounters(cpu_ns=1)}
    )
    assert set(GuestCounterChunk.objects.values_list("instance_uuid", flat=True)) == {instance.pk}


def test_no_token_is_made_for_a_host_that_differs_from_another_in_capitals_alone() -> None:
    world.cloud("HV-1")
    with pytest.raises(Conflict, match="HV-1 already"):
        enrolment_create(host="hv-1")
