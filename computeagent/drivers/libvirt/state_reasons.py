"""Why a guest is in its state, where it got there by itself: a panic, a QEMU that died, an error of a disk, a watchdog.

Libvirt says most of it with the state. What it says only in an event, and forgets, is remembered here.
"""

import threading
from dataclasses import dataclass, replace
from typing import Any

from computeagent.drivers.libvirt.binding import LibvirtError, libvirt
from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.power import PowerState, StateReason

MAX_REMEMBERED = 4096
"""Guests of which something is remembered; beyond them the oldest is forgotten."""


@dataclass(frozen=True, slots=True)
class GuestHistory:
    """What events said of a guest since the connection was opened. `is_off_by_watchdog`: its watchdog powered it
    off, by which QEMU just ends, so that libvirt calls the guest crashed.
    """

    has_panicked: bool = False
    watchdog_fired: int = 0
    is_off_by_watchdog: bool = False


NO_HISTORY = GuestHistory()


class GuestHistories:
    """Written by libvirt's event loop, read by all threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._histories: dict[str, GuestHistory] = {}

    def of(self, guest_uuid: str) -> GuestHistory:
        """What is remembered of the guest."""
        with self._lock:
            return self._histories.get(guest_uuid, NO_HISTORY)

    def note_lifecycle(self, guest_uuid: str, event: int, detail: int) -> None:
        """What ended the guest lasts until its next start, and all is forgotten with the definition."""
        with self._lock:
            known = self._histories.get(guest_uuid, NO_HISTORY)
            if event == libvirt.VIR_DOMAIN_EVENT_CRASHED and detail == libvirt.VIR_DOMAIN_EVENT_CRASHED_PANICKED:
                self._put(guest_uuid, replace(known, has_panicked=True))
            elif event == libvirt.VIR_DOMAIN_EVENT_STARTED and known != NO_HISTORY:
                self._put(guest_uuid, GuestHistory(watchdog_fired=known.watchdog_fired))
            elif event == libvirt.VIR_DOMAIN_EVENT_UNDEFINED:
                self._histories.pop(guest_uuid, None)

    def note_watchdog(self, guest_uuid: str, action: int) -> None:
        """The guest's watchdog fired once more, and this is what it did."""
        is_off = action == libvirt.VIR_DOMAIN_EVENT_WATCHDOG_POWEROFF
        with self._lock:
            known = self._histories.get(guest_uuid, NO_HISTORY)
            fired = known.watchdog_fired + 1
            self._put(guest_uuid, replace(known, watchdog_fired=fired, is_off_by_watchdog=is_off))

    def _put(self, guest_uuid: str, history: GuestHistory) -> None:
        self._histories.pop(guest_uuid, None)
        self._histories[guest_uuid] = history
        if len(self._histories) > MAX_REMEMBERED:
            self._histories.pop(next(iter(self._histories)))


def state_reason(domain: Any, history: GuestHistory) -> tuple[str, str]:
    """The reason and what is known beside it, both empty where a person or an order brought the guest there. Raises
    LibvirtError.
    """
    state, reason = domain.state()
    crashed = {
        (libvirt.VIR_DOMAIN_SHUTOFF, libvirt.VIR_DOMAIN_SHUTOFF_CRASHED),
        (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_CRASHED),
    }
    if (state, reason) in crashed or state == libvirt.VIR_DOMAIN_CRASHED:
        has_panicked = history.has_panicked or (state, reason) == (
            libvirt.VIR_DOMAIN_CRASHED,
            libvirt.VIR_DOMAIN_CRASHED_PANICKED,
        )
        return (StateReason.PANICKED if has_panicked else StateReason.CRASHED), ""
    if (state, reason) == (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_WATCHDOG):
        return StateReason.WATCHDOG, ""
    if (state, reason) == (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_IOERROR):
        return StateReason.IO_ERROR, _disk_errors(domain)
    return "", ""


def without_false_crash(facts: GuestFacts, history: GuestHistory) -> GuestFacts:
    """The same, but that a guest which its watchdog powered off is off: libvirt alone calls that a crash."""
    if facts.power_state is PowerState.CRASHED and history.is_off_by_watchdog:
        return replace(facts, power_state=PowerState.SHUTDOWN, reason="", details="")
    return facts


def _disk_errors(domain: Any) -> str:
    """`vda: no space left`, by disks; empty where libvirt does not know."""
    try:
        errors = domain.diskErrors()
    except LibvirtError:
        return ""
    words = {libvirt.VIR_DOMAIN_DISK_ERROR_NO_SPACE: "no space left", libvirt.VIR_DOMAIN_DISK_ERROR_UNSPEC: "error"}
    return ", ".join(f"{disk}: {words[code]}" for disk, code in sorted((errors or {}).items()) if code in words)
