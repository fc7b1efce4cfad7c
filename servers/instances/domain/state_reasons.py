"""What people read of a guest that got into its state by itself."""

from typing import Protocol

from computeagent.protocol.power import PowerState, StateReason
from controlplane.kernel.texts import Translate, gettext_noop, in_english
from servers.states import VmState

REASON_MAX, DETAILS_MAX = 20, 255

CRASH, STOOD_STILL, WATCHDOG_FIRED = "crash", "stood_still", "watchdog_fired"
INCIDENTS: dict[str, str] = {
    CRASH: gettext_noop("Guest crashed"),
    STOOD_STILL: gettext_noop("Guest stood still by itself"),
    WATCHDOG_FIRED: gettext_noop("Watchdog fired"),
}
"""What a guest does by itself, as its journal names it beside the actions, with the words for people."""


class Seen(Protocol):
    """What an instance's row says of its guest."""

    @property
    def vm_state(self) -> str: ...
    @property
    def power_state(self) -> str: ...
    @property
    def power_reason(self) -> str: ...
    @property
    def power_details(self) -> str: ...


def reason_sentence(instance: Seen, translate: Translate = in_english) -> str:
    """Why the guest is as it is; empty where somebody wanted it so, or nobody knows."""
    details = f" ({instance.power_details})" if instance.power_details else ""
    return translate(_template(instance)).format(details=details)


def _template(instance: Seen) -> str:
    if instance.power_reason == StateReason.PANICKED:
        return gettext_noop("The system inside crashed{details}.")
    if instance.power_state == PowerState.CRASHED:
        return gettext_noop("The guest ended by itself on its host{details}.")
    if instance.power_state != PowerState.PAUSED:
        return ""
    if instance.power_reason == StateReason.IO_ERROR:
        return gettext_noop("The guest stands still, for one of its disks failed{details}.")
    if instance.power_reason == StateReason.WATCHDOG:
        return gettext_noop("The guest stands still, for its watchdog fired: the system inside hangs.")
    return ""


def hangs(instance: Seen) -> bool:
    """Whether its watchdog had it stand still, since the system inside did not answer."""
    return instance.power_state == PowerState.PAUSED and instance.power_reason == StateReason.WATCHDOG


def shows_fault(instance: Seen) -> bool:
    """Whether the newest fault says what is wrong now: in ERROR (Nova's rule), or since its guest crashed."""
    return instance.vm_state == VmState.ERROR or instance.power_state == PowerState.CRASHED
