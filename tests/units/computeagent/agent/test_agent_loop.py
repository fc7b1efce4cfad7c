"""Wakeups, heartbeats, failures of threads, the end of the process."""

import threading

import pytest

from computeagent.agent.instance_lock import AgentAlreadyRunning, instance_lock
from computeagent.agent.loop import Agent
from computeagent.agent.ownership import HostRefused
from computeagent.drivers.base import DriverError
from computeagent.protocol.work import WorkKind
from controlplane.kernel.errors import Conflict, NotFound
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.units.computeagent.agent.conftest import World, guest_spec


def test_lost_wakeup_is_found_by_looking_for_work(world: World) -> None:
    world.conductor.sends_wakeups = False
    running = world.start()
    guest = guest_spec()
    world.conductor.order(WorkKind.BUILD, guest)
    eventually(lambda: world.conductor.instances[guest.uuid].vm_state == "active")
    assert running.agent.context.counts["found"] >= 1


def test_double_wakeup_runs_once(world: World) -> None:
    gate = world.driver.gate("spawn")
    world.start()
    guest = guest_spec()
    work = world.conductor.order(WorkKind.BUILD, guest, wakeups=3)
    assert world.driver.entered["spawn"].wait(PATIENCE_S)
    gate.set()
    eventually(lambda: work.state == "done")
    assert (work.attempt, world.driver.verbs.count("spawn")) == (1, 1)


def test_heartbeat_goes_on_while_builds_hang(world: World) -> None:
    world.driver.gate("prepare_image")
    world.start()
    for _ in range(3):
        world.conductor.order(WorkKind.BUILD, guest_spec())
    assert world.driver.entered["prepare_image"].wait(PATIENCE_S)
    before = world.conductor.heartbeats
    eventually(lambda: world.conductor.heartbeats > before + 3)


def test_at_most_the_allowed_builds_run_at_once(world: World) -> None:
    gate = world.driver.gate("prepare_image")
    world.start(max_concurrent_builds=2)
    works = [world.conductor.order(WorkKind.BUILD, guest_spec()) for _ in range(5)]
    eventually(lambda: world.driver.verbs.count("prepare_image") == 2)
    assert world.conductor.takes == 2
    gate.set()
    eventually(lambda: all(work.state == "done" for work in works))


def test_poisonous_item_does_not_stop_the_others(world: World) -> None:
    poison, healthy = guest_spec(uuid="../../etc/passwd"), guest_spec()
    running = world.start()
    world.conductor.order(WorkKind.BUILD, poison)
    world.conductor.order(WorkKind.BUILD, healthy)
    eventually(lambda: world.conductor.instances[healthy.uuid].vm_state == "active")
    eventually(lambda: running.agent.context.counts["broken"] == 1)
    assert not running.exit_codes


def test_failing_hypervisor_listing_is_counted_and_tried_again(world: World) -> None:
    running = world.start()
    first = guest_spec()
    world.conductor.order(WorkKind.BUILD, first)
    # An agent that builds has started: its own first listing, which must not fail, is over.
    eventually(lambda: world.conductor.instances[first.uuid].vm_state == "active")
    world.driver.failures["guests"] = [DriverError("libvirt is away")] * 5
    eventually(lambda: not world.driver.failures["guests"])
    guest = guest_spec()
    world.conductor.order(WorkKind.BUILD, guest)
    eventually(lambda: world.conductor.instances[guest.uuid].vm_state == "active")
    assert not running.exit_codes


def test_death_of_a_thread_ends_the_process_with_an_error(world: World) -> None:
    running = world.start()
    eventually(lambda: world.conductor.heartbeats > 0)
    world.conductor.fail_heartbeat = KeyError("a defect")
    assert running.exit_code() == 1


def test_silent_thread_ends_the_process_with_an_error(world: World) -> None:
    hang = threading.Event()
    running = world.start(watchdog_s=0.3)
    eventually(lambda: world.conductor.heartbeats > 0)
    world.driver.console_log = lambda uuid, *, max_bytes: hang.wait(PATIENCE_S) and b""  # type: ignore[method-assign]
    world.conductor.order(WorkKind.BUILD, guest_spec())
    assert running.exit_code() == 1
    hang.set()


