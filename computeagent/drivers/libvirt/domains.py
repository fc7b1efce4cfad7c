"""Single verbs on libvirt domains: find ours, state, start, end. Each takes 'already so' as success."""

import logging
import time
import xml.etree.ElementTree as ET
from typing import Any

from computeagent.drivers.base import DriverError, ForeignGuest
from computeagent.drivers.libvirt.binding import (
    LibvirtError,
    error_text,
    is_no_domain,
    is_no_metadata,
    is_not_running,
    is_unsupported,
    libvirt,
)
from computeagent.drivers.libvirt.guest_xml import METADATA_NAMESPACE, GuestMetadata, canonical_uuid, metadata_parse
from computeagent.drivers.libvirt.half_started import is_half_started, settle
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import FailureClass

log = logging.getLogger(__name__)
STOP_POLL_S = 0.2
# libvirt sends a QEMU SIGTERM, after 10 s SIGKILL, and gives up 5 s later.
GOING_OFF_S = 20.0


def domain_lookup(conn: Any, guest_uuid: str) -> Any | None:
    """Our domain of this uuid, or None. Raises ForeignGuest when somebody else's domain has it."""
    try:
        domain = conn.lookupByUUIDString(canonical_uuid(guest_uuid))
    except LibvirtError as error:
        if is_no_domain(error):
            return None
        raise
    if metadata_of(domain) is None:
        if is_gone(domain):
            return None
        raise ForeignGuest(f"the hypervisor has a domain {guest_uuid} that is not ours")
    return domain


def is_gone(domain: Any) -> bool:
    """Whether the domain vanished since it was looked up."""
    try:
        domain.isActive()
    except LibvirtError as error:
        return is_no_domain(error)
    return False


def metadata_of(domain: Any) -> GuestMetadata | None:
    """The mark in the domain's metadata; None for a domain that is not ours (or gone). Raises LibvirtError when it
    cannot be asked: taking that for "not ours" would report every guest as missing when libvirtd goes away.
    """
    try:
        text = domain.metadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, METADATA_NAMESPACE, 0)
    except LibvirtError as error:
        if is_no_metadata(error) or is_no_domain(error):
            return None
        raise
    try:
        return metadata_parse(text)
    except (ET.ParseError, ValueError):
        return None


def power_state(domain: Any) -> PowerState:
    """The domain's state in Nova's terms. One that ended by a crash says so, although libvirt calls it shut off; one
    whose start was cut off has none yet, although libvirt calls it paused.
    """
    if is_half_started(domain):
        return PowerState.NOSTATE
    state, reason = domain.state()
    if (state, reason) == (libvirt.VIR_DOMAIN_SHUTOFF, libvirt.VIR_DOMAIN_SHUTOFF_CRASHED):
        return PowerState.CRASHED
    return _states().get(state, PowerState.NOSTATE)


def domain_start(domain: Any) -> None:
    """Power on."""
    try:
        domain.create()
    except LibvirtError:
        if not domain.isActive():
            raise


def domain_kill(domain: Any) -> None:
    """Pull the plug."""
    settle(domain)
    try:
        if domain.isActive():
            domain.destroy()
    except LibvirtError as error:
        if not (is_no_domain(error) or is_not_running(error)):
            raise


def domain_pause(domain: Any) -> None:
    """Stop the vCPUs of a guest that runs. Raises DriverError for one that is off."""
    settle(domain)
    state = power_state(domain)
    if state is PowerState.RUNNING:
        domain.suspend()
    elif state is not PowerState.PAUSED:
        raise DriverError(f"guest {domain.name()} does not run, so it cannot be paused: it is {state}")


def domain_interrupt(domain: Any) -> None:
    """Send an NMI. Raises DriverError, of class USER for a guest that is off and a hypervisor that sends none."""
    settle(domain)
    if power_state(domain) not in (PowerState.RUNNING, PowerState.PAUSED):
        raise DriverError("the guest is off, so nothing in it can crash", failure_class=FailureClass.USER)
    try:
        domain.injectNMI(0)
    except LibvirtError as error:
        if not is_unsupported(error):
            raise
        raise DriverError("this hypervisor sends no interrupts", failure_class=FailureClass.USER) from error


