"""Work on volumes over HTTP, and what a stolen secret reaches of them: what its own host's work and guests name."""

import dataclasses
import uuid
from typing import Any

import pytest

from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volume_work import VolumeOrder
from computeagent.protocol.volumes import PoolKind, PoolReport, VolumeFacts, VolumesOnHost
from computeagent.protocol.work import AgentLease
from servers.models import PoolSighting, StoragePool, Volume, VolumeAttachment
from servers.volumes.domain.states import VolumeState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.services.keys import volume_key_make, volume_key_open
from servers.volumes.services.volumes import volume_create
from tests.worlds import agents
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

GIB = 2**30


def pool_of(name: str, **more: Any) -> PoolReport:
    return PoolReport(name, PoolKind.FILE, total_bytes=50 * GIB, free_bytes=50 * GIB, **more)


@pytest.fixture
def who() -> world.People:
    people = world.cloud("h1", "h2")
    for host in ("h1", "h2"):
        own = pool_of("local", identity=host)
        world.host(host, pools=(own, pool_of("nfs", identity="n", is_shared=True)))
    return people


def victims_volume(who: world.People) -> Volume:
    """A volume in host h2's own pool, whose making waits for it."""
    pool = StoragePool.objects.get(name="local", host="h2")
    return volume_create(caller=who.admin, request=VolumeRequest(size_gib=1, pool=str(pool.pk)))


def taken(agent: agents.DoorAgent) -> VolumeOrder:
    """The next work on a volume of this agent's host."""
    (work_id,) = agent.tell("volume_work", host=agent.host)
    order = agent.tell("volume_take", host=agent.host, work_id=work_id, owner=f"{agent.host}:1", token="a")
    assert isinstance(order, VolumeOrder)
    return order


def lease_verbs(lease: AgentLease) -> dict[str, dict[str, Any]]:
    return {
        "renew": {"lease": lease},
        "volume_progress": {"lease": lease, "done_bytes": 1, "total_bytes": 2},
        "volume_done": {"lease": lease, "facts": VolumeFacts()},
        "volume_failed": {"lease": lease, "message": "stolen", "failure_class": FailureClass.USER},
        "volume_made": {"lease": lease, "volume_id": str(uuid.uuid4()), "facts": VolumeFacts()},
        "image_chunks": {"lease": lease},
        "give_back": {"lease": lease, "reason": "stolen"},
    }


def test_volume_by_the_door_is_there(who: world.People) -> None:
    volume = victims_volume(who)
    agent = agents.door_agent("h2")
    order = taken(agent)
    assert (order.volume.id, order.volume.pool, order.volume.size_gib) == (str(volume.pk), "local", 1)
    agent.tell("renew", lease=order.lease)
    agent.tell("volume_progress", lease=order.lease, done_bytes=1, total_bytes=2)
    agent.tell("volume_done", lease=order.lease, facts=VolumeFacts(location={"path": "x"}, used_bytes=7))
    volume.refresh_from_db()
    assert (volume.state, volume.location, volume.used_bytes) == (VolumeState.AVAILABLE, {"path": "x"}, 7)
    for verb, arguments in lease_verbs(order.lease).items():
        assert agents.code_of(agent.ask(verb, **arguments)) == "fenced", verb


def test_lease_of_another_hosts_volume_is_refused(who: world.People) -> None:
    volume = victims_volume(who)
    lease = taken(agents.door_agent("h2")).lease
    thief = agents.door_agent("h1")
    assert thief.tell("volume_work", host="h1") == []
    for token in ("a", "b"):
        asked = {"host": "h1", "work_id": lease.work_id, "owner": "h2:1", "token": token}
        assert thief.tell("volume_take", **asked) is None
    for verb, arguments in lease_verbs(lease).items():
        assert agents.code_of(thief.ask(verb, **arguments)) == "fenced", verb
    volume.refresh_from_db()
    assert (volume.state, volume.fault) == (VolumeState.CREATING, "")


