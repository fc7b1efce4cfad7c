"""What an agent does about what it finds after a start, and about guests that nobody explains."""

import time
from uuid import UUID

import pytest

from computeagent.agent.loop import Agent
from computeagent.agent.recovery import GUEST_STAYS
from computeagent.drivers.base import DriverError
from computeagent.protocol.bounds import ORPHANS_MAX
from computeagent.protocol.guests import GuestReturn, GuestSpec
from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import QUICK, World, guest_spec

STRANGER = "11111111-1111-1111-1111-111111111111"


def test_restart_adopts_what_runs(world: World) -> None:
    guest = guest_spec()
    world.start()
    world.conductor.order(WorkKind.BUILD, guest)
    eventually(lambda: world.conductor.instances[guest.uuid].vm_state == "active")
    world.agents[0].end()
    world.conductor.reports.clear()
    world.start()
    eventually(lambda: world.conductor.reports and world.conductor.reports[-1].memory_used_mib == 128)
    assert world.driver.verbs.count("spawn") == 1
    assert world.driver.running == {guest.uuid: PowerState.RUNNING}


def test_guest_lost_with_a_simulated_host_is_spawned_again(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.start()
    eventually(lambda: row.power_state is PowerState.RUNNING)
    assert world.driver.verbs[:2] == ["open", "spawn"]


def test_guest_that_is_off_though_active_is_started(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.SHUTDOWN
    world.start()
    eventually(lambda: row.power_state is PowerState.RUNNING)
    assert world.driver.verbs[:2] == ["open", "start"]
    assert world.conductor.returns == [GuestReturn(guest.uuid, PowerState.SHUTDOWN)]


def test_paused_guest_lost_with_its_host_is_spawned_again_and_paused(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest, vm_state="paused")
    world.start()
    eventually(lambda: row.power_state is PowerState.PAUSED)
    assert world.driver.verbs[:3] == ["open", "spawn", "pause"]
    assert world.conductor.returns == [GuestReturn(guest.uuid, PowerState.NOSTATE)]


def test_paused_instance_whose_return_was_cut_off_is_paused(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest, vm_state="paused")
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start()
    eventually(lambda: row.power_state is PowerState.PAUSED)
    assert world.driver.verbs[:2] == ["open", "pause"]
    assert world.conductor.returns == [GuestReturn(guest.uuid, PowerState.RUNNING)]


@pytest.mark.parametrize("found", [PowerState.SHUTDOWN, PowerState.PAUSED])
def test_paused_guest_that_is_off_or_paused_is_left_to_the_control_plane(world: World, found: PowerState) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest, vm_state="paused")
    world.driver.running[guest.uuid] = found
    world.start()
    eventually(lambda: row.power_state is found)
    assert not {"spawn", "start", "pause"} & set(world.driver.verbs)


def test_work_that_needs_a_guest_which_the_host_lost_finds_it_again(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest, vm_state="paused")
    row.task_state = "unpausing"
    world.conductor.sends_wakeups = False
    work = world.conductor.order(WorkKind.UNPAUSE, guest)
    work.state, work.attempt, work.owner = "running", 1, "h1:1:dead"
    world.start()
    eventually(lambda: work.state == "done")
    assert world.driver.verbs[:4] == ["open", "spawn", "pause", "unpause"]
    assert world.conductor.returns == [GuestReturn(guest.uuid, PowerState.NOSTATE)]


def _work_is_open(world: World, guest: GuestSpec) -> None:
    """And nobody's to take for now."""
    world.conductor.sends_wakeups = False
    work = world.conductor.order(WorkKind.ATTACH_VOLUME, guest)
    work.state, work.owner, work.lease_until = "running", "h2:1:other", time.monotonic() + 3600


@pytest.mark.parametrize("task", GUEST_STAYS)
@pytest.mark.parametrize(("vm_state", "found"), [("active", PowerState.SHUTDOWN), ("rescued", PowerState.NOSTATE)])
def test_guest_beside_whose_work_the_host_restarts_is_brought_back(
    world: World, task: str, vm_state: str, found: PowerState
) -> None:
    """Its work goes on afterwards, and neither starts a guest nor ends one."""
    guest = guest_spec()
    row = world.conductor.place(guest, vm_state=vm_state)
    row.task_state = task
    _work_is_open(world, guest)
    if found is not PowerState.NOSTATE:
        world.driver.running[guest.uuid] = found
    world.start()
    eventually(lambda: world.conductor.returns == [GuestReturn(guest.uuid, found)])
    assert world.driver.running == {guest.uuid: PowerState.RUNNING}


@pytest.mark.parametrize("task", ["block_device_mapping", "networking"])
def test_guest_that_is_being_built_is_left_to_its_work(world: World, task: str) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest, vm_state="building")
    row.task_state = task
    _work_is_open(world, guest)
    later = world.conductor.place(guest_spec())
    world.start()
    eventually(lambda: later.power_state is PowerState.RUNNING)
    assert world.driver.verbs.count("spawn") == 1


