"""Console logs and power states: what is sent, and when."""

import time

from computeagent.agent.console import console_text
from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from tests.fixtures.patience import PATIENCE_S, eventually
from tests.units.computeagent.agent.conftest import World, guest_spec


def test_console_ships_only_what_changed(world: World) -> None:
    quiet, chatty = guest_spec(), guest_spec()
    for guest in (quiet, chatty):
        world.conductor.place(guest)
        world.driver.running[guest.uuid] = PowerState.RUNNING
        world.driver.logs[guest.uuid] = b"boot"
    world.start()
    eventually(lambda: world.conductor.consoles)
    world.driver.logs[chatty.uuid] = b"boot\nlogin:"
    eventually(lambda: len(world.conductor.consoles) > 1)
    assert world.conductor.consoles == [
        {quiet.uuid: "boot", chatty.uuid: "boot"},
        {chatty.uuid: "boot\nlogin:"},
    ]


def test_console_of_a_new_guest_is_shipped_at_once(world: World) -> None:
    guest = guest_spec()
    world.driver.logs[guest.uuid] = b"hello"
    world.start()
    eventually(lambda: world.conductor.heartbeats > 0)
    world.conductor.order(WorkKind.BUILD, guest)
    eventually(lambda: {guest.uuid: "hello"} in world.conductor.consoles)


def test_console_that_could_not_be_sent_is_sent_later(world: World) -> None:
    guest = guest_spec()
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    running = world.start()
    eventually(lambda: world.conductor.reported)
    world.conductor.away = True
    world.driver.logs[guest.uuid] = b"said while away"
    eventually(lambda: running.agent.context.counts["unavailable"] > 2)
    world.conductor.away = False
    eventually(lambda: world.conductor.consoles == [{guest.uuid: "said while away"}])


def test_console_tail_is_bounded(world: World) -> None:
    guest = guest_spec()
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.driver.logs[guest.uuid] = b"x" * 10_000 + b"end"
    world.start(console_max_bytes=100)
    eventually(lambda: world.conductor.consoles)
    assert world.conductor.consoles[0][guest.uuid] == "x" * 97 + "end"


def test_console_bytes_that_are_no_text_become_storable_text() -> None:
    assert console_text(b"a\x00b\xff\xc3\xa9") == "ab\ufffd\u00e9"


