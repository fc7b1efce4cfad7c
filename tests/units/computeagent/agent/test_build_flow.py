"""How builds end, and what is left on the host when the control plane hears of it."""

from dataclasses import replace

from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import PortSpec
from computeagent.protocol.hosts import HostUsage
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.work import WorkKind
from controlplane.kernel.errors import NotFound
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.units.computeagent.agent.conftest import World, guest_spec


def test_ordered_build_ends_active_with_its_steps_recorded(world: World) -> None:
    guest = guest_spec(ports=(PortSpec("52:54:00:00:00:01", "default"),))
    world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    row = world.conductor.instances[guest.uuid]
    eventually(lambda: row.vm_state == "active")
    assert row.power_state is PowerState.RUNNING
    names = ("claim", "group_check", "networking", "block_device_mapping", "spawning")
    assert row.steps == [(name, end) for name in names for end in ("started", "finished")]


def test_only_steps_that_can_hang_are_written_before_they_begin(world: World) -> None:
    guest = guest_spec()
    world.conductor.is_grouped = False
    world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    eventually(lambda: world.conductor.instances[guest.uuid].vm_state == "active")
    assert world.conductor.reported_steps == [
        (("claim", "networking"), "block_device_mapping"),
        (("block_device_mapping",), "spawning"),
        (("spawning",), ""),
    ]


def test_usage_is_told_once_after_a_build(world: World) -> None:
    guest = guest_spec()

    def reported_usage() -> list[HostUsage]:
        """By itself, or with the report of a registration that happened to come just then."""
        reports = [
            HostUsage(one.vcpus_used, one.memory_used_mib, one.disk_used_gib, one.running_guests)
            for one in world.conductor.reports
        ]
        return [one for one in [*reports, *world.conductor.usages] if one.vcpus]

    running = world.start(resource_interval_s=30.0)
    eventually(lambda: world.conductor.reports)
    world.conductor.order(WorkKind.BUILD, guest)
    eventually(lambda: reported_usage() and reported_usage()[-1].running_guests)
    before = reported_usage()
    assert before[-1] == HostUsage(vcpus=1, memory_mib=128, disk_gib=1, running_guests=1)
    running.agent.context.changes.note(guest.uuid)
    eventually(lambda: not running.agent.context.changes.happened.is_set())
    assert reported_usage() == before


def test_user_failure_is_reported_as_users_fault(world: World) -> None:
    guest = guest_spec()
    world.driver.failures["prepare_disks"] = [DriverError("flavor disk too small", failure_class=FailureClass.USER)]
    work = world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    row = world.conductor.instances[guest.uuid]
    eventually(lambda: row.vm_state == "error")
    assert [(f.failure_class, f.step, f.message) for f in row.failures] == [
        (FailureClass.USER, "block_device_mapping", "flavor disk too small")
    ]
    assert work.attempt == 1


def test_host_failure_is_cleaned_up_before_it_is_reported(world: World) -> None:
    guest = guest_spec()
    reports_at_destroy: list[int] = []
    world.driver.failures["spawn"] = [RuntimeError("no such machine type")]
    world.conductor.order(WorkKind.BUILD, guest)
    row = world.conductor.instances[guest.uuid]
    world.driver.on_destroy = lambda: reports_at_destroy.append(len(row.failures))
    world.start()
    eventually(lambda: row.failures)
    assert reports_at_destroy == [0]
    assert world.driver.disks == set()
    assert row.failures[0].failure_class is FailureClass.HOST
    assert row.failures[0].message == "RuntimeError: no such machine type"


def test_image_that_is_gone_is_not_tried_elsewhere(world: World) -> None:
    guest = guest_spec()
    world.driver.failures["prepare_image"] = [NotFound("image i was deleted")]
    world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    row = world.conductor.instances[guest.uuid]
    eventually(lambda: row.vm_state == "error")
    assert (row.failures[0].failure_class, row.failures[0].message) == (FailureClass.USER, "image i was deleted")