def test_guest_that_is_to_be_deleted_is_not_brought_back(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    row.task_state = "deleting"
    world.conductor.sends_wakeups = False
    work = world.conductor.order(WorkKind.DELETE, guest)
    work.state, work.attempt, work.owner = "running", 1, "h1:1:dead"
    world.start()
    eventually(lambda: work.state == "done")
    assert "spawn" not in world.driver.verbs


def test_stopped_instance_stays_off(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest, vm_state="stopped")
    world.driver.running[guest.uuid] = PowerState.SHUTDOWN
    world.start()
    eventually(lambda: row.power_state is PowerState.SHUTDOWN)
    assert "start" not in world.driver.verbs


def test_option_off_leaves_active_guests_off_and_tells_so(world: World) -> None:
    row = world.conductor.place(guest_spec())
    row.power_state = PowerState.RUNNING
    world.start(resume_guests_state_on_host_boot=False)
    eventually(lambda: row.power_state is PowerState.NOSTATE)
    assert "spawn" not in world.driver.verbs


def test_one_guest_that_cannot_come_back_does_not_hold_up_the_others(world: World) -> None:
    rows = [world.conductor.place(guest_spec()) for _ in range(3)]
    world.driver.failures["spawn"] = [DriverError("disk is gone")]
    world.start()
    eventually(lambda: sum(row.power_state is PowerState.RUNNING for row in rows) == 2)
    assert [one.error for one in world.conductor.returns] == ["disk is gone", "", ""]


def test_cut_off_build_is_finished_after_a_restart(world: World) -> None:
    guest = guest_spec()
    world.conductor.sends_wakeups = False
    work = world.conductor.order(WorkKind.BUILD, guest)
    work.state, work.attempt, work.owner = "running", 1, "h1:1:dead"
    world.start()
    eventually(lambda: work.state == "done")
    assert work.attempt == 2


def test_leases_of_the_dead_run_are_ended_at_once(world: World) -> None:
    guest = guest_spec()
    world.conductor.sends_wakeups = False
    work = world.conductor.order(WorkKind.BUILD, guest)
    work.state, work.attempt, work.owner = "running", 1, "h1:1:dead"
    work.lease_until = time.monotonic() + 3600
    agent = Agent(
        host="h1",
        conductor=world.conductor,
        open_driver=world.driver.opened,
        state_dir=world.state_dir,
        options=QUICK,
    )
    world.run(agent)
    eventually(lambda: work.state == "done")


def test_work_that_waits_for_its_instance_is_given_back(world: World) -> None:
    guest = guest_spec()
    world.driver.gate("spawn")
    running = world.start(shutdown_s=2.2)
    build = world.conductor.order(WorkKind.BUILD, guest)
    eventually(lambda: "spawn" in world.driver.verbs)
    stop = world.conductor.order(WorkKind.STOP, guest)
    eventually(lambda: stop.state == "running")
    running.end()
    assert set(world.conductor.given_back) == {build.work_id, stop.work_id}


def test_orphan_is_removed_after_the_grace_period(world: World) -> None:
    world.start()
    eventually((world.state_dir / "compute_id").exists)
    world.driver.running[STRANGER] = PowerState.RUNNING
    began = time.monotonic()
    eventually(lambda: STRANGER not in world.driver.running)
    assert time.monotonic() - began >= 0.2


def test_orphan_stays_during_the_grace_period(world: World) -> None:
    world.conductor.orphan_grace_s = 3600.0
    world.start()
    world.driver.running[STRANGER] = PowerState.RUNNING
    reports = len(world.conductor.reports)
    eventually(lambda: len(world.conductor.reports) > reports + 4)
    assert STRANGER in world.driver.running


def test_orphan_stays_when_reaping_is_off(world: World) -> None:
    world.conductor.orphan_grace_s = 0.0
    world.start(reap_orphans=False)
    eventually((world.state_dir / "compute_id").exists)
    world.driver.running[STRANGER] = PowerState.RUNNING
    reports = len(world.conductor.reports)
    eventually(lambda: len(world.conductor.reports) > reports + 4)
    assert STRANGER in world.driver.running
    assert world.conductor.not_removed_because == "The agent was started with --keep-orphans"


def test_of_very_many_orphans_the_first_are_told_and_the_others_counted(world: World) -> None:
    strangers = [str(UUID(int=at + 1)) for at in range(ORPHANS_MAX + 7)]
    world.driver.running |= dict.fromkeys(reversed(strangers), PowerState.RUNNING)
    world.start(reap_orphans=False)
    eventually(lambda: world.conductor.seen_orphans)
    assert sorted(world.conductor.seen_orphans) == strangers[:ORPHANS_MAX]
    assert world.conductor.more_orphans == 7


def test_orphan_that_became_an_instance_of_this_host_is_not_removed(world: World) -> None:
    """The list was read before: the question under the guest's lock decides."""
    world.conductor.orphan_grace_s = 0.0
    world.conductor.release_guest = lambda **_: False  # type: ignore[method-assign]
    world.start()
    eventually((world.state_dir / "compute_id").exists)
    world.driver.running[STRANGER] = PowerState.RUNNING
    reports = len(world.conductor.reports)
    eventually(lambda: len(world.conductor.reports) > reports + 4)
    assert STRANGER in world.driver.running


def test_control_plane_that_does_not_know_the_node_costs_no_guest(world: World) -> None:
    world.start()
    eventually((world.state_dir / "compute_id").exists)
    world.agents[0].end()
    world.driver.running[STRANGER] = PowerState.RUNNING
    world.conductor.node_uuid = "another database"
    world.conductor.orphan_grace_s = 0.0
    world.start()
    reports = len(world.conductor.reports)
    eventually(lambda: len(world.conductor.reports) > reports + 4)
    assert STRANGER in world.driver.running
