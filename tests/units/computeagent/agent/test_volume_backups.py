"""Backups by an agent that runs: sent whole and by what changed, cut off, restored."""

import uuid

import pytest

from computeagent.agent.volume_backups import TRIES
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volume_work import BackupBytes
from computeagent.protocol.volumes import PoolKind, VolumeSource, VolumeSourceKind, VolumeSpec, VolumeWorkKind
from computeagent.volumes.memory import MemoryBackend
from controlplane.kernel.errors import Unavailable
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import World
from tests.units.computeagent.agent.volumes_asked import VolumeWorkRow

FULL, CHANGE = [(0, b"first" * 900), (70_000, b"second" * 100)], [(0, b"third" * 900), (90_000, bytes(500))]


def spec() -> VolumeSpec:
    return VolumeSpec(str(uuid.uuid4()), "local", PoolKind.FILE, 1)


@pytest.fixture
def pool(world: World) -> MemoryBackend:
    pool = MemoryBackend("local")
    world.pools["local"] = pool
    return pool


@pytest.fixture
def volume(pool: MemoryBackend) -> VolumeSpec:
    """One with the snapshots `one` and `two`."""
    volume, source = spec(), VolumeSource()
    pool.create(volume, source, image_file=lambda: None, key_of=lambda _: b"", progress=lambda *_: None)  # type: ignore[arg-type, return-value]
    for parts, snapshot in ((FULL, "one"), (CHANGE, "two")):
        pool.write(volume, iter(parts))
        pool.snapshot_create(volume, snapshot, lambda *_: None)
    return volume


def backed_up(world: World, volume: VolumeSpec, snapshot: str, since: str = "") -> VolumeWorkRow:
    work = world.conductor.volume_order(
        VolumeWorkKind.VOLUME_BACKUP_CREATE, volume, snapshot_id=snapshot, since_snapshot_id=since
    )
    eventually(lambda: work.state in {"done", "failed"})
    return work


def test_a_full_backup_and_an_increment_make_the_volume_again(
    world: World, pool: MemoryBackend, volume: VolumeSpec
) -> None:
    world.start()
    works = [backed_up(world, volume, "one"), backed_up(world, volume, "two", "one")]
    sent = [world.conductor.backups[work.work_id] for work in works]
    assert [work.facts.size_bytes for work in works if work.facts] == [len(each) for each in sent]
    backups = tuple(BackupBytes(work.work_id, len(each), "") for work, each in zip(works, sent, strict=True))
    restored = spec()
    source = VolumeSource(VolumeSourceKind.BACKUP, id=works[1].work_id)
    work = world.conductor.volume_order(VolumeWorkKind.VOLUME_CREATE, restored, source=source, backups=backups)
    eventually(lambda: work.state == "done")
    pool.snapshot_create(restored, "now", lambda *_: None)
    assert list(pool.read(restored, "now")) == list(pool.read(volume, "two"))


def test_cut_off_it_goes_on_where_it_was(world: World, volume: VolumeSpec) -> None:
    world.conductor.cuts = [Unavailable("the store is away") for _ in range(3)]
    world.start()
    work = backed_up(world, volume, "one")
    assert (work.state, work.attempt) == ("done", 1)
    assert b"first" * 900 in world.conductor.backups[work.work_id]


def test_a_snapshot_that_is_gone_fails_the_backup(world: World, volume: VolumeSpec) -> None:
    world.start()
    work = backed_up(world, volume, "three")
    assert work.state == "failed"
    assert work.failure is not None and work.failure[1] is FailureClass.HOST
    assert world.conductor.backups == {}


def test_a_damaged_backup_is_refused_and_named(world: World, volume: VolumeSpec) -> None:
    world.start()
    full = backed_up(world, volume, "one")
    data = bytearray(world.conductor.backups[full.work_id])
    data[1000] ^= 1
    world.conductor.backups[full.work_id] = bytes(data)
    source = VolumeSource(VolumeSourceKind.BACKUP, id=full.work_id)
    backups = (BackupBytes(full.work_id, len(data), ""),)
    work = world.conductor.volume_order(VolumeWorkKind.VOLUME_CREATE, spec(), source=source, backups=backups)
    eventually(lambda: work.state == "failed")
    assert work.failure == ("record 0 of the backup does not match its checksum", FailureClass.HOST)


def test_a_store_that_is_away_fails_no_restore_which_is_done_when_it_is_back(
    world: World, pool: MemoryBackend, volume: VolumeSpec
) -> None:
    world.start()
    full, restored = backed_up(world, volume, "one"), spec()
    world.conductor.image_cuts = [(0, Unavailable("the store is away")) for _ in range(TRIES)]
    source = VolumeSource(VolumeSourceKind.BACKUP, id=full.work_id)
    backups = (BackupBytes(full.work_id, len(world.conductor.backups[full.work_id]), ""),)
    work = world.conductor.volume_order(VolumeWorkKind.VOLUME_CREATE, restored, source=source, backups=backups)
    eventually(lambda: work.state in {"done", "failed"})
    assert (work.state, work.attempt) == ("done", 2)
    assert world.conductor.given_back_because == "the store is away"
    pool.snapshot_create(restored, "now", lambda *_: None)
    assert list(pool.read(restored, "now")) == list(pool.read(volume, "one"))
