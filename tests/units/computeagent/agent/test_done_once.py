"""An agent that dies after the deed and before it is told: the next one tells it, and does not do it again. What notes
that it is done has its place on disk before.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from computeagent.agent.done_once import BEGUN, DIRECTORY, DONE
from computeagent.protocol.guests import RescueImage
from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import World, guest_spec

RESCUE = RescueImage("tools", "c2", 11, "raw")
DEEDS = [
    (WorkKind.REBOOT, "hard_reboot", None),
    (WorkKind.REBOOT_SOFT, "start", None),
    (WorkKind.RESCUE, "rescue", RESCUE),
    (WorkKind.UNRESCUE, "hard_reboot", None),
    (WorkKind.REBUILD, "spawn", None),
]


def notes(world: World) -> list[bytes]:
    """What the notes of this host say."""
    return [note.read_bytes() for note in (world.state_dir / DIRECTORY).glob("*")]


@contextmanager
def small_file_system(place: Path) -> Iterator[None]:
    """One of a few names and pages."""
    if os.geteuid() != 0:
        pytest.skip("a small file system is mounted by root")
    place.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k,nr_inodes=8", "none", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path) -> None:
    """Until neither a name nor a byte is left."""
    with suppress(OSError):
        for number in range(99):
            (place / f"other-{number}").write_bytes(bytes(8 * 1024))
    with suppress(OSError):
        for number in range(99):
            (place / f"name-{number}").touch()
    with pytest.raises(OSError, match="No space left"):
        (place / "more").touch()


@pytest.mark.parametrize(("kind", "deed", "rescue"), DEEDS)
def test_deed_that_nobody_heard_of_is_told_and_not_done_again(
    world: World, kind: WorkKind, deed: str, rescue: RescueImage | None
) -> None:
    guest = guest_spec(rescue=rescue)
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    gate = world.driver.gate(deed)
    first = world.start(shutdown_s=2.2)
    work = world.conductor.order(kind, guest)
    eventually(world.driver.entered[deed].is_set)
    assert notes(world) == [BEGUN]
    world.conductor.away = True
    gate.set()
    eventually(lambda: notes(world) == [DONE])
    first.end()
    world.conductor.away = False
    work.lease_until = 0.0
    world.start()
    eventually(lambda: work.state == "done")
    assert world.driver.verbs.count(deed) == 1
    assert work.attempt == 2
    eventually(lambda: not any((world.state_dir / DIRECTORY).glob("*")))


def test_same_deed_of_another_order_is_done(world: World) -> None:
    guest = guest_spec()
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start()
    for _time in range(2):
        work = world.conductor.order(WorkKind.REBOOT, guest)
        eventually(lambda work=work: work.state == "done")
    assert world.driver.verbs.count("hard_reboot") == 2


@pytest.mark.parametrize(("kind", "deed", "rescue"), DEEDS)
def test_disk_that_gets_full_during_the_deed_takes_its_note_and_it_is_not_done_again(
    world: World, kind: WorkKind, deed: str, rescue: RescueImage | None
) -> None:
    guest = guest_spec(rescue=rescue)
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    gate = world.driver.gate(deed)
    with small_file_system(world.state_dir / DIRECTORY):
        first = world.start(shutdown_s=2.2)
        work = world.conductor.order(kind, guest)
        eventually(world.driver.entered[deed].is_set)
        fill(world.state_dir / DIRECTORY)
        world.conductor.away = True
        gate.set()
        eventually(lambda: DONE in notes(world))
        first.end()
        world.conductor.away = False
        work.lease_until = 0.0
        second = world.start()
        eventually(lambda: work.state == "done")
        second.end()
    assert (world.driver.verbs.count(deed), work.attempt) == (1, 2)


@pytest.mark.parametrize(("kind", "deed", "rescue"), DEEDS)
def test_deed_of_which_no_note_can_be_kept_is_refused_before_it(
    world: World, kind: WorkKind, deed: str, rescue: RescueImage | None
) -> None:
    guest = guest_spec(rescue=rescue)
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.state_dir.mkdir(parents=True)
    (world.state_dir / DIRECTORY).write_text("no directory")
    world.start()
    work = world.conductor.order(kind, guest)
    eventually(lambda: work.state == "failed")
    (said,) = world.conductor.instances[guest.uuid].action_failures
    assert "nothing was done, because this host can keep no note of it" in said
    assert (world.driver.verbs.count(deed), work.attempt) == (0, 1)


def test_note_of_a_deed_that_was_only_begun_does_not_count_as_done(world: World) -> None:
    guest = guest_spec()
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    work = world.conductor.order(WorkKind.REBOOT, guest)
    (world.state_dir / DIRECTORY).mkdir(parents=True)
    (world.state_dir / DIRECTORY / work.work_id).write_bytes(BEGUN)
    world.start()
    eventually(lambda: work.state == "done")
    assert world.driver.verbs.count("hard_reboot") == 1
    eventually(lambda: not notes(world))
