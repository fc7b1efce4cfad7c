"""What a host tells of its pools and removes: only what it was told to, and of no pool that is another one by now."""

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from computeagent.protocol.volumes import NO_SOURCE, PoolKind, PoolReport, VolumesOnHost, VolumeSpec
from computeagent.volumes.memory import MemoryBackend
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import World

QUICK = {"volumes_present_interval_s": 0.05}


@pytest.fixture
def pool(world: World) -> MemoryBackend:
    """The one pool of the host."""
    pool = MemoryBackend("local")
    world.pools["local"] = pool
    return pool


def made(pool: MemoryBackend) -> tuple[str, str]:
    """A volume and its snapshot, as `volume/snapshot`."""
    volume = VolumeSpec(str(uuid.uuid4()), "local", PoolKind.FILE, 1)
    pool.create(volume, NO_SOURCE, image_file=Path, key_of=str.encode, progress=lambda _done, _total: None)
    pool.snapshot_create(volume, "0f", lambda _done, _total: None)
    return volume.id, f"{volume.id}/0f"


def test_all_is_told_and_what_is_due_goes_with_its_snapshots(world: World, pool: MemoryBackend) -> None:
    kept, gone = made(pool), made(pool)
    identity = pool.report().identity
    told = VolumesOnHost("local", identity, tuple(sorted((kept[0], gone[0]))), tuple(sorted((kept[1], gone[1]))))
    world.conductor.volumes_due = [VolumesOnHost("local", identity, (gone[0],), (gone[1],))]
    world.start(**QUICK)
    eventually(lambda: pool.held()[0] == (kept[0],))
    assert world.conductor.pools_told[0] == ([told], "")


def test_pool_that_is_another_one_by_now_loses_nothing(world: World, pool: MemoryBackend) -> None:
    volume, _ = made(pool)
    world.conductor.volumes_due = [VolumesOnHost("local", "another", (volume,), ())]
    world.start(**QUICK)
    eventually(lambda: len(world.conductor.pools_told) > 2)
    assert pool.held()[0] == (volume,)


def test_agent_that_keeps_orphans_says_so_and_removes_none(world: World, pool: MemoryBackend) -> None:
    volume, _ = made(pool)
    world.conductor.volumes_due = [VolumesOnHost("local", pool.report().identity, (volume,), ())]
    world.start(**QUICK, reap_orphans=False)
    eventually(lambda: len(world.conductor.pools_told) > 2)
    assert pool.held()[0] == (volume,)
    assert world.conductor.pools_told[0][1] == "The agent was started with --keep-orphans"


def test_pool_that_cannot_be_read_or_changes_while_it_is_read_is_not_told_of(world: World) -> None:
    class Changing(MemoryBackend):
        reads = 0

        def report(self) -> PoolReport:
            self.reads += 1
            return replace(super().report(), identity=str(self.reads))

    broken = MemoryBackend("broken")
    broken.faults["held"] = "the directory cannot be listed"
    away = MemoryBackend("away")
    away.faults["pool"] = "the disk is away"
    sound = MemoryBackend("sound")
    world.pools |= {"changing": Changing("changing"), "broken": broken, "away": away, "sound": sound}
    world.start(**QUICK)
    eventually(lambda: len(world.conductor.pools_told) > 1)
    assert [each.pool for each in world.conductor.pools_told[-1][0]] == ["sound"]


def test_what_cannot_be_removed_is_told_again(world: World, pool: MemoryBackend) -> None:
    volume, snapshot = made(pool)
    pool.faults["delete"] = "busy"
    world.conductor.volumes_due = [VolumesOnHost("local", pool.report().identity, (volume,), (snapshot,))]
    running = world.start(**QUICK)
    eventually(lambda: pool.held()[1] == ())
    assert pool.held()[0] == (volume,)
    pool.faults.clear()
    eventually(lambda: pool.held()[0] == ())
    assert running.agent.context.counts["orphan_volumes_removed"] >= 2
