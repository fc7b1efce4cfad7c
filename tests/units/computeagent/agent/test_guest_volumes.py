"""Volumes that come to guests and leave them, and work on volumes that a guest has, as the agent does them."""

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import (
    GuestVolume,
    PoolKind,
    VolumeFacts,
    VolumeQos,
    VolumeSource,
    VolumeSpec,
    VolumeWorkKind,
)
from computeagent.protocol.work import WorkKind
from computeagent.volumes.memory import MemoryBackend
from controlplane.kernel.units import GIB
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conductor_double import InstanceRow, WorkRow
from tests.units.computeagent.agent.conftest import World, guest_spec


@pytest.fixture
def pool(world: World) -> MemoryBackend:
    pool = MemoryBackend("local")
    world.pools["local"] = pool
    return pool


def volume_of(pool: MemoryBackend) -> GuestVolume:
    spec = VolumeSpec(str(uuid.uuid4()), "local", PoolKind.FILE, 2)
    pool.create(spec, VolumeSource(), image_file=Path, key_of=str.encode, progress=lambda _done, _total: None)
    return GuestVolume(str(uuid.uuid4()), spec)


def ordered(world: World, kind: WorkKind, guest: GuestSpec) -> tuple[InstanceRow, WorkRow]:
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    work = world.conductor.order(kind, guest, volume_id=guest.volumes[0].volume.id)
    world.start()
    eventually(lambda: work.state in ("done", "failed"))
    return row, work


def test_volume_is_connected_given_and_taken_back(world: World, pool: MemoryBackend) -> None:
    wanted, away = volume_of(pool), GuestVolume("a", VolumeSpec(str(uuid.uuid4()), "another pool", PoolKind.RBD, 1))
    guest = guest_spec(volumes=(wanted, away))
    row, work = ordered(world, WorkKind.ATTACH_VOLUME, guest)
    assert work.state == "done", row.action_failures
    assert world.driver.volumes[guest.uuid] == [wanted.volume.id]
    assert wanted.volume.id in pool.connected
    work = world.conductor.order(WorkKind.DETACH_VOLUME, guest, volume_id=wanted.volume.id)
    eventually(lambda: work.state == "done")
    assert world.driver.volumes[guest.uuid] == []
    assert pool.connected == set()


def test_volume_that_could_not_be_given_is_let_go_of(world: World, pool: MemoryBackend) -> None:
    world.driver.failures["attach_volume"] = [DriverError("no slot", failure_class=FailureClass.USER)]
    row, _ = ordered(world, WorkKind.ATTACH_VOLUME, guest_spec(volumes=(volume_of(pool),)))
    assert row.action_failures == ["block_device_mapping: no slot"]
    assert pool.connected == set()


def test_volume_that_the_guest_may_have_after_all_is_not_let_go_of(world: World, pool: MemoryBackend) -> None:
    guest = guest_spec(volumes=(volume_of(pool),))
    world.driver.volumes[guest.uuid] = [guest.volumes[0].volume.id]
    world.driver.failures["attach_volume"] = [DriverError("the hypervisor went away")]
    ordered(world, WorkKind.ATTACH_VOLUME, guest)
    assert pool.connected == {guest.volumes[0].volume.id}


def test_guest_that_keeps_its_volume_keeps_what_serves_it(world: World, pool: MemoryBackend) -> None:
    guest = guest_spec(volumes=(volume_of(pool),))
    pool.connect(guest.volumes[0].volume)
    world.driver.volumes[guest.uuid] = [guest.volumes[0].volume.id]
    world.driver.failures["detach_volume"] = [DriverError("it did not let go", failure_class=FailureClass.USER)]
    row, _ = ordered(world, WorkKind.DETACH_VOLUME, guest)
    assert row.action_failures == ["block_device_mapping: it did not let go"]
    assert pool.connected == {guest.volumes[0].volume.id}


def test_pool_that_is_away_fails_the_attaching_and_not_the_agent(world: World, pool: MemoryBackend) -> None:
    guest = guest_spec(volumes=(volume_of(pool),))
    pool.faults["connect"] = "the pool is away"
    row, _ = ordered(world, WorkKind.ATTACH_VOLUME, guest)
    assert row.action_failures == ["block_device_mapping: the pool is away"]


