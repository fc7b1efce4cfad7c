"""Work on volumes in an agent that runs: done, refused, cut off, taken over; one volume keeps no other waiting."""

import hashlib
import time
import uuid
from pathlib import Path

import pytest

from computeagent.agent.held_leases import HeldVolume
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volume_work import VolumeOrder
from computeagent.protocol.volumes import PoolKind, VolumeSource, VolumeSourceKind, VolumeSpec, VolumeWorkKind
from computeagent.protocol.work import AgentLease, HostWakeup, HostWakeupKind
from computeagent.volumes.base import VolumeBackendError
from computeagent.volumes.memory import MemoryBackend
from controlplane.kernel.errors import Fenced
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import World, guest_spec


def spec(**changes: object) -> VolumeSpec:
    """A volume of 2 GiB in the pool of these tests."""
    return VolumeSpec(str(uuid.uuid4()), "local", PoolKind.FILE, 2, **changes)  # type: ignore[arg-type]


@pytest.fixture
def pool(world: World) -> MemoryBackend:
    """The one pool of the host."""
    pool = MemoryBackend("local")
    world.pools["local"] = pool
    return pool


def test_volume_is_made_grown_copied_and_removed(world: World, pool: MemoryBackend) -> None:
    volume, snapshot = spec(), str(uuid.uuid4())
    world.start()
    larger = VolumeSpec(volume.id, "local", PoolKind.FILE, 5)
    for kind, of, held in (
        (VolumeWorkKind.VOLUME_CREATE, volume, ((volume.id,), ())),
        (VolumeWorkKind.VOLUME_EXTEND, larger, ((volume.id,), ())),
        (VolumeWorkKind.VOLUME_SNAPSHOT_CREATE, larger, ((volume.id,), ((volume.id, snapshot),))),
        (VolumeWorkKind.VOLUME_REVERT, larger, ((volume.id,), ((volume.id, snapshot),))),
        (VolumeWorkKind.VOLUME_SNAPSHOT_DELETE, larger, ((volume.id,), ())),
        (VolumeWorkKind.VOLUME_DELETE, larger, ((), ())),
    ):
        work = world.conductor.volume_order(kind, of, snapshot_id=snapshot)
        world.conductor.pending_wakeups.append(HostWakeup(HostWakeupKind.VOLUMES))
        eventually(lambda work=work: work.state == "done")
        assert pool.held() == held
        assert work.attempt == 1


def test_what_a_pool_refuses_is_told_with_whose_fault_it_is(world: World, pool: MemoryBackend) -> None:
    pool.faults["create"] = "no space left"
    world.start()
    work = world.conductor.volume_order(VolumeWorkKind.VOLUME_CREATE, spec())
    eventually(lambda: work.state == "failed")
    assert work.failure == ("no space left", FailureClass.HOST)
    unknown = world.conductor.volume_order(VolumeWorkKind.VOLUME_CREATE, VolumeSpec("1", "nfs", PoolKind.FILE, 1))
    eventually(lambda: unknown.state == "failed")
    assert unknown.failure == ("this host has no pool 'nfs'", FailureClass.HOST)


def test_pool_that_is_away_fails_no_work_which_is_done_when_it_is_back(world: World, pool: MemoryBackend) -> None:
    pool.faults["pool"] = "the cluster does not answer"
    world.start()
    volume = spec()
    work = world.conductor.volume_order(VolumeWorkKind.VOLUME_CREATE, volume)
    eventually(lambda: len(world.conductor.given_back) > 2)
    assert work.state != "failed"
    assert world.conductor.given_back_because == "the cluster does not answer"
    del pool.faults["pool"]
    eventually(lambda: work.state == "done")
    assert pool.held() == ((volume.id,), ())


def test_users_fault_is_told_as_the_users(world: World) -> None:
    class Small(MemoryBackend):
        def extend(self, volume: VolumeSpec) -> None:  # type: ignore[override]
            raise VolumeBackendError("the image is larger than 1 GiB", is_users=True)

    world.pools["local"] = Small("local")
    world.start()
    work = world.conductor.volume_order(VolumeWorkKind.VOLUME_EXTEND, spec())
    eventually(lambda: work.state == "failed")
    assert work.failure == ("the image is larger than 1 GiB", FailureClass.USER)