def domain_unpause(domain: Any) -> None:
    """Let the vCPUs of a paused guest run. Raises DriverError for one that is off."""
    settle(domain)
    state = power_state(domain)
    if state is PowerState.PAUSED:
        domain.resume()
    elif state is not PowerState.RUNNING:
        raise DriverError(f"guest {domain.name()} is not paused, so it cannot run on: it is {state}")


def domain_save(domain: Any) -> None:
    """Write the guest's memory to the host's disk and power it off. Raises DriverError for one that is off, and, of
    class USER, for one with a device of the host, such as a port's: libvirt saves no memory of those.
    """
    settle(domain)
    if domain.isActive():
        if has_host_device(domain.XMLDesc(0)):
            message = "the guest has a device of its host, whose state cannot be saved"
            raise DriverError(message, failure_class=FailureClass.USER)
        domain.managedSave()
    elif not domain.hasManagedSaveImage():
        raise DriverError(f"guest {domain.name()} is off, so there is no memory to save")


def has_host_device(domain_xml: str) -> bool:
    """Whether it has a device of its host: PCI, mediated, or the card of an SR-IOV port."""
    root = ET.fromstring(domain_xml)  # noqa: S314 - libvirt's own output, no document from outside
    found = ("./devices/hostdev", "./devices/interface[@type='hostdev']")
    return any(root.find(path) is not None for path in found)


def is_running(domain: Any) -> bool:
    """Whether it is active, once libvirt knows. A guest that powered itself off is active until its QEMU has ended;
    that is waited for. Raises DriverError when it does not end.
    """
    settle(domain)
    deadline = time.monotonic() + GOING_OFF_S
    try:
        while domain.state()[0] == libvirt.VIR_DOMAIN_SHUTDOWN:
            if time.monotonic() > deadline:
                raise DriverError(f"guest {domain.name()} is off, and its QEMU has not ended for {GOING_OFF_S:.0f} s")
            time.sleep(STOP_POLL_S)
        return bool(domain.isActive())
    except LibvirtError as error:
        if is_no_domain(error):
            return False
        raise


def vnc_socket(domain_xml: str) -> str:
    """The path of the VNC socket in the XML of a running domain; empty when there is none."""
    root = ET.fromstring(domain_xml)  # noqa: S314 - libvirt's own output, no document from outside
    listen = root.find("devices/graphics[@type='vnc']/listen[@type='socket']")
    return "" if listen is None else listen.get("socket", "")


def _states() -> dict[int, PowerState]:
    return {
        libvirt.VIR_DOMAIN_RUNNING: PowerState.RUNNING,
        libvirt.VIR_DOMAIN_BLOCKED: PowerState.RUNNING,
        libvirt.VIR_DOMAIN_PAUSED: PowerState.PAUSED,
        libvirt.VIR_DOMAIN_SHUTDOWN: PowerState.SHUTDOWN,
        libvirt.VIR_DOMAIN_SHUTOFF: PowerState.SHUTDOWN,
        libvirt.VIR_DOMAIN_CRASHED: PowerState.CRASHED,
        libvirt.VIR_DOMAIN_PMSUSPENDED: PowerState.SUSPENDED,
    }


def running_guests(domains: list[Any]) -> list[Any]:
    """What libvirt says of those that run. One that vanished, or does not answer now, is no reason to report nothing
    of the host: it is left out.
    """
    active = []
    for domain in domains:
        try:
            if domain.isActive():
                active.append(domain.info())
        except LibvirtError as error:
            log.info("a guest is left out of the host's report: %s", error_text(error))
    return active


def state_or_none(domain: Any) -> PowerState | None:
    """The state, or None when the domain vanished since it was listed."""
    try:
        return power_state(domain)
    except LibvirtError as error:
        if is_no_domain(error):
            return None
        raise


def live_xml_or_none(domain: Any) -> str | None:
    """The definition of a domain that runs; None when it is off, or vanished since it was listed."""
    try:
        return str(domain.XMLDesc(0)) if domain.isActive() else None
    except LibvirtError as error:
        if is_no_domain(error):
            return None
        raise