def test_stop_lets_work_end_and_exits_zero(world: World) -> None:
    gate = world.driver.gate("spawn")
    running = world.start(shutdown_s=PATIENCE_S)
    work = world.conductor.order(WorkKind.BUILD, guest_spec())
    assert world.driver.entered["spawn"].wait(PATIENCE_S)
    running.agent.stop()
    gate.set()
    assert running.exit_code() == 0
    assert work.state == "done"
    assert world.driver.verbs[-1] == "close"


def test_stop_gives_back_work_that_does_not_end(world: World) -> None:
    world.driver.gate("spawn")
    running = world.start(shutdown_s=2.3)
    work = world.conductor.order(WorkKind.BUILD, guest_spec())
    assert world.driver.entered["spawn"].wait(PATIENCE_S)
    assert running.end() == 0
    assert (work.state, world.conductor.given_back) == ("waiting", [work.work_id])


def test_host_unknown_to_the_control_plane_registers_again(world: World) -> None:
    world.start(resource_interval_s=3600.0)
    eventually(lambda: world.conductor.heartbeats > 0)
    reports = len(world.conductor.reports)
    world.conductor.fail_heartbeat = NotFound("no such service")
    eventually(lambda: len(world.conductor.reports) > reports + 1)
    world.conductor.fail_heartbeat = None


def test_hypervisor_that_is_another_hosts_ends_the_agent_with_the_reason(world: World) -> None:
    world.conductor.fail_register = Conflict("Hypervisor node-1 belongs to host h2 already.")
    agent = Agent(host="h1", conductor=world.conductor, open_driver=world.driver.opened, state_dir=world.state_dir)
    with pytest.raises(HostRefused, match="belongs to host h2"):
        agent.run()
    assert world.conductor.heartbeats == 0


def test_stop_while_the_control_plane_is_away_exits_zero(world: World) -> None:
    world.conductor.away = True
    running = world.start()
    eventually(lambda: "open" in world.driver.verbs)
    assert running.end() == 0


def test_stop_while_the_hypervisor_is_being_opened_exits_zero(world: World) -> None:
    world.driver.gate("open")
    running = world.start()
    assert world.driver.entered["open"].wait(PATIENCE_S)
    assert running.end() == 0


def test_hypervisor_that_does_not_open_is_named(world: World) -> None:
    world.driver.failures["open"] = [DriverError("cannot connect to qemu:///system")]
    agent = Agent(host="h1", conductor=world.conductor, open_driver=world.driver.opened, state_dir=world.state_dir)
    with pytest.raises(DriverError, match="cannot connect"):
        agent.run()


def test_second_agent_of_a_host_is_refused(world: World) -> None:
    world.start()
    eventually(lambda: world.conductor.heartbeats > 0)
    second = Agent(host="h1", conductor=world.conductor, open_driver=world.driver.opened, state_dir=world.state_dir)
    with pytest.raises(AgentAlreadyRunning, match="host h1 already runs"):
        second.run()


def test_agent_that_is_not_let_in_waits_until_it_is(world: World) -> None:
    world.conductor.door_refusal = "Enrol the host again."
    running = world.start()
    eventually(lambda: world.conductor.turned_away > 0)
    assert running.thread.is_alive()
    world.conductor.door_refusal = ""
    eventually(lambda: world.conductor.heartbeats > 0)


def test_agent_that_is_not_let_in_ends_when_asked_to(world: World) -> None:
    world.conductor.door_refusal = "Enrol the host again."
    running = world.start()
    eventually(lambda: world.conductor.turned_away > 0)
    assert running.end() == 0


def test_instance_locked_elsewhere_is_left_for_later(world: World) -> None:
    world.conductor.lease_s = 0.4
    guest = guest_spec()
    with instance_lock(world.state_dir, guest.uuid):
        running = world.start()
        work = world.conductor.order(WorkKind.BUILD, guest)
        eventually(lambda: running.agent.context.counts["left"] >= 1)
        assert "prepare_image" not in world.driver.verbs
    eventually(lambda: work.state == "done")


def test_report_counts_what_instances_take(world: World) -> None:
    guest = guest_spec(memory_mib=512, swap_mib=100)
    world.start()
    world.conductor.order(WorkKind.BUILD, guest)
    eventually(lambda: world.conductor.reports and world.conductor.reports[-1].memory_used_mib == 512)
    report = world.conductor.reports[-1]
    assert (report.vcpus_used, report.disk_used_gib) == (1, 2)