def test_power_state_is_told_once_until_it_changes(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start()
    eventually(lambda: row.power_state is PowerState.RUNNING)
    world.driver.running[guest.uuid] = PowerState.SHUTDOWN
    eventually(lambda: row.power_state is PowerState.SHUTDOWN)
    off = {guest.uuid: GuestFacts(power_state=PowerState.SHUTDOWN)}
    assert world.conductor.reported.count(off) == 1


def test_guest_that_vanished_is_told_as_no_state(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start()
    eventually(lambda: row.power_state is PowerState.RUNNING)
    del world.driver.running[guest.uuid]
    eventually(lambda: row.power_state is PowerState.NOSTATE)


def test_power_state_is_told_again_after_work_on_the_guest(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    world.start()
    eventually(lambda: row.power_state is PowerState.RUNNING)
    world.driver.failures["hard_reboot"] = [DriverError("no")]
    reported = len(world.conductor.reported)
    world.conductor.order(WorkKind.REBOOT, guest)
    eventually(lambda: row.action_failures)
    eventually(lambda: len(world.conductor.reported) > reported)


def test_power_state_of_a_guest_that_is_worked_on_is_not_told(world: World) -> None:
    guest = guest_spec()
    world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    gate = world.driver.gate("hard_reboot")
    world.start()
    world.conductor.order(WorkKind.REBOOT, guest)
    assert world.driver.entered["hard_reboot"].wait(PATIENCE_S)
    world.conductor.reported.clear()
    world.driver.running[guest.uuid] = PowerState.SHUTDOWN
    heartbeats = world.conductor.heartbeats
    eventually(lambda: world.conductor.heartbeats > heartbeats + 5)
    assert world.conductor.reported == []
    gate.set()


def test_guest_that_no_listing_names_and_that_is_there_is_not_told_as_missing(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    running = world.start()
    eventually(lambda: row.power_state is PowerState.RUNNING)
    world.driver.unlisted.add(guest.uuid)
    registered = len(world.conductor.reports)
    eventually(lambda: len(world.conductor.reports) > registered + 3)
    assert row.power_state is PowerState.RUNNING
    assert running.agent.context.counts["resources_failed"] == 0


def test_guest_that_cannot_be_read_is_not_told_as_missing(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    running = world.start()
    eventually(lambda: row.power_state is PowerState.RUNNING)
    world.driver.sick.add(guest.uuid)
    world.driver.unlisted.add(guest.uuid)
    eventually(lambda: running.agent.context.counts["guest_unreadable"] > 2)
    assert row.power_state is PowerState.RUNNING


def test_listing_that_lost_many_guests_at_once_is_not_believed(world: World) -> None:
    guests = [guest_spec() for _ in range(4)]
    rows = [world.conductor.place(guest) for guest in guests]
    for guest in guests:
        world.driver.running[guest.uuid] = PowerState.RUNNING
    running = world.start()
    eventually(lambda: all(row.power_state is PowerState.RUNNING for row in rows))
    stranger = guest_spec()
    world.driver.running.clear()
    world.driver.running[stranger.uuid] = PowerState.RUNNING
    eventually(lambda: running.agent.context.counts["listing_not_believed"] > 2)
    assert {row.power_state for row in rows} == {PowerState.RUNNING}
    reason = running.agent.context.safe_mode.reason
    assert reason.startswith("4 of 4 guests are gone from the hypervisor's listing at once")
    eventually(lambda: world.conductor.reports[-1].safe_mode == reason)
    world.conductor.order(WorkKind.REBOOT, guests[0])
    registered = len(world.conductor.reports)
    eventually(lambda: len(world.conductor.reports) > registered + 2)
    assert "hard_reboot" not in world.driver.verbs
    assert stranger.uuid in world.driver.running

    # A supervisor that starts the agent again settles nothing.
    running.end()
    running = world.start()
    eventually(lambda: world.conductor.reports[-1].safe_mode == reason)
    assert not set(world.driver.running) & {guest.uuid for guest in guests}

    for guest in guests:
        world.driver.running[guest.uuid] = PowerState.RUNNING
    eventually(lambda: world.conductor.reports[-1].safe_mode == "")
    eventually(lambda: "hard_reboot" in world.driver.verbs)


def test_listing_that_somebody_vouches_for_is_believed_at_the_start(world: World) -> None:
    guests = [guest_spec() for _ in range(4)]
    rows = [world.conductor.place(guest) for guest in guests]
    for row in rows:
        row.power_state = PowerState.RUNNING
    world.state_dir.mkdir(parents=True, exist_ok=True)
    (world.state_dir / "safe_mode").write_text("4 of 4 guests are gone.\n")
    world.start(trust_listing=True)
    eventually(lambda: {guest.uuid for guest in guests} <= set(world.driver.running))
    assert not (world.state_dir / "safe_mode").exists()


def test_guest_that_was_told_as_missing_and_is_back_is_told_at_once(world: World) -> None:
    guest = guest_spec()
    row = world.conductor.place(guest)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    # The power sync reads no guest while this is listed away, and remembers what it told before.
    world.start(power_sync_interval_s=0.3)
    eventually(lambda: row.power_state is PowerState.RUNNING)
    reported = len(world.conductor.reported)
    del world.driver.running[guest.uuid]
    eventually(lambda: row.power_state is PowerState.NOSTATE)
    world.driver.running[guest.uuid] = PowerState.RUNNING
    eventually(lambda: row.power_state is PowerState.RUNNING)
    assert len(world.conductor.reported) > reported + 1


def test_guest_that_cannot_be_read_does_not_keep_the_others_from_being_told(world: World) -> None:
    sick, crashed = guest_spec(), guest_spec()
    row = world.conductor.place(crashed)
    world.conductor.place(sick)
    for guest in (sick, crashed):
        world.driver.running[guest.uuid] = PowerState.RUNNING
    running = world.start()
    eventually(lambda: row.power_state is PowerState.RUNNING)
    world.driver.sick.add(sick.uuid)
    world.driver.running[crashed.uuid] = PowerState.CRASHED
    eventually(lambda: row.power_state is PowerState.CRASHED)
    assert running.agent.context.counts["guest_unreadable"] > 0


def test_log_that_changes_each_tick_is_shipped_ever_more_seldom(world: World) -> None:
    chatty = guest_spec()
    world.conductor.place(chatty)
    world.driver.running[chatty.uuid] = PowerState.RUNNING
    world.driver.logs[chatty.uuid] = b"0"
    world.start()
    eventually(lambda: world.conductor.consoles)
    began = time.monotonic()
    while time.monotonic() - began < 2.0:
        world.driver.logs[chatty.uuid] += b"."
        time.sleep(0.002)
    # A tick each 0.02 s would be a hundred; doubling rests leave some seven.
    assert 3 <= len(world.conductor.consoles) <= 10


def test_log_that_was_quiet_for_once_is_shipped_with_the_next_tick_again(world: World) -> None:
    chatty = guest_spec()
    world.conductor.place(chatty)
    world.driver.running[chatty.uuid] = PowerState.RUNNING
    world.driver.logs[chatty.uuid] = b"0"
    running = world.start(console_max_interval_s=0.1)
    for _ in range(200):
        world.driver.logs[chatty.uuid] += b"."
        time.sleep(0.002)
    eventually(lambda: world.conductor.consoles[-1][chatty.uuid] == world.driver.logs[chatty.uuid].decode())
    time.sleep(0.3)
    world.driver.logs[chatty.uuid] += b"again"
    eventually(lambda: world.conductor.consoles[-1][chatty.uuid].endswith("again"))
    assert running.agent.context.counts["console_failed"] == 0


def test_guests_that_hang_do_not_delay_the_others(world: World) -> None:
    hanging, well = [guest_spec() for _ in range(3)], guest_spec()
    for guest in (*hanging, well):
        world.conductor.place(guest)
        world.driver.running[guest.uuid] = PowerState.RUNNING
    gate = world.driver.gate("stop")
    world.start(slow_work_s=0.05)
    for guest in hanging:
        world.conductor.order(WorkKind.STOP, guest)
    eventually(lambda: world.driver.verbs.count("stop") == 3)
    world.conductor.order(WorkKind.PAUSE, well)
    eventually(lambda: world.driver.running[well.uuid] is PowerState.PAUSED)
    assert {world.driver.running[guest.uuid] for guest in hanging} == {PowerState.RUNNING}
    gate.set()
