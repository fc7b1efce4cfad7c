"""Which machine types this host's QEMU can give to a guest, and what each of them has, as libvirt tells.

Machines are put together that have the same. One without a PCI bus is none: every guest has devices on it.
"""

import logging
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from computeagent.drivers.libvirt.binding import LibvirtError, error_text
from computeagent.protocol.hosts import MACHINE_NAME_MAX, MACHINES_MAX, GuestMachines

log = logging.getLogger(__name__)

_Has = tuple[tuple[str, ...], tuple[str, ...]]


class MachinesKnown:
    """What libvirt told, which is asked once for each version of libvirt and QEMU: it takes a second."""

    def __init__(self) -> None:
        self._known: tuple[object, tuple[GuestMachines, ...]] = (None, ())

    def of(self, conn: Any, *, arch: str, virt_type: str) -> tuple[GuestMachines, ...]:
        """None where libvirt does not tell."""
        try:
            usual = ET.fromstring(conn.getDomainCapabilities(None, arch, None, virt_type, 0))  # noqa: S314 - libvirt's
            emulator = usual.findtext("path", "")
            key = (arch, virt_type, conn.getLibVersion(), emulator, Path(emulator).stat().st_mtime_ns)
            if self._known[0] != key:
                self._known = key, _reported(conn, arch, virt_type)
        except (LibvirtError, OSError) as error:
            log.warning("libvirt does not say which machines guests can have: %s", _words(error))
            return ()
        return self._known[1]


def _reported(conn: Any, arch: str, virt_type: str) -> tuple[GuestMachines, ...]:
    found: dict[_Has, list[str]] = {}
    for name in machine_names(conn.getCapabilities(), arch)[:MACHINES_MAX]:
        if _has_pci(conn, arch, virt_type, name):
            has = machine_parse(conn.getDomainCapabilities(None, arch, name, virt_type, 0))
            found.setdefault(has, []).append(name)
    return tuple(
        GuestMachines(names=tuple(sorted(names)), disk_buses=has[0], video_models=has[1])
        for has, names in sorted(found.items())
    )


def machine_names(capabilities: str, arch: str) -> list[str]:
    """From libvirt's capabilities: each machine once, short names (pc) too."""
    root = ET.fromstring(capabilities)  # noqa: S314 - libvirt's own output
    found = root.findall(f"guest/arch[@name='{arch}']/machine") + root.findall(
        f"guest/arch[@name='{arch}']/domain/machine"
    )
    return list(dict.fromkeys(one.text for one in found if one.text and len(one.text) <= MACHINE_NAME_MAX))


def machine_parse(document: str) -> _Has:
    """From a machine's domain capabilities: the buses of its disks, and its models of video devices."""
    devices = ET.fromstring(document).find("devices")  # noqa: S314 - libvirt's own output
    if devices is None:
        return (), ()
    return _values(devices, "disk", "bus"), _values(devices, "video", "modelType")


def _values(devices: ET.Element, device: str, enum: str) -> tuple[str, ...]:
    found = devices.findall(f"{device}[@supported='yes']/enum[@name='{enum}']/value")
    return tuple(sorted(value.text for value in found if value.text))


def _has_pci(conn: Any, arch: str, virt_type: str, machine: str) -> bool:
    """Whether libvirt finds a place for a device of every guest. Nothing is defined."""
    domain = ET.Element("domain", type=virt_type)
    ET.SubElement(domain, "name").text = "kilonova-machine"
    ET.SubElement(domain, "memory", unit="MiB").text = "64"
    ET.SubElement(domain, "vcpu").text = "1"
    ET.SubElement(ET.SubElement(domain, "os"), "type", arch=arch, machine=machine).text = "hvm"
    rng = ET.SubElement(ET.SubElement(domain, "devices"), "rng", model="virtio")
    ET.SubElement(rng, "backend", model="random").text = "/dev/urandom"
    try:
        conn.domainXMLToNative("qemu-argv", ET.tostring(domain, encoding="unicode"), 0)
    except LibvirtError as error:
        log.debug("guests get no machine of type %s: %s", machine, error_text(error))
        return False
    return True


def _words(error: Exception) -> str:
    return error_text(error) if isinstance(error, LibvirtError) else str(error)