def test_failed_clean_up_reports_nothing_and_the_work_is_taken_again(world: World) -> None:
    guest = guest_spec()
    world.conductor.lease_s = 0.5
    world.driver.failures["spawn"] = [DriverError("broken once")]
    world.driver.failures["destroy"] = [DriverError("busy")] * 3
    work = world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    row = world.conductor.instances[guest.uuid]
    eventually(lambda: row.vm_state == "active")
    assert row.failures == []
    assert work.attempt == 2
    assert ("clean_up", f"instance {guest.uuid} is not removed: busy") in row.steps


def test_guest_larger_than_the_host_is_refused_with_numbers(world: World) -> None:
    guest = guest_spec(memory_mib=8192)
    world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    row = world.conductor.instances[guest.uuid]
    eventually(lambda: row.failures)
    assert row.failures[0].step == "claim"
    assert row.failures[0].message == "memory: wants 8192 MiB, host has 4096 MiB"
    assert "spawn" not in world.driver.verbs


def test_group_policy_refusal_is_not_the_hosts_fault(world: World) -> None:
    guest = guest_spec()
    world.conductor.group_allows = False
    world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    row = world.conductor.instances[guest.uuid]
    eventually(lambda: row.failures)
    assert (row.failures[0].failure_class, row.failures[0].step) == (FailureClass.POLICY, "group_check")
    assert row.failures[0].message == "group g: 1 of 1 on this host"


def test_two_ports_with_one_mac_fail_as_network(world: World) -> None:
    port = PortSpec("52:54:00:00:00:01", "default")
    guest = guest_spec(ports=(port, replace(port, mac=port.mac.upper())))
    world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    row = world.conductor.instances[guest.uuid]
    eventually(lambda: row.failures)
    assert (row.failures[0].failure_class, row.failures[0].step) == (FailureClass.NETWORK, "networking")


def test_second_attempt_on_running_guest_leaves_its_disks_alone(world: World) -> None:
    guest = guest_spec()
    work = world.conductor.order(WorkKind.BUILD, guest)
    work.attempt = 1
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start()
    row = world.conductor.instances[guest.uuid]
    eventually(lambda: row.vm_state == "active")
    assert "prepare_disks" not in world.driver.verbs


def test_lease_lost_during_a_step_writes_nothing_more(world: World) -> None:
    guest = guest_spec()
    gate = world.driver.gate("prepare_disks")
    work = world.conductor.order(WorkKind.BUILD, guest)
    running = world.start()
    assert world.driver.entered["prepare_disks"].wait(PATIENCE_S)
    world.conductor.fence(work)
    writes = world.conductor.writes
    gate.set()
    eventually(lambda: running.agent.context.counts["fenced"] == 1)
    assert world.conductor.writes == writes
    assert "spawn" not in world.driver.verbs
    assert "destroy" not in world.driver.verbs


def test_renewer_keeps_a_long_build_leased(world: World) -> None:
    guest = guest_spec()
    world.conductor.lease_s = 0.6
    gate = world.driver.gate("prepare_disks")
    work = world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    assert world.driver.entered["prepare_disks"].wait(PATIENCE_S)
    first = work.lease_until
    eventually(lambda: work.lease_until > first + 1.2)
    gate.set()
    eventually(lambda: world.conductor.instances[guest.uuid].vm_state == "active")
    assert work.attempt == 1


def test_work_whose_taking_was_never_heard_of_is_had_by_the_next_try(world: World) -> None:
    guest = guest_spec()
    world.conductor.lost_answers_of_take = 2
    work = world.conductor.order(WorkKind.BUILD, guest)
    world.start()
    eventually(lambda: world.conductor.instances[guest.uuid].vm_state == "active")
    assert (work.attempt, world.conductor.takes) == (1, 1)


def test_build_outlives_a_short_absence_of_the_control_plane(world: World) -> None:
    guest = guest_spec()
    gate = world.driver.gate("prepare_disks")
    world.conductor.order(WorkKind.BUILD, guest)
    running = world.start()
    assert world.driver.entered["prepare_disks"].wait(PATIENCE_S)
    world.conductor.away = True
    gate.set()
    eventually(lambda: running.agent.context.counts["unavailable"] >= 2)
    world.conductor.away = False
    eventually(lambda: world.conductor.instances[guest.uuid].vm_state == "active")
    assert world.driver.verbs.count("spawn") == 1
