"""A domain is asked to power off, by its power button and by the agent inside, and loses its power if it does not."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from computeagent.drivers.base import Check, always
from computeagent.drivers.libvirt.binding import LibvirtError, error_code, libvirt
from computeagent.drivers.libvirt.domains import STOP_POLL_S, domain_kill

ASK_AGAIN_S = 10.0
"""Nova's: a guest that was still starting has missed what it was asked before."""


def domain_stop(
    domain: Any,
    *,
    grace_s: float,
    check: Check = always,
    plug_pulled: Callable[[], None] = always,
    clock: Callable[[], float] = time.monotonic,
    is_asked: bool = False,
) -> None:
    """Ask the guest to power off, unless that was done, ask again every `ASK_AGAIN_S`, and pull the plug after
    `grace_s` seconds; 0 pulls it at once. What `check` raises meanwhile leaves the guest as it is; `plug_pulled` is
    called where it was given time, and in vain.
    """
    if grace_s > 0:
        is_asked = is_asked or _ask(domain)
        # From now on: an agent inside that is silent takes seconds to be asked.
        deadline = clock() + grace_s
        ask_again_at = clock() + ASK_AGAIN_S
        while domain.isActive() and clock() < deadline:
            check()
            time.sleep(min(STOP_POLL_S, max(0.01, deadline - clock())))
            # One that cannot be asked now is asked at the next look, and keeps its time.
            if not is_asked or clock() >= ask_again_at:
                is_asked = _ask(domain)
                ask_again_at = clock() + ASK_AGAIN_S
    if grace_s > 0 and domain.isActive():
        plug_pulled()
    domain_kill(domain)


def domains_stop(domains: Sequence[Any], *, grace_s: float, clock: Callable[[], float] = time.monotonic) -> None:
    """The same of several: all are asked before any is waited for, and have the same time together."""
    asked = [(domain, grace_s > 0 and _ask(domain)) for domain in domains]
    end = clock() + grace_s
    for domain, is_asked in asked:
        domain_stop(domain, grace_s=max(0.0, end - clock()), clock=clock, is_asked=is_asked)


def _power_button_press(domain: Any) -> None:
    """ACPI's, which needs nobody inside who answers; a guest that sleeps is woken for it. Raises LibvirtError."""
    if domain.state()[0] == libvirt.VIR_DOMAIN_PMSUSPENDED:
        domain.pMWakeup(0)
    try:
        domain.shutdownFlags(libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN)
    except LibvirtError as error:
        if error_code(error) != libvirt.VIR_ERR_INVALID_ARG:
            raise
        domain.shutdown()  # libvirt's simulated hypervisor knows one way of asking


def _ask(domain: Any) -> bool:
    """Press the power button, and ask the agent inside; False when the guest cannot be asked."""
    try:
        if domain.isActive():
            _power_button_press(domain)
            _agent_ask(domain)
    except LibvirtError:
        return False
    return True


def _agent_ask(domain: Any) -> None:
    """A guest that minds no power button may mind its agent. Most have none, and one that hangs is no obstacle."""
    try:
        domain.shutdownFlags(libvirt.VIR_DOMAIN_SHUTDOWN_GUEST_AGENT)
    except LibvirtError:
        return