def test_volume_of_an_image_reads_it_under_its_lease_and_leaves_no_file(world: World, pool: MemoryBackend) -> None:
    checksum = "3a57b8a2b2b1b8ff0a0c4fc1f5ac1ea0b3a53c3b4a3bd4b3f1e0fb77f3c1ba22"
    world.start()
    source = VolumeSource(VolumeSourceKind.IMAGE, id="i-1", checksum=checksum, size_bytes=11, disk_format="raw")
    wrong = world.conductor.volume_order(VolumeWorkKind.VOLUME_CREATE, spec(), source=source)
    eventually(lambda: wrong.state == "failed")
    assert wrong.failure == ("image i-1 does not match its checksum", FailureClass.HOST)
    right = VolumeSource(
        VolumeSourceKind.IMAGE, id="i-1", checksum=hashlib.sha256(world.conductor.image).hexdigest(), size_bytes=11
    )
    volume = spec()
    work = world.conductor.volume_order(VolumeWorkKind.VOLUME_CREATE, volume, source=right)
    eventually(lambda: work.state == "done")
    pool.snapshot_create(volume, "s", lambda _done, _total: None)
    assert list(pool.read(volume, "s")) == [(0, world.conductor.image)]
    assert list((world.state_dir / "volume_images").iterdir()) == []


def test_work_that_was_taken_over_ends_at_its_next_part(world: World, tmp_path: Path) -> None:
    world.pools["local"] = MemoryBackend("local", tmp_path / "pool.json", latency_s=2.0)
    world.conductor.volume_lease_s = 0.6
    running = world.start()
    work = world.conductor.volume_order(VolumeWorkKind.VOLUME_CREATE, spec())
    eventually(lambda: work.state == "running")
    work.attempt += 1  # somebody else has it
    work.lease_until = time.monotonic() + 60
    eventually(lambda: running.agent.context.counts["fenced"] > 0)
    assert work.state == "running"
    assert world.pools["local"].held() == ((), ())


def test_lease_that_nobody_could_prolong_is_over_here_too() -> None:
    now = [100.0]
    lease = AgentLease("w", 1, "o", 5.0)
    held = HeldVolume(VolumeOrder(lease, VolumeWorkKind.VOLUME_REVERT, spec(), ""), lambda: now[0], 100.0)
    now[0] = 104.0
    held.check()
    held.renewed(103.0)
    now[0] = 107.9
    held.check()
    now[0] = 108.0
    with pytest.raises(Fenced):
        held.check()
    assert held.is_fenced


def test_lost_wakeup_and_lost_answer_cost_a_look(world: World, pool: MemoryBackend) -> None:
    """No wake-up is sent at all: the agent looks now and then."""
    world.start()
    works = [world.conductor.volume_order(VolumeWorkKind.VOLUME_CREATE, spec()) for _ in range(12)]
    eventually(lambda: all(work.state == "done" for work in works))
    assert len(pool.held()[0]) == 12


def test_stopped_agent_gives_its_work_back_and_the_next_one_does_it(world: World, tmp_path: Path) -> None:
    world.pools["local"] = MemoryBackend("local", tmp_path / "pool.json", latency_s=8.0)
    running = world.start(shutdown_s=2.2)
    work = world.conductor.volume_order(VolumeWorkKind.VOLUME_CREATE, spec())
    eventually(lambda: work.state == "running")
    running.end()
    assert (work.state, world.conductor.given_back) == ("waiting", [work.work_id])
    world.pools["local"] = MemoryBackend("local", tmp_path / "pool.json")
    world.start()
    eventually(lambda: work.state == "done")


def test_work_on_a_volume_that_a_guest_has_waits_for_the_guests_turn(world: World, pool: MemoryBackend) -> None:
    guest, volume = guest_spec(), spec()
    pool.create(volume, VolumeSource(), image_file=Path, key_of=str.encode, progress=lambda _done, _total: None)
    running = world.start()
    mutex = running.agent.context.instance_mutex
    assert mutex.try_enter(guest.uuid)
    work = world.conductor.volume_order(VolumeWorkKind.VOLUME_SNAPSHOT_CREATE, volume, snapshot_id="s", guest=guest)
    eventually(lambda: work.state == "running")
    time.sleep(0.3)
    assert pool.held()[1] == ()
    mutex.leave(guest.uuid)
    eventually(lambda: work.state == "done")


def test_control_plane_of_the_release_before_is_left_alone(world: World, pool: MemoryBackend) -> None:
    world.conductor.knows_volumes = False
    running = world.start()
    eventually(lambda: world.conductor.heartbeats > 3)
    assert running.agent.context.counts["volumes_failed"] == 0
    world.conductor.knows_volumes, world.conductor.version = True, "2"
    work = world.conductor.volume_order(VolumeWorkKind.VOLUME_CREATE, spec())
    eventually(lambda: work.state == "done")
