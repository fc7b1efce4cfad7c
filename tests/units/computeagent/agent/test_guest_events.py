"""Events of guests: what is looked at when, and how soon the control plane hears of it."""

import threading
import time
from pathlib import Path

import pytest

from computeagent.agent.guest_events import AFTER_WORK_S, BURST, MAX_NAMED, SPACING_S, GuestEvents
from computeagent.agent.loop import Agent
from computeagent.agent.options import AgentOptions
from computeagent.agent.power_sync import PowerSync
from computeagent.drivers.base import ForeignGuest
from computeagent.protocol.guests import GuestFacts, GuestSpec
from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from controlplane.kernel.errors import Unavailable
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conductor_double import ConductorDouble, InstanceRow
from tests.units.computeagent.agent.conftest import World, guest_spec
from tests.units.computeagent.agent.memory_driver import MemoryDriver

NEVER_S = 3600.0


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def events(clock: Clock) -> GuestEvents:
    return GuestEvents(clock)


def test_guest_that_was_named_is_due_at_once_and_only_once(events: GuestEvents) -> None:
    events.note("a")
    events.note("a")
    assert events.happened.is_set()
    assert events.take() == {"a"}
    assert events.take() == set()


def test_guest_that_flaps_is_due_once_a_second_and_wakes_nobody_in_between(events: GuestEvents, clock: Clock) -> None:
    looks = wakes = 0
    for _ in range(1000):
        clock.now += 0.01
        events.note("flaps")
        wakes += events.happened.is_set()
        events.happened.clear()
        looks += len(events.take())
    assert looks == pytest.approx(BURST - 1 + 10 / SPACING_S, abs=1)
    assert wakes <= 2 * looks


def test_guest_is_due_at_once_while_another_flaps(events: GuestEvents) -> None:
    for _ in range(BURST):
        events.note("flaps")
        assert events.take() == {"flaps"}
    events.note("flaps")
    events.note("crashed")
    assert events.take() == {"crashed"}
    assert 0 < events.seconds_to_next() <= SPACING_S


def test_guest_that_was_worked_on_is_due_later_or_with_its_next_event(events: GuestEvents, clock: Clock) -> None:
    events.look_after_work(["worked on", "crashes"])
    assert events.take() == set()
    events.note("crashes")
    assert events.take() == {"crashes"}
    clock.now += AFTER_WORK_S
    assert events.take() == {"worked on"}


def test_more_guests_than_are_counted_are_all_guests(events: GuestEvents) -> None:
    for number in range(10 * MAX_NAMED):
        events.note(str(number))
    taken = events.take()
    assert None in taken
    assert len(taken) <= MAX_NAMED


class Host:
    """The power sync of an agent that nothing else runs of."""

    def __init__(self, clock: Clock, state_dir: Path) -> None:
        self.conductor = ConductorDouble()
        self.driver = MemoryDriver()
        self.clock = clock
        agent = Agent(
            host="h1",
            conductor=self.conductor,
            open_driver=self.driver.opened,
            state_dir=state_dir,
            options=AgentOptions(power_sync_interval_s=NEVER_S),
            clock=clock,
        )
        self.context = agent.context
        self.context.driver.open()
        self.context.driver.watch(self.context.guest_events.note)
        self.sync = PowerSync(self.context)

    def guest(self) -> tuple[GuestSpec, InstanceRow]:
        """An instance that runs, and was told to."""
        guest = guest_spec()
        row = self.conductor.place(guest)
        self.driver.running[guest.uuid] = PowerState.RUNNING
        self.sync = PowerSync(self.context)
        self.sync.tick()
        self.conductor.reported.clear()
        return guest, row


@pytest.fixture
def host(clock: Clock, tmp_path: Path) -> Host:
    return Host(clock, tmp_path)


