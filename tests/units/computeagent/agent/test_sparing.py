"""An agent asks less of a control plane that sends wake-ups again, and of a host that is as it was tells measures."""

from dataclasses import replace

import pytest

from computeagent.agent.asking import Asking
from computeagent.agent.host_report import measures_of, without_measures
from computeagent.agent.image_prefetch import ImagePrefetch
from computeagent.agent.upkeep import SPARING_LOOK_S, WHOLE_REPORT_EVERY_S, RegistrationState, Upkeep
from computeagent.agent.volume_work import VolumeWork
from computeagent.agent.worker import no_scope
from computeagent.protocol.hosts import ClockSkew, HostReport, HostUsage, Registration
from computeagent.protocol.images import WantedImage
from computeagent.protocol.volumes import PoolKind, PoolReport
from computeagent.protocol.work import HostWakeup, HostWakeupKind, WorkKind, WorkWakeup
from controlplane.kernel.errors import Conflict, Unavailable
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import World, guest_spec

IMAGE = WantedImage("i1", "a" * 64, 11, "raw")
REPORT = HostReport("h1", "QEMU", 1, 4, 1024, 10, pools=(PoolReport("local", PoolKind.FILE, total_bytes=9),))


class Clock:
    """Moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def never() -> None:
    raise Unavailable("away")


def test_what_was_never_asked_is_due_and_then_after_a_while() -> None:
    clock = Clock()
    asking = Asking(clock)
    assert asking.is_due(300.0)
    with asking.asked():
        pass
    assert not asking.is_due(300.0)
    clock.now = 300.0
    assert asking.is_due(300.0)


def test_wakeup_makes_it_due_and_wakes_who_asks() -> None:
    asking = Asking(Clock())
    with asking.asked():
        pass
    asking.wakeup()
    assert (asking.is_due(300.0), asking.wake.is_set()) == (True, True)


def test_wakeup_that_comes_while_it_is_asked_is_not_lost() -> None:
    asking = Asking(Clock())
    with asking.asked():
        asking.wakeup()
    assert asking.is_due(300.0)


def test_what_could_not_be_asked_stays_due() -> None:
    asking = Asking(Clock())
    with asking.asked():
        pass
    with pytest.raises(Unavailable), asking.asked():
        never()
    assert asking.is_due(300.0)


@pytest.mark.parametrize(("is_sparing", "seconds"), [(True, SPARING_LOOK_S), (False, 30.0)])
def test_looks_are_seldom_where_wakeups_are_sent_again(is_sparing: bool, seconds: float) -> None:
    state = RegistrationState()
    assert state.look_s(30.0) == 30.0
    state.set(Registration("s", "n", False, 10.0, 30.0, is_sparing=is_sparing))
    assert state.look_s(30.0) == seconds


MEASURED = {
    "metrics": {"cpu.percent": 1.0},
    "clock_skew": ClockSkew(1.0, 0.1),
    "disk_available_least_gib": 3,
    "vcpus_used": 1,
    "memory_used_mib": 2,
    "disk_used_gib": 3,
    "running_guests": 4,
    "pools": (replace(REPORT.pools[0], free_bytes=5),),
}
OTHER = {
    "vcpus": 5,
    "traits": ("X",),
    "safe_mode": "why",
    "networks_lack": "ip",
    "pools": (replace(REPORT.pools[0], total_bytes=10),),
    "stats": {"a": 1},
}


@pytest.mark.parametrize("name", MEASURED)
def test_measures_make_no_other_host(name: str) -> None:
    assert without_measures(replace(REPORT, **{name: MEASURED[name]})) == without_measures(REPORT)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", OTHER)
def test_what_is_no_measure_makes_another_host(name: str) -> None:
    assert without_measures(replace(REPORT, **{name: OTHER[name]})) != without_measures(REPORT)  # type: ignore[arg-type]


def test_measures_are_all_that_is_left_out_of_a_comparison() -> None:
    measures = measures_of(replace(REPORT, **MEASURED), HostUsage(1, 2, 3, 4))  # type: ignore[arg-type]
    assert measures.usage == HostUsage(1, 2, 3, 4)
    assert (measures.metrics, measures.clock_skew) == (MEASURED["metrics"], MEASURED["clock_skew"])
    assert (measures.disk_available_least_gib, measures.pools) == (3, MEASURED["pools"])


@pytest.fixture
def sparing(world: World) -> World:
    world.conductor.is_sparing = True
    return world


def reported(world: World, clock: Clock) -> Upkeep:
    """The upkeep of an agent that has registered, its own threads done for now."""
    context = world.start(resource_interval_s=3600.0).agent.context
    eventually(lambda: len(world.conductor.reports) + len(world.conductor.measured) > 1)  # what its own threads told
    world.conductor.measured.clear()
    upkeep = Upkeep(replace(context, clock=clock), RegistrationState())
    upkeep.register()
    return upkeep


def test_host_that_is_as_it_was_tells_its_measures(sparing: World) -> None:
    upkeep = reported(sparing, Clock())
    registered = len(sparing.conductor.reports)
    upkeep.report_again()
    upkeep.report_again()
    assert (len(sparing.conductor.reports), len(sparing.conductor.measured)) == (registered, 2)
    assert {"cpu.idle.time", "memory.available.mib"} <= set(sparing.conductor.measured[-1].metrics)


def test_host_is_registered_again_when_it_is_another(sparing: World) -> None:
    upkeep = reported(sparing, Clock())
    registered = len(sparing.conductor.reports)
    sparing.driver.memory_mib += 1
    upkeep.report_again()
    assert sparing.conductor.reports[-1].memory_mib == sparing.driver.memory_mib
    upkeep.report_again()
    assert (len(sparing.conductor.reports), len(sparing.conductor.measured)) == (registered + 1, 1)


def test_host_is_registered_again_after_a_while(sparing: World) -> None:
    clock = Clock()
    upkeep = reported(sparing, clock)
    registered = len(sparing.conductor.reports)
    clock.now = WHOLE_REPORT_EVERY_S
    upkeep.report_again()
    upkeep.report_again()
    assert (len(sparing.conductor.reports), len(sparing.conductor.measured)) == (registered + 1, 1)


def test_host_that_is_not_known_any_more_is_registered(sparing: World) -> None:
    upkeep = reported(sparing, Clock())
    registered = len(sparing.conductor.reports)
    sparing.conductor.forgets_host = True
    upkeep.report_again()
    assert (len(sparing.conductor.reports), sparing.conductor.measured) == (registered + 1, [])


def test_control_plane_that_is_not_sparing_gets_whole_reports_and_claims(world: World) -> None:
    upkeep = reported(world, Clock())
    registered, claims = len(world.conductor.reports), world.conductor.claims
    upkeep.report_again()
    assert (len(world.conductor.reports), world.conductor.measured) == (registered + 1, [])
    upkeep.heartbeat()
    assert world.conductor.claims > claims


def test_heartbeat_of_a_sparing_control_plane_needs_no_claim(sparing: World) -> None:
    sparing.conductor.report_interval_s = 3600.0
    upkeep = reported(sparing, Clock())
    claims, heartbeats = sparing.conductor.claims, sparing.conductor.heartbeats
    upkeep.heartbeat()
    assert (sparing.conductor.claims, sparing.conductor.heartbeats) == (claims, heartbeats + 1)


def test_agent_whose_host_is_served_by_another_ends_by_its_heartbeat(sparing: World) -> None:
    running = sparing.start()
    eventually(lambda: sparing.conductor.heartbeats)
    sparing.conductor.fail_heartbeat = Conflict("Host h1 is served by another agent now.")
    assert running.exit_code() == 1


def test_images_and_networks_are_asked_for_when_a_wakeup_says_so(sparing: World) -> None:
    sparing.start()
    eventually(lambda: sparing.conductor.networks_asked and sparing.conductor.images_told)
    asked = len(sparing.conductor.networks_asked)
    sparing.conductor.wanted_images["i1"] = IMAGE
    sparing.conductor.pending_wakeups += [HostWakeup(HostWakeupKind.IMAGES), HostWakeup(HostWakeupKind.NETWORKS)]
    eventually(lambda: sparing.driver.images_present)
    eventually(lambda: len(sparing.conductor.networks_asked) > asked)


def test_images_are_not_asked_for_at_each_tick(sparing: World) -> None:
    context = sparing.start(images_interval_s=3600.0).agent.context
    eventually(lambda: sparing.conductor.images_told)
    # Of its own, so that it wakes no thread of the agent, which would fetch the same.
    prefetch = ImagePrefetch(replace(context, images_wanted=Asking(Clock())))
    prefetch.tick("1")
    sparing.conductor.wanted_images["i1"] = IMAGE
    prefetch.tick("1", SPARING_LOOK_S)
    assert sparing.conductor.image_progress == []
    prefetch.tick("1")
    assert sparing.conductor.wanted_images == {}


def test_work_is_done_without_a_look_where_its_wakeup_is_sent_again(sparing: World) -> None:
    sparing.start()
    eventually(lambda: sparing.conductor.heartbeats)
    work = sparing.conductor.order(WorkKind.BUILD, guest_spec(), wakeups=0)  # the first one was lost
    sparing.conductor.pending_wakeups.append(WorkWakeup(WorkKind.BUILD, work.work_id))
    eventually(lambda: work.state == "done")


def test_work_on_volumes_is_asked_for_when_a_wakeup_says_so(sparing: World) -> None:
    context = sparing.start().agent.context
    eventually(lambda: sparing.conductor.heartbeats)
    work = VolumeWork(context, no_scope, lambda _name, _body: None)
    for asked in (1, 1):
        work.ask("1", SPARING_LOOK_S)
        assert sparing.conductor.volume_asks == asked
    context.volumes_wanted.wakeup()
    work.ask("1", SPARING_LOOK_S)
    assert sparing.conductor.volume_asks == 2


def test_wakeup_that_comes_in_safe_mode_is_kept_until_its_end(sparing: World) -> None:
    context = sparing.start().agent.context
    eventually(lambda: sparing.conductor.heartbeats)
    work = VolumeWork(context, no_scope, lambda _name, _body: None)
    context.safe_mode.enter("guests are gone")
    work.ask("1", SPARING_LOOK_S)
    assert sparing.conductor.volume_asks == 0
    context.safe_mode.leave("they are back")
    work.ask("1", SPARING_LOOK_S)
    assert sparing.conductor.volume_asks == 1
