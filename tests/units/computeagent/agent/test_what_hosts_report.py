"""What a running agent reports of its host and guests beside their states."""

import time

from computeagent.agent.counters import CountersReporter
from computeagent.agent.versions import SERVICE_VERSION, os_name
from computeagent.networks.memory import MemoryPlug
from computeagent.protocol.guests import GuestCounters
from computeagent.protocol.power import PowerState
from computeagent.protocol.wire import PROTOCOL_VERSION
from controlplane.kernel.version import VERSION
from scheduling.request_filters.by_feature import OWNER, OWNER_SINCE
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import World


def test_reports_versions_and_the_trait_that_the_service_version_promises(world: World) -> None:
    world.start()
    eventually(lambda: world.conductor.reports)
    report = world.conductor.reports[0]
    versions = report.versions
    assert (versions.agent, versions.protocol, versions.os) == (VERSION, PROTOCOL_VERSION, os_name())
    assert versions.kernel
    assert versions.service == SERVICE_VERSION >= OWNER_SINCE
    assert OWNER in report.traits


def test_reports_metrics_and_how_far_its_clock_is_off(world: World) -> None:
    world.conductor.time_ahead_s = 100.0
    world.start()
    eventually(lambda: world.conductor.reports and world.conductor.reports[-1].clock_skew)
    report = world.conductor.reports[-1]
    assert report.clock_skew is not None
    assert abs(report.clock_skew.ahead_s + 100.0) < 50.0  # half of the round trip is uncertain
    assert {"cpu.idle.time", "memory.available.mib"} <= set(report.metrics)


def test_sends_the_counters_of_guests_that_run_in_one_message(world: World) -> None:
    world.driver.running.update({"a": PowerState.RUNNING, "b": PowerState.RUNNING, "c": PowerState.SHUTDOWN})
    world.start(counters_interval_s=0.05)
    eventually(lambda: len(world.conductor.counters) > 1)
    assert world.conductor.counters[0] == {"a": GuestCounters(cpu_ns=1), "b": GuestCounters(cpu_ns=1)}


def test_host_without_guests_sends_no_counters(world: World) -> None:
    world.start(counters_interval_s=0.02)
    eventually(lambda: world.driver.counter_reads > 3)
    assert world.conductor.counters == []


def test_interval_of_0_asks_the_hypervisor_nothing(world: World) -> None:
    world.start(counters_interval_s=0.0)
    eventually(lambda: len(world.conductor.reports) > 2)
    assert world.driver.counter_reads == 0


def test_control_plane_without_the_verb_is_left_alone_until_it_is_another(world: World) -> None:
    world.conductor.knows_counters = False
    world.driver.running["a"] = PowerState.RUNNING
    running = world.start(counters_interval_s=0.02)
    eventually(lambda: world.conductor.counters)
    time.sleep(0.2)
    assert len(world.conductor.counters) == 1
    world.conductor.knows_counters, world.conductor.version = True, "2"
    eventually(lambda: len(world.conductor.counters) > 3)
    assert running.end() == 0


def test_reporter_asks_nothing_of_the_hypervisor_while_nobody_takes_the_answer(world: World) -> None:
    running = world.start(counters_interval_s=0.0)
    eventually(lambda: world.conductor.reports)
    world.conductor.knows_counters = False
    world.driver.running["a"] = PowerState.RUNNING
    reporter = CountersReporter(running.agent.context)
    for control_plane in ("1", "1", "2", "2"):
        reporter.tick(control_plane)
    assert (world.driver.counter_reads, len(world.conductor.counters)) == (2, 2)


def test_reports_which_networks_it_carries(world: World) -> None:
    world.plug = MemoryPlug(physical_networks=["physnet1", "dmz-2"])
    world.start()
    eventually(lambda: world.conductor.reports)
    assert {"CUSTOM_NETWORK_BRIDGE", "CUSTOM_PHYSNET_PHYSNET1", "CUSTOM_PHYSNET_DMZ_2"} <= set(
        world.conductor.reports[0].traits
    )
