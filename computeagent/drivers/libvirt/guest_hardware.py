"""Which devices a guest gets: the image's `hw_*` properties (names and values as in Glance) over our defaults."""

import hashlib
import re

from computeagent.drivers.base import DriverError
from computeagent.protocol.guest_disks import DISK_BUSES, disk_bus_of
from computeagent.protocol.guest_machine import is_q35, machine_of
from computeagent.protocol.guests import GuestSpec, PortSpec
from computeagent.protocol.steps import FailureClass

CDROM_BUSES = {"ide": "hdd", "sata": "sdz", "scsi": "sdz", "usb": "sdz"}
VIF_MODELS = ("virtio", "e1000", "e1000e", "rtl8139", "igb", "ne2k_pci", "pcnet", "vmxnet3")
VIDEO_MODELS = ("vga", "cirrus", "none", "bochs", "qxl", "virtio", "vmvga")
DEFAULT_NETWORK = "default"

_MACHINE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.IGNORECASE)


def disk_bus(guest: GuestSpec) -> str:
    """The bus of the root, ephemeral and swap disks: the image's, or that of its root device's name.

    Raises DriverError (USER) for one we cannot give.
    """
    bus = disk_bus_of(guest.image_properties)
    return bus if bus in DISK_BUSES else _chosen(guest, "hw_disk_bus", tuple(DISK_BUSES))


def root_target(guest: GuestSpec) -> str:
    """What the root disk is called: the first of its bus, from which guests boot. Raises DriverError (USER) for an
    image that calls it otherwise.
    """
    target = f"{DISK_BUSES[disk_bus(guest)]}a"
    name = guest.image_properties.get("img_root_device_name", target).removeprefix("/dev/")
    if name != target:
        message = f"the image calls its root disk {name[:80]!r}; here it is {target}"
        raise DriverError(message, failure_class=FailureClass.USER)
    return target


def vif_model(guest: GuestSpec) -> str:
    """The model of the guest's network cards. Raises DriverError (USER)."""
    return _chosen(guest, "hw_vif_model", VIF_MODELS)


def video_model(guest: GuestSpec) -> str:
    """The model of the guest's graphics card. Raises DriverError (USER)."""
    return _chosen(guest, "hw_video_model", VIDEO_MODELS)


def machine_type(guest: GuestSpec) -> str:
    """The machine that flavor and image ask for; libvirt knows which ones exist."""
    machine = machine_of(guest.extra_specs, guest.image_properties)
    if _MACHINE.fullmatch(machine) is None:
        raise DriverError(f"hw_machine_type {machine[:80]!r} is no machine type", failure_class=FailureClass.USER)
    return machine


def cdrom_place(guest: GuestSpec) -> tuple[str, str]:
    """Bus and target of the config drive: by IDE unless the image asks for another bus, or the machine is a q35, which
    has no IDE. Raises DriverError (USER).
    """
    nearest = "sata" if is_q35(machine_type(guest)) else "ide"
    bus = _chosen(guest, "hw_cdrom_bus", (nearest, *CDROM_BUSES))
    return bus, CDROM_BUSES[bus]


def ports_of(guest: GuestSpec) -> tuple[PortSpec, ...]:
    """The guest's ports; one that names none gets one port on the default network, its MAC made from its uuid, unless
    it is to have none.
    """
    for port in guest.ports:
        if _MAC.fullmatch(port.mac) is None:
            raise DriverError(f"{port.mac[:80]!r} is not a MAC address", failure_class=FailureClass.USER)
    if guest.ports or not guest.has_default_network:
        return guest.ports
    return (PortSpec(mac=mac_of(guest.uuid), network=DEFAULT_NETWORK),)


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
