"""Delete, start, stop, reboot."""

import pytest

from computeagent.drivers.base import DriverError
from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.units.computeagent.agent.conftest import World, guest_spec


def test_delete_leaves_nothing_on_the_host(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.driver.disks.add(guest.uuid)
    world.conductor.order(WorkKind.DELETE, guest)
    world.start()
    eventually(lambda: row.vm_state == "deleted")
    assert world.driver.running == {}
    assert world.driver.disks == set()
    assert not list((world.state_dir / "locks").iterdir())


def test_delete_that_fails_is_recorded_and_tried_again(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.conductor.lease_s = 0.5
    world.driver.failures["destroy"] = [DriverError("device busy")] * 3
    work = world.conductor.order(WorkKind.DELETE, guest)
    world.start()
    eventually(lambda: row.vm_state == "deleted")
    assert ("deleting", f"instance {guest.uuid} is not removed: device busy") in row.steps
    assert work.attempt == 2


def test_delete_during_build_waits_for_the_effect_and_then_removes_it(world: World) -> None:
    guest = guest_spec()
    gate = world.driver.gate("spawn")
    world.conductor.order(WorkKind.BUILD, guest)
    running = world.start()
    assert world.driver.entered["spawn"].wait(PATIENCE_S)
    world.conductor.order(WorkKind.DELETE, guest)
    eventually(lambda: world.conductor.takes == 2)
    assert "destroy" not in world.driver.verbs
    gate.set()
    eventually(lambda: world.conductor.instances[guest.uuid].vm_state == "deleted")
    assert running.agent.context.counts["fenced"] == 1
    assert world.driver.running == {}


def test_delete_does_not_wait_behind_builds_of_others(world: World) -> None:
    world.driver.gate("prepare_image")
    for _ in range(4):
        world.conductor.order(WorkKind.BUILD, guest_spec())
    victim = guest_spec()
    row = world.conductor.place(victim)
    world.conductor.order(WorkKind.DELETE, victim)
    world.start()
    eventually(lambda: row.vm_state == "deleted")


def test_picture_of_the_screen_is_sent_and_why_there_is_none(world: World) -> None:
    guest = guest_spec()
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.driver.failures["screenshot"] = [DriverError("no monitor")]
    world.start()
    for many in (1, 2):
        world.conductor.order(WorkKind.SCREENSHOT, guest)
        eventually(lambda many=many: len(world.conductor.screenshots) == many)
    failed, taken = world.conductor.screenshots
    assert failed == (b"", "no monitor")
    assert taken == (b"\x89PNG\r\n\x1a\n" + guest.uuid.encode(), "")
    assert world.driver.running[guest.uuid] is PowerState.RUNNING


def test_stop_start_and_reboot_tell_the_power_state(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start()
    for kind, vm_state in ((WorkKind.STOP, "stopped"), (WorkKind.START, "active"), (WorkKind.REBOOT, "active")):
        work = world.conductor.order(kind, guest)
        eventually(lambda work=work: work.state == "done")
        assert row.vm_state == vm_state
    assert [step for step, end in row.steps if end == "finished"] == ["powering-off", "powering-on", "rebooting_hard"]


def test_pause_suspend_soft_reboot_and_back_are_asked_of_the_driver(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start()
    kinds = (WorkKind.PAUSE, WorkKind.UNPAUSE, WorkKind.SUSPEND, WorkKind.RESUME, WorkKind.REBOOT_SOFT)
    states = []
    for kind in kinds:
        work = world.conductor.order(kind, guest)
        eventually(lambda work=work: work.state == "done")
        states.append(row.power_state)
    assert states == ["paused", "running", "shutdown", "running", "running"]
    assert [verb for verb in world.driver.verbs if verb not in {"open", "guests"}] == [
        "pause", "unpause", "suspend", "resume", "stop", "start",
    ]  # fmt: skip
    assert [step for step, end in row.steps if end == "finished"] == [
        "pausing", "unpausing", "suspending", "resuming", "rebooting",
    ]  # fmt: skip


def test_soft_delete_powers_off_and_restore_powers_on_and_nothing_is_removed(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start()
    seen = []
    for kind in (WorkKind.SOFT_DELETE, WorkKind.RESTORE):
        work = world.conductor.order(kind, guest)
        eventually(lambda work=work: work.state == "done")
        seen.append(row.power_state)
    assert seen == ["shutdown", "running"]
    assert [verb for verb in world.driver.verbs if verb not in {"open", "guests"}] == ["stop", "start"]
    assert [step for step, end in row.steps if end == "finished"] == ["soft-deleting", "restoring"]


def test_soft_reboot_gives_the_guest_its_time(world: World) -> None:
    guest = guest_spec()
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start(soft_reboot_timeout_s=7.0)
    work = world.conductor.order(WorkKind.REBOOT_SOFT, guest)
    eventually(lambda: work.state == "done")
    assert world.driver.grace_s == [7.0]


def test_hard_reboot_does_not_wait_for_the_soft_one_that_it_takes_the_place_of(world: World) -> None:
    guest = guest_spec()
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.driver.deaf.add(guest.uuid)
    world.start(soft_reboot_timeout_s=3600.0)
    soft = world.conductor.order(WorkKind.REBOOT_SOFT, guest)
    eventually(lambda: world.driver.grace_s == [3600.0])
    soft.state = "cancelled"
    hard = world.conductor.order(WorkKind.REBOOT, guest)
    eventually(lambda: hard.state == "done")
    assert [verb for verb in world.driver.verbs if verb not in {"open", "guests"}] == ["stop", "hard_reboot"]
    assert soft.state == "cancelled"


def test_failed_start_keeps_the_instance_as_it_was(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest, vm_state="stopped")
    world.driver.failures["start"] = [DriverError("no kvm")]
    world.conductor.order(WorkKind.START, guest)
    world.start()
    eventually(lambda: row.action_failures == ["powering-on: no kvm"])
    assert row.vm_state == "stopped"


@pytest.mark.parametrize("state", ["there", "gone", "unreadable"])
def test_failure_says_whether_the_guest_is_gone(world: World, state: str) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.start()
    if state in ("there", "unreadable"):
        world.driver.running[guest.uuid] = PowerState.RUNNING
    if state == "unreadable":
        world.driver.sick.add(guest.uuid)
    world.driver.failures["pause"] = [DriverError("it cannot be paused")]
    work = world.conductor.order(WorkKind.PAUSE, guest)
    eventually(lambda: work.state == "failed")
    assert row.is_guest_gone is (state == "gone")