def test_only_the_guest_that_was_named_is_read(host: Host) -> None:
    guest, row = host.guest()
    other, row_of_other = host.guest()
    host.driver.running[other.uuid] = PowerState.SHUTDOWN  # and nobody says so
    host.driver.happen(guest.uuid, PowerState.CRASHED)
    host.sync.tick()
    assert row.power_state is PowerState.CRASHED
    assert row_of_other.power_state is PowerState.RUNNING
    assert host.conductor.reported == [{guest.uuid: GuestFacts(power_state=PowerState.CRASHED)}]


def test_event_that_was_lost_costs_the_period(host: Host, clock: Clock) -> None:
    guest, row = host.guest()
    host.driver.running[guest.uuid] = PowerState.SHUTDOWN
    host.sync.tick()
    assert row.power_state is PowerState.RUNNING
    clock.now += host.sync.rest_s()
    host.sync.tick()
    assert row.power_state is PowerState.SHUTDOWN


def test_events_that_may_have_been_lost_are_a_reason_to_look_at_all(host: Host) -> None:
    guest, row = host.guest()
    host.driver.running[guest.uuid] = PowerState.SHUTDOWN
    host.driver.notice(None)
    host.sync.tick()
    assert row.power_state is PowerState.SHUTDOWN


def test_change_without_work_is_news_for_usage_and_console(host: Host) -> None:
    guest, _ = host.guest()
    assert host.context.changes.take_fresh() == set()
    host.driver.happen(guest.uuid, PowerState.SHUTDOWN)
    host.sync.tick()
    assert host.context.changes.take_fresh() == {guest.uuid}


def test_event_during_work_is_told_after_it_and_not_in_it(host: Host, clock: Clock) -> None:
    guest, row = host.guest()
    assert host.context.instance_mutex.try_enter(guest.uuid)
    host.driver.happen(guest.uuid, PowerState.SHUTDOWN)
    host.sync.tick()
    host.context.instance_mutex.leave(guest.uuid)
    assert host.conductor.reported == []
    assert host.sync.rest_s() < 2 * AFTER_WORK_S
    clock.now += AFTER_WORK_S
    host.sync.tick()
    assert row.power_state is PowerState.SHUTDOWN


def worked_on(host: Host, guest: GuestSpec, told: PowerState | None) -> None:
    """A turn of work, which tells these facts at its end."""
    assert host.context.instance_mutex.try_enter(guest.uuid)
    if told is not None:
        host.context.instance_mutex.reported(guest.uuid, GuestFacts(power_state=told))
    host.context.instance_mutex.leave(guest.uuid)


def test_what_work_told_at_its_end_is_not_told_again(host: Host) -> None:
    guest, _ = host.guest()
    worked_on(host, guest, PowerState.RUNNING)
    host.driver.notice(guest.uuid)
    host.sync.tick()
    assert host.conductor.reported == []
    host.driver.happen(guest.uuid, PowerState.CRASHED)
    host.sync.tick()
    assert host.conductor.reported == [{guest.uuid: GuestFacts(power_state=PowerState.CRASHED)}]


@pytest.mark.parametrize("told", [None, PowerState.SHUTDOWN])
def test_what_later_work_told_or_did_not_tell_counts(host: Host, told: PowerState | None) -> None:
    guest, _ = host.guest()
    worked_on(host, guest, PowerState.RUNNING)
    worked_on(host, guest, told)
    host.driver.notice(guest.uuid)
    host.sync.tick()
    assert host.conductor.reported == [{guest.uuid: GuestFacts(power_state=PowerState.RUNNING)}]


def test_guest_that_is_worked_on_is_not_told_by_a_look_at_all(host: Host) -> None:
    guest, _ = host.guest()
    assert host.context.instance_mutex.try_enter(guest.uuid)
    host.driver.running[guest.uuid] = PowerState.SHUTDOWN  # in the midst of the work
    host.driver.on_facts = lambda: host.context.instance_mutex.leave(guest.uuid)
    host.driver.notice(None)
    host.sync.tick()
    assert host.conductor.reported == []


