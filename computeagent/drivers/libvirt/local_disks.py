"""The disks of a guest in its host's own storage, and in which order it tries all its disks to boot. Pure."""

from collections.abc import Collection
from dataclasses import dataclass

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.guest_hardware import disk_bus
from computeagent.protocol.guest_disks import DISK_BUSES, free_device
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import LocalDisk, LocalDiskKind
from controlplane.kernel.units import GIB, MIB

ROOT_DISK = "disk"
FILE_SYSTEMS = ("ext4", "ext3", "ext2", "xfs", "vfat")
"""What an ephemeral disk may begin with; the first one where nothing is said."""
_LABELS = {"xfs": "-L", "vfat": "-n"}
_FORCE = {"xfs": "-f", "vfat": ""}


@dataclass(frozen=True, slots=True)
class LocalFile:
    """One disk: its file's name, what the guest calls it, and the command that formats it (empty: it is made of an
    image). `boot_index` as in `GuestVolume`.
    """

    name: str
    bus: str
    target: str
    disk_format: str = "raw"
    size_bytes: int = 0
    format_command: tuple[str, ...] = ()
    boot_index: int = -1


def local_files(guest: GuestSpec, promised: Collection[str] = ()) -> tuple[LocalFile, ...]:
    """Root first, if it is here, then those that are named one by one, or one of each size of the flavor.

    `promised` are names of volumes, which only a disk that names one itself takes before them. Raises DriverError
    (USER).
    """
    bus, found = disk_bus(guest), []
    taken = set(promised)
    if guest.has_local_root:
        root = f"{DISK_BUSES[bus]}a"
        found.append(LocalFile(ROOT_DISK, bus, root, "qcow2", boot_index=0))
        taken.add(root)
    numbers = dict.fromkeys(LocalDiskKind, 0)
    for disk in _asked(guest):
        on_bus = disk.bus or bus
        if on_bus not in DISK_BUSES:
            raise _wrong(f"no disk can be on {on_bus[:40]!r}; possible here: {', '.join(DISK_BUSES)}")
        name = disk.device.removeprefix("/dev/")
        fits = name.startswith(DISK_BUSES[on_bus]) and name not in {each.target for each in found}
        target = name if fits else free_device(on_bus, taken)
        if not target:
            raise _wrong(f"the guest has no place left for a disk on {on_bus}")
        taken.add(target)
        number = numbers[disk.kind]
        numbers[disk.kind] += 1
        found.append(
            LocalFile(
                name=f"{disk.kind}{number or ''}",
                bus=on_bus,
                target=target,
                size_bytes=disk.size_mib * MIB,
                format_command=_format_command(disk, number),
                boot_index=disk.boot_index,
            )
        )
    return tuple(found)


def boot_orders(guest: GuestSpec) -> dict[str, int]:
    """In which order the guest tries its disks, from 1: by file name of the host's own, by volume id of the others.

    Empty where the first disk is all that there is to try, and for a guest in rescue.
    """
    named = [(disk.boot_index, disk.name) for disk in local_files(guest) if disk.boot_index >= 0]
    volumes = [(one.boot_index, one.volume.id) for one in guest.volumes if one.boot_index >= 0]
    if guest.rescue is not None or not (guest.volumes or len(named) > 1):
        return {}
    return {name: order for order, (_, name) in enumerate(sorted([*named, *volumes], key=lambda one: one[0]), 1)}


def _asked(guest: GuestSpec) -> tuple[LocalDisk, ...]:
    if guest.local_disks is not None:
        return guest.local_disks
    ephemeral = LocalDisk(LocalDiskKind.EPHEMERAL, guest.ephemeral_gib * (GIB // MIB))
    swap = LocalDisk(LocalDiskKind.SWAP, guest.swap_mib)
    return tuple(disk for disk in (ephemeral, swap) if disk.size_mib)


def _format_command(disk: LocalDisk, number: int) -> tuple[str, ...]:
    if disk.kind is LocalDiskKind.SWAP:
        return ("mkswap", "-L", f"swap{number or ''}")
    system = disk.disk_format or FILE_SYSTEMS[0]
    if system not in FILE_SYSTEMS:
        raise _wrong(f"an ephemeral disk cannot be {system[:40]!r}; possible here: {', '.join(FILE_SYSTEMS)}")
    label = (_LABELS.get(system, "-L"), f"ephemeral{number}")
    force = tuple(word for word in (_FORCE.get(system, "-F"),) if word)
    quiet = () if system == "vfat" else ("-q",)
    return (f"mkfs.{system}", *quiet, *force, *label)


def _wrong(message: str) -> DriverError:
    return DriverError(message, failure_class=FailureClass.USER)
