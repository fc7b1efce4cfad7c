"""Why a guest is in its state, out of what libvirt says and of what it said before."""

import libvirt
import pytest

from computeagent.drivers.libvirt.state_reasons import (
    NO_HISTORY,
    GuestHistories,
    GuestHistory,
    state_reason,
    without_false_crash,
)
from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState, StateReason

pytestmark = pytest.mark.libvirt


class Domain:
    """What is asked of a domain here."""

    def __init__(self, state: int, reason: int, errors: dict[str, int] | None = None) -> None:
        self._state, self._errors = [state, reason], errors

    def state(self) -> list[int]:
        return self._state

    def diskErrors(self) -> dict[str, int]:  # noqa: N802 - libvirt's name
        if self._errors is None:
            raise libvirt.libvirtError("not supported")
        return self._errors


@pytest.mark.parametrize(
    ("state", "reason", "errors", "history", "said"),
    [
        (libvirt.VIR_DOMAIN_RUNNING, 1, {}, NO_HISTORY, ("", "")),
        (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_USER, {}, NO_HISTORY, ("", "")),
        (libvirt.VIR_DOMAIN_SHUTOFF, libvirt.VIR_DOMAIN_SHUTOFF_DESTROYED, {}, GuestHistory(True), ("", "")),
        (libvirt.VIR_DOMAIN_SHUTOFF, libvirt.VIR_DOMAIN_SHUTOFF_CRASHED, {}, NO_HISTORY, ("crashed", "")),
        (libvirt.VIR_DOMAIN_SHUTOFF, libvirt.VIR_DOMAIN_SHUTOFF_CRASHED, {}, GuestHistory(True), ("panicked", "")),
        (libvirt.VIR_DOMAIN_CRASHED, libvirt.VIR_DOMAIN_CRASHED_PANICKED, {}, NO_HISTORY, ("panicked", "")),
        (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_WATCHDOG, {}, NO_HISTORY, ("watchdog", "")),
        (
            libvirt.VIR_DOMAIN_PAUSED,
            libvirt.VIR_DOMAIN_PAUSED_IOERROR,
            {"vdb": libvirt.VIR_DOMAIN_DISK_ERROR_UNSPEC, "vda": libvirt.VIR_DOMAIN_DISK_ERROR_NO_SPACE},
            NO_HISTORY,
            ("io_error", "vda: no space left, vdb: error"),
        ),
        (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_IOERROR, None, NO_HISTORY, ("io_error", "")),
    ],
)
def test_reason_is_given_where_a_guest_got_into_its_state_by_itself(
    state: int, reason: int, errors: dict[str, int] | None, history: GuestHistory, said: tuple[str, str]
) -> None:
    assert state_reason(Domain(state, reason, errors), history) == said


def test_panic_is_remembered_until_the_next_start_and_firings_are_counted_until_the_end() -> None:
    histories = GuestHistories()
    for _ in range(2):
        histories.note_watchdog("a", libvirt.VIR_DOMAIN_EVENT_WATCHDOG_RESET)
    histories.note_lifecycle("a", libvirt.VIR_DOMAIN_EVENT_CRASHED, libvirt.VIR_DOMAIN_EVENT_CRASHED_PANICKED)
    histories.note_lifecycle("a", libvirt.VIR_DOMAIN_EVENT_STOPPED, 3)
    assert histories.of("a") == GuestHistory(has_panicked=True, watchdog_fired=2)
    assert histories.of("b") == NO_HISTORY
    histories.note_lifecycle("a", libvirt.VIR_DOMAIN_EVENT_STARTED, 0)
    assert histories.of("a") == GuestHistory(watchdog_fired=2)
    histories.note_lifecycle("a", libvirt.VIR_DOMAIN_EVENT_UNDEFINED, 0)
    assert histories.of("a") == NO_HISTORY


def test_watchdog_that_powers_a_guest_off_is_remembered_until_the_next_start() -> None:
    histories = GuestHistories()
    histories.note_watchdog("a", libvirt.VIR_DOMAIN_EVENT_WATCHDOG_POWEROFF)
    histories.note_lifecycle("a", libvirt.VIR_DOMAIN_EVENT_STOPPED, libvirt.VIR_DOMAIN_EVENT_STOPPED_FAILED)
    assert histories.of("a") == GuestHistory(watchdog_fired=1, is_off_by_watchdog=True)
    histories.note_lifecycle("a", libvirt.VIR_DOMAIN_EVENT_STARTED, 0)
    assert histories.of("a") == GuestHistory(watchdog_fired=1)


def test_guest_that_its_watchdog_powered_off_is_off_whenever_it_was_looked_at() -> None:
    off = GuestHistory(watchdog_fired=1, is_off_by_watchdog=True)
    crashed = GuestFacts(PowerState.CRASHED, reason=StateReason.CRASHED)
    assert without_false_crash(crashed, off) == GuestFacts(PowerState.SHUTDOWN)
    assert without_false_crash(GuestFacts(PowerState.CRASHED), off) == GuestFacts(PowerState.SHUTDOWN)
    assert without_false_crash(crashed, GuestHistory(watchdog_fired=1)) == crashed
    assert without_false_crash(GuestFacts(PowerState.RUNNING), off) == GuestFacts(PowerState.RUNNING)


def test_what_is_remembered_is_bounded() -> None:
    histories = GuestHistories()
    for number in range(5000):
        histories.note_watchdog(str(number), libvirt.VIR_DOMAIN_EVENT_WATCHDOG_RESET)
    assert histories.of("0") == NO_HISTORY
    assert histories.of("4999").watchdog_fired == 1