def test_build_is_not_told_of_by_a_message_of_its_own(world: World) -> None:
    built, other = guest_spec(), guest_spec()
    running = world.start(power_sync_interval_s=NEVER_S)
    eventually(lambda: world.conductor.heartbeats > 0)
    world.conductor.order(WorkKind.BUILD, built)
    eventually(lambda: world.conductor.instances[built.uuid].vm_state == "active")
    eventually(lambda: not running.agent.context.instance_mutex.is_busy(built.uuid))
    row = world.conductor.place(other)
    world.driver.running[other.uuid] = PowerState.RUNNING
    for uuid in (built.uuid, other.uuid):
        world.driver.notice(uuid)
    eventually(lambda: row.power_state is PowerState.RUNNING)
    assert not any(built.uuid in facts for facts in world.conductor.reported)


def test_event_that_could_not_be_told_is_told_by_the_next_tick(host: Host) -> None:
    guest, row = host.guest()
    host.driver.happen(guest.uuid, PowerState.CRASHED)
    host.conductor.away = True
    with pytest.raises(Unavailable):
        host.sync.tick()
    host.conductor.away = False
    host.sync.tick()
    assert row.power_state is PowerState.CRASHED


def test_events_of_guests_that_are_gone_or_not_ours_or_sick_disturb_nobody(host: Host) -> None:
    guest, row = host.guest()
    sick, _ = host.guest()
    host.driver.sick.add(sick.uuid)
    host.driver.foreign.add("somebody else's")
    for uuid in ("gone", "somebody else's", sick.uuid):
        host.driver.notice(uuid)
    host.driver.happen(guest.uuid, PowerState.CRASHED)
    host.sync.tick()
    assert row.power_state is PowerState.CRASHED
    assert host.context.counts["guest_unreadable"] == 1  # the sick one alone
    with pytest.raises(ForeignGuest):
        host.context.driver.facts("somebody else's")


def test_agent_tells_of_an_event_and_waits_for_no_look(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start(power_sync_interval_s=NEVER_S)
    eventually(lambda: row.power_state is PowerState.RUNNING)
    world.driver.happen(guest.uuid, PowerState.SHUTDOWN)
    eventually(lambda: row.power_state is PowerState.SHUTDOWN)


def test_storm_of_one_guest_starves_no_other_and_costs_little(world: World) -> None:
    flaps, quiet = guest_spec(), guest_spec()
    world.conductor.place(flaps)
    row = world.conductor.place(quiet)
    for guest in (flaps, quiet):
        world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start(power_sync_interval_s=NEVER_S)
    eventually(lambda: row.power_state is PowerState.RUNNING)
    ends = threading.Event()

    def storm() -> None:
        while not ends.wait(0.001):
            for state in (PowerState.PAUSED, PowerState.RUNNING, PowerState.PAUSED):
                world.driver.happen(flaps.uuid, state)

    thread = threading.Thread(target=storm)
    thread.start()
    try:
        began = time.monotonic()
        time.sleep(1.0)
        world.driver.happen(quiet.uuid, PowerState.CRASHED)
        eventually(lambda: row.power_state is PowerState.CRASHED)
        allowed = BURST + 2 + (time.monotonic() - began) / SPACING_S
        assert sum(flaps.uuid in facts for facts in world.conductor.reported) <= allowed
    finally:
        ends.set()
        thread.join()


def test_guest_that_goes_off_right_after_its_build_is_told(world: World) -> None:
    guest = guest_spec()
    running = world.start(power_sync_interval_s=NEVER_S)
    eventually(lambda: world.conductor.heartbeats > 0)
    world.conductor.order(WorkKind.BUILD, guest)
    row = world.conductor.instances[guest.uuid]
    eventually(lambda: row.vm_state == "active")
    eventually(lambda: not running.agent.context.instance_mutex.is_busy(guest.uuid))
    world.driver.happen(guest.uuid, PowerState.SHUTDOWN)
    eventually(lambda: row.power_state is PowerState.SHUTDOWN)
