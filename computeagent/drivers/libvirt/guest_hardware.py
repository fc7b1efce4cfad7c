"""Which devices a guest gets: the image's `hw_*` properties (names and values as in Glance) over our defaults."""

import hashlib
import re

from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.steps import FailureClass

DISK_BUSES = {"virtio": "vd", "sata": "sd", "ide": "hd"}
VIF_MODELS = ("virtio", "e1000", "e1000e", "rtl8139")
VIDEO_MODELS = ("vga", "cirrus", "none")
DEFAULT_NETWORK = "default"

_MACHINE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.IGNORECASE)


def disk_bus(guest: GuestSpec) -> str:
    """The bus of the root, ephemeral and swap disks. Raises DriverError (USER) for one we cannot give."""
    return _chosen(guest, "hw_disk_bus", tuple(DISK_BUSES))


def vif_model(guest: GuestSpec) -> str:
    """The model of the guest's network cards. Raises DriverError (USER)."""
    return _chosen(guest, "hw_vif_model", VIF_MODELS)


def video_model(guest: GuestSpec) -> str:
    """The model of the guest's graphics card. Raises DriverError (USER)."""
    return _chosen(guest, "hw_video_model", VIDEO_MODELS)


def machine_type(guest: GuestSpec) -> str:
    """The machine: i440fx unless the image asks for another; libvirt knows which ones exist."""
    machine = guest.image_properties.get("hw_machine_type", "pc")
    if _MACHINE.fullmatch(machine) is None:
        raise DriverError(f"hw_machine_type {machine[:80]!r} is no machine type", failure_class=FailureClass.USER)
    return machine


def cdrom_place(machine: str, bus: str = "") -> tuple[str, str]:
    """Bus and target of the config drive: by IDE unless the image asks for SATA, or the machine is a q35, which has no
    IDE.
    """
    return ("sata", "sdz") if bus == "sata" or "q35" in machine else ("ide", "hdd")


def ports_of(guest: GuestSpec) -> tuple[PortSpec, ...]:
    """The guest's ports; one that names none gets one port on the default network, its MAC made from its uuid."""
    for port in guest.ports:
        if _MAC.fullmatch(port.mac) is None:
            raise DriverError(f"{port.mac[:80]!r} is not a MAC address", failure_class=FailureClass.USER)
    return guest.ports or (PortSpec(mac=mac_of(guest.uuid), network=DEFAULT_NETWORK),)


def mac_of(guest_uuid: str) -> str:
    """A MAC that stays the same for one instance, in QEMU's own range (52:54:00)."""
    digest = hashlib.sha256(guest_uuid.encode()).digest()
    return "52:54:00:" + ":".join(f"{byte:02x}" for byte in digest[:3])


def _chosen(guest: GuestSpec, name: str, possible: tuple[str, ...]) -> str:
    wanted = guest.image_properties.get(name, possible[0]).lower()
    if wanted not in possible:
        raise DriverError(
            f"the image asks for {name}={wanted[:80]!r}; possible here: {', '.join(possible)}",
            failure_class=FailureClass.USER,
        )
    return wanted
