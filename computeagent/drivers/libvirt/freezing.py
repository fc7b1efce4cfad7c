"""File systems of a guest that stand still while a copy of its disks begins, by QEMU's agent inside.

A file `frozen` in the guest's directory says so, and whoever opens the hypervisor next thaws what a dead process left
frozen.
"""

import logging
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import LibvirtError, error_text, is_no_domain
from computeagent.drivers.libvirt.domains import domain_lookup, power_state
from computeagent.drivers.libvirt.files import host_errors
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.power import PowerState
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.booleans import is_true
from controlplane.kernel.kill_points import reach

log = logging.getLogger(__name__)

AGENT_S = 30
"""How long the guest's agent may take to freeze its file systems."""
FROZEN = "frozen"


@dataclass(slots=True)
class Freeze:
    """How it went: whether they stood still, and for how long."""

    is_consistent: bool = False
    frozen_ms: int = 0


@contextmanager
def frozen(domain: Any, guest: GuestSpec, marker: Path) -> Iterator[Freeze]:
    """The file systems of the guest stand still inside, if its agent can be asked; how long they did is known
    afterwards. Raises DriverError when they must and cannot.
    """
    freeze = Freeze()
    if not is_true(guest.image_properties.get("hw_qemu_guest_agent")):
        require_no_agent(guest)
        yield freeze
        return
    problem, began = "", time.monotonic()
    try:
        if power_state(domain) is not PowerState.RUNNING:
            problem = "the guest does not run"
        else:
            with host_errors("noting that a guest is frozen"):
                marker.touch(mode=0o600)
            domain.agentSetResponseTimeout(AGENT_S)
            domain.fsFreeze()
            freeze.is_consistent = True
            reach("computeagent.drivers.libvirt.freezing:frozen")
    except LibvirtError as error:
        problem = error_text(error)
    if problem:
        log.info("guest %s is copied without being frozen: %s", guest.uuid, problem)
    try:
        if problem and is_true(guest.image_properties.get("os_require_quiesce")):
            raise _not_quiet(problem)
        yield freeze
    finally:
        thaw(domain, marker)
        if freeze.is_consistent:
            freeze.frozen_ms = round((time.monotonic() - began) * 1000)


def frozen_thaw(conn: Any, guests: Path) -> None:
    """Let go on what a process that died had frozen, of the guests with directories in `guests`.

    Nothing that fails here keeps the hypervisor from being opened.
    """
    for marker in guests.glob(f"*/{FROZEN}"):
        with suppress(LibvirtError, DriverError):
            domain = domain_lookup(conn, marker.parent.name)
            if domain is not None:
                thaw(domain, marker)


def require_no_agent(guest: GuestSpec) -> None:
    """Of a guest that is off nothing has to be frozen."""
    wanted = is_true(guest.image_properties.get("os_require_quiesce"))
    if wanted and not is_true(guest.image_properties.get("hw_qemu_guest_agent")):
        raise _not_quiet("its image has no hw_qemu_guest_agent")


def _not_quiet(problem: str) -> DriverError:
    return DriverError(
        f"the image asks for os_require_quiesce, and the guest could not be frozen: {problem}",
        failure_class=FailureClass.USER,
    )


def thaw(domain: Any, marker: Path) -> None:
    """Nothing where nothing was frozen."""
    if not marker.exists():
        return
    try:
        domain.fsThaw()
    except LibvirtError as error:
        if not is_no_domain(error):
            log.warning("a guest could not be thawed: %s", error_text(error))
            if domain.isActive() and _is_agent_there(domain):
                return  # it is tried again
    with suppress(OSError):
        marker.unlink(missing_ok=True)


def _is_agent_there(domain: Any) -> bool:
    root = ET.fromstring(domain.XMLDesc(0))  # noqa: S314 - libvirt's own output
    channel = root.find("devices/channel/target[@name='org.qemu.guest_agent.0']")
    return channel is not None and channel.get("state") == "connected"
