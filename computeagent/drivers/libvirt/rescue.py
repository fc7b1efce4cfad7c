"""A guest in rescue: which disks it has, and from which it boots. Pure.

As in Nova: where the rescue image names a device or a bus for itself, the guest's own disks stay at their places and
the rescue disk is added to them; else it takes the first place, and they move up by one. Its swap disk is left out:
IDE has four places, and a rescue system needs none of it.
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.guest_hardware import CDROM_BUSES, cdrom_place, disk_bus
from computeagent.drivers.libvirt.guest_xml import DiskDevice
from computeagent.protocol.guest_disks import DISK_BUSES
from computeagent.protocol.guests import GuestSpec, RescueImage
from computeagent.protocol.steps import FailureClass

RESCUE_DISK = "disk.rescue"
SWAP_DISK = "swap"
DEVICE, BUS = "hw_rescue_device", "hw_rescue_bus"
DEVICES = ("disk", "cdrom")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_IDE_PLACES = 4


def rescue_devices(
    guest: GuestSpec, rescue: RescueImage, own: tuple[DiskDevice, ...], *, path: Path
) -> tuple[DiskDevice, ...]:
    """The disks of a guest in rescue: the one at `path`, and its `own`, which begin with its root disk if that is not a
    volume. Raises DriverError (USER) for a device or bus that the rescue image asks for and that cannot be given.

    A guest that starts a kernel of its image's looks for its root disk in the first place.
    """
    own = tuple(disk for disk in own if disk.path.name != SWAP_DISK)
    if boots_kernel(guest) or not (rescue.properties.get(DEVICE) or rescue.properties.get(BUS)):
        bus = disk_bus(guest)
        return _before(DiskDevice(path, "qcow2", bus, f"{DISK_BUSES[bus]}a", boot_order=1), own)
    return (*own, _added(guest, rescue, path, {disk.target for disk in own}))


def boots_kernel(guest: GuestSpec) -> bool:
    """Whether the guest starts the kernel of its own image; in rescue it does if it is rescued with that image."""
    return guest.direct_boot is not None and (guest.rescue is None or guest.rescue.id == guest.image_id)


def _before(first: DiskDevice, own: tuple[DiskDevice, ...]) -> tuple[DiskDevice, ...]:
    """The disk in the first place, the others on its bus one place further."""
    fixed = {disk.target for disk in own if disk.cdrom or disk.bus != first.bus}
    free = iter(_targets(first.bus, fixed | {first.target}))
    moved = (disk if disk.target in fixed else replace(disk, target=_next(free, disk.bus)) for disk in own)
    return (first, *moved)


def _added(guest: GuestSpec, rescue: RescueImage, path: Path, taken: Collection[str]) -> DiskDevice:
    is_cdrom = _chosen(rescue, DEVICE, DEVICES, DEVICES[0]) == "cdrom"
    usual = cdrom_place(guest)[0] if is_cdrom else disk_bus(guest)
    bus = _chosen(rescue, BUS, tuple(CDROM_BUSES if is_cdrom else DISK_BUSES), usual)
    return DiskDevice(path, "qcow2", bus, _next(iter(_targets(bus, taken)), bus), cdrom=is_cdrom, boot_order=1)


def _targets(bus: str, taken: Collection[str]) -> Iterator[str]:
    places = _LETTERS[:_IDE_PLACES] if bus == "ide" else _LETTERS
    return (target for letter in places if (target := DISK_BUSES[bus] + letter) not in taken)


def _next(free: Iterator[str], bus: str) -> str:
    target = next(free, None)
    if target is None:
        raise _wrong(f"there is no place left for a rescue disk on {bus}")
    return target


def _chosen(rescue: RescueImage, name: str, possible: tuple[str, ...], usual: str) -> str:
    wanted = (rescue.properties.get(name) or usual).lower()
    if wanted not in possible:
        raise _wrong(f"the rescue image asks for {name}={wanted[:80]!r}; possible here: {', '.join(possible)}")
    return wanted


def _wrong(message: str) -> DriverError:
    return DriverError(message, failure_class=FailureClass.USER)