@pytest.mark.parametrize("change", ["kind", "instance_uuid", "host"])
def test_lease_that_was_altered_is_refused(who: world.People, change: str) -> None:
    victims_volume(who)
    agent = agents.door_agent("h2")
    lease = taken(agent).lease
    other = {"kind": "volume_delete", "instance_uuid": str(uuid.uuid4()), "host": "h1"}[change]
    bent = dataclasses.replace(lease, work_context=dataclasses.replace(lease.work_context, **{change: other}))
    for verb, arguments in lease_verbs(bent).items():
        assert agents.code_of(agent.ask(verb, **arguments)) == "fenced", verb
    agent.tell("renew", lease=lease)


def test_keys_are_those_of_a_hosts_own_work_and_guests(who: world.People, caplog: pytest.LogCaptureFixture) -> None:
    volume = victims_volume(who)
    volume_key_make(owner_id=volume.pk)
    secret = volume_key_open(owner_id=volume.pk)
    owner, thief = agents.door_agent("h2"), agents.door_agent("h1")
    taken(owner)
    assert owner.tell("volume_key", host="h2", volume_id=str(volume.pk)) == secret
    refused = thief.ask("volume_key", host="h1", volume_id=str(volume.pk))
    assert (refused.status_code, agents.code_of(refused)) == (404, "not_found")
    assert "host h1 was refused the key" in caplog.text
    (made,) = world.create(who.admin, availability_zone="nova:h2")
    world.pump()
    VolumeAttachment.objects.create(volume=volume, instance_uuid=made.pk)
    assert agents.code_of(thief.ask("volume_key", host="h1", volume_id=str(volume.pk))) == "not_found"
    assert secret not in caplog.text


def test_host_says_nothing_of_a_pool_that_is_anothers(who: world.People) -> None:
    volume = victims_volume(who)
    thief = agents.door_agent("h1")
    told = [VolumesOnHost("local", "h2", (str(volume.pk), str(uuid.uuid4())), ())]
    assert thief.tell("volumes_present", host="h1", pools=told) == []
    assert not PoolSighting.objects.exists()
    answer = thief.ask("volumes_present", host="h2", pools=told)
    assert (answer.status_code, agents.code_of(answer)) == (403, "forbidden")
    mine = (pool_of("nfs", identity="mine", is_shared=True),)
    report = dataclasses.replace(world.REPORT, hypervisor_hostname="h1", pools=mine)
    thief.tell("register", host="h1", report=report)
    nfs = StoragePool.objects.get(name="nfs")
    assert nfs.identity == "n"
    assert nfs.hosts.filter(problem="").count() == 1
    assert nfs.hosts.get(problem="").host == "h2"


def test_volume_that_a_build_made_is_its_instances_own(who: world.People) -> None:
    (made,) = world.create(who.admin, availability_zone="nova:h2")
    world.pump()
    pool = StoragePool.objects.get(name="local", host="h2")
    common = {"project_id": who.admin.project_id, "user_id": who.admin.user_id, "size_gib": 1, "pool": pool}
    mine = Volume.objects.create(**common, instance_uuid=made.pk)
    others = Volume.objects.create(**common, instance_uuid=uuid.uuid4())
    agent = agents.door_agent("h2")
    lease = agent.take().lease
    for _ in range(2):
        agent.tell("volume_made", lease=lease, volume_id=str(mine.pk), facts=VolumeFacts(location={"a": "b"}))
    mine.refresh_from_db()
    assert mine.location == {"a": "b"}
    refused = agent.ask("volume_made", lease=lease, volume_id=str(others.pk), facts=VolumeFacts(location={"a": "b"}))
    assert agents.code_of(refused) == "fenced"
    others.refresh_from_db()
    assert others.location == {}


@pytest.mark.parametrize(
    "facts",
    [
        VolumeFacts(location={str(number): "x" for number in range(17)}),
        VolumeFacts(location={"path": "x" * 501}),
        VolumeFacts(used_bytes=-1),
        VolumeFacts(size_bytes=2**63),
        VolumeFacts(frozen_ms=2**31),
    ],
)
def test_facts_that_fit_in_no_row_are_refused_and_the_work_goes_on(who: world.People, facts: VolumeFacts) -> None:
    volume = victims_volume(who)
    agent = agents.door_agent("h2")
    order = taken(agent)
    assert agents.code_of(agent.ask("volume_done", lease=order.lease, facts=facts)) == "invalid"
    agent.tell("volume_done", lease=order.lease, facts=VolumeFacts())
    volume.refresh_from_db()
    assert volume.state == VolumeState.AVAILABLE
