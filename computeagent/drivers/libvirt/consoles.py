"""Consoles that people type into, as file descriptors of QEMU's ends of them."""

import os
import xml.etree.ElementTree as ET
from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import libvirt
from computeagent.protocol.consoles import GUEST_OFF, ConsoleKind
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.texts import phrase as _


def console_descriptor(domain: Any, kind: ConsoleKind) -> int:
    """A descriptor that is read and written, and closed by whoever asked. Raises LibvirtError, DriverError."""
    if not domain.isActive():
        raise DriverError(GUEST_OFF, failure_class=FailureClass.USER)
    if kind is ConsoleKind.VNC:
        # libvirt hands over a socket that is connected to QEMU: no port, no password, and no path to be reached.
        return int(domain.openGraphicsFD(0, libvirt.VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH))
    path = serial_terminal(domain.XMLDesc(0))
    if not path:
        raise DriverError(
            _("An earlier release started this guest, with a serial port that only prints. A hard reboot mends that."),
            failure_class=FailureClass.USER,
        )
    try:
        return os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise DriverError(f"the serial console of guest {domain.name()} cannot be opened: {error}") from error


def serial_terminal(domain_xml: str) -> str:
    """The pseudoterminal of the first serial port, in the XML of a running domain; empty where it has none."""
    root = ET.fromstring(domain_xml)  # noqa: S314 - libvirt's own output, no document from outside
    source = root.find("devices/serial[@type='pty']/source")
    return "" if source is None else source.get("path", "")