@pytest.mark.parametrize("is_on", [True, False])
def test_volume_of_a_guest_that_is_on_grows_by_its_hypervisor(
    world: World, pool: MemoryBackend, *, is_on: bool
) -> None:
    volume = replace(volume_of(pool), qos=VolumeQos(total_iops=500))
    guest = guest_spec(volumes=(volume,))
    if is_on:
        world.driver.volumes[guest.uuid] = [volume.volume.id]
    world.start()
    larger = replace(volume.volume, size_gib=5)
    work = world.conductor.volume_order(VolumeWorkKind.VOLUME_EXTEND, larger, guest=guest)
    eventually(lambda: work.state == "done")
    assert world.driver.sizes == ({volume.volume.id: 5 * GIB} if is_on else {})
    assert work.facts is not None and work.facts.size_bytes == 5 * GIB
    assert ("limit_volume" in world.driver.verbs) == is_on


class FilePool(MemoryBackend):
    """One whose snapshots of volumes that guests have are copied by these."""

    target: Path

    def snapshot_target(self, volume: VolumeSpec, snapshot_id: str) -> Path:
        return self.target

    def snapshot_keep(self, volume: VolumeSpec, snapshot_id: str) -> VolumeFacts:
        assert self.target.read_bytes() == volume.id.encode()
        return VolumeFacts(used_bytes=11)


def test_snapshot_of_a_volume_that_a_guest_has_is_copied_by_its_hypervisor(world: World, tmp_path: Path) -> None:
    pool = FilePool("local")
    pool.target = tmp_path / "target"
    world.pools["local"] = pool
    volume = volume_of(pool)
    guest = guest_spec(volumes=(volume,))
    world.driver.volumes[guest.uuid] = [volume.volume.id]
    world.start()
    work = world.conductor.volume_order(
        VolumeWorkKind.VOLUME_SNAPSHOT_CREATE, volume.volume, snapshot_id="s", guest=guest
    )
    eventually(lambda: work.state == "done")
    assert work.facts == VolumeFacts(used_bytes=11, is_consistent=True, frozen_ms=7)


@pytest.mark.parametrize(("kind", "stands_still"), [(PoolKind.RBD, True), (PoolKind.NBD, False)])
def test_guest_stands_still_while_a_pool_takes_a_snapshot_at_once(
    world: World, kind: PoolKind, *, stands_still: bool
) -> None:
    pool = MemoryBackend("local", kind=kind)
    world.pools["local"] = pool
    volume = volume_of(pool)
    volume = replace(volume, volume=replace(volume.volume, kind=kind))
    guest = guest_spec(volumes=(volume,))
    world.driver.volumes[guest.uuid] = [volume.volume.id]
    world.start()
    order = VolumeWorkKind.VOLUME_SNAPSHOT_CREATE
    work = world.conductor.volume_order(order, volume.volume, snapshot_id="s", guest=guest)
    eventually(lambda: work.state == "done")
    assert work.facts is not None
    assert (work.facts.is_consistent, work.facts.frozen_ms) == (stands_still, 5 if stands_still else 0)
    assert pool.held()[1] == ((volume.volume.id, "s"),)


@pytest.mark.parametrize("is_on", [True, False])
def test_guest_that_is_on_is_held_to_new_limits_and_sees_the_size(
    world: World, pool: MemoryBackend, *, is_on: bool
) -> None:
    volume = replace(volume_of(pool), qos=VolumeQos(total_iops=500))
    guest = guest_spec(volumes=(volume,))
    if is_on:
        world.driver.volumes[guest.uuid] = [volume.volume.id]
    world.start()
    work = world.conductor.volume_order(VolumeWorkKind.VOLUME_LIMIT, volume.volume, guest=guest)
    eventually(lambda: work.state == "done")
    assert ("limit_volume" in world.driver.verbs) == is_on
    assert world.driver.sizes == ({volume.volume.id: volume.volume.size_gib * GIB} if is_on else {})
