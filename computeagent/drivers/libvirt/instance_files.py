"""The files of one instance: `<state_dir>/i/<uuid>/`. The directory is the unit: made whole, removed whole.

Its files are closed to everybody but their owner. Where QEMU runs as a user of its own, libvirt gives them to that user
when the guest starts, who has to pass the directory: hence the directory's mode.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from computeagent.drivers.base import DriverError
from computeagent.drivers.guest_documents import SEED_BYTES, config_drive_files
from computeagent.drivers.host_options import DriveFormat
from computeagent.drivers.libvirt import qemu_img
from computeagent.drivers.libvirt.config_disc import FILE_NAMES, config_drive_write
from computeagent.drivers.libvirt.files import host_errors, tree_used_bytes
from computeagent.drivers.libvirt.firmware import VARIABLES
from computeagent.drivers.libvirt.guest_hardware import (
    cdrom_place,
    disk_bus,
    ports_of,
    root_target,
)
from computeagent.drivers.libvirt.guest_xml import BootPaths, DiskDevice, canonical_uuid
from computeagent.drivers.libvirt.image_cache import ImageCache
from computeagent.drivers.libvirt.local_disks import ROOT_DISK, boot_orders, local_files
from computeagent.drivers.libvirt.rescue import RESCUE_DISK, boots_kernel, rescue_devices
from computeagent.drivers.rescue_image import of_rescue_image
from computeagent.protocol.guest_config import BootFile, DirectBoot
from computeagent.protocol.guest_disks import free_device
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.kill_points import reach
from controlplane.kernel.units import GIB, MIB, bytes_to_gib_up

SNAPSHOT = "snapshot"
RESCUE_DRIVE = "rescue"
"""The folder of the config drive that a rescue system has in place of the guest's own."""
MKFS_TIMEOUT_S = 300.0
# A guest may write to its serial port without end; the host keeps this much of it.
CONSOLE_MAX_BYTES = 4 * MIB
CONSOLE_TAIL_BYTES = 1 * MIB
KERNEL, RAMDISK = "kernel", "ramdisk"
CONSOLE_ARGUMENTS = "console=tty0 console=ttyS0"


class InstanceFiles:
    """All instance directories of one hypervisor. `drive_format`: of the config drives that are made from now on."""

    def __init__(self, state_dir: Path, drive_format: DriveFormat = DriveFormat.ISO9660) -> None:
        self.root = state_dir / "i"
        self._drive_format = drive_format

    def directory(self, guest_uuid: str) -> Path:
        """Where the files of this instance are."""
        return self.root / canonical_uuid(guest_uuid)

    def console_path(self, guest_uuid: str) -> Path:
        """The instance's serial log."""
        return self.directory(guest_uuid) / "console.log"

    def variables_path(self, guest_uuid: str) -> Path:
        """What the instance's UEFI keeps."""
        return self.directory(guest_uuid) / VARIABLES

    def root_disk(self, guest_uuid: str) -> Path:
        """The overlay that the guest boots from."""
        return self.directory(guest_uuid) / ROOT_DISK

    def snapshot_path(self, guest_uuid: str, image_id: str) -> Path:
        """Where the copy of the root disk for this image is or will be."""
        return self.directory(guest_uuid) / f"{SNAPSHOT}.{canonical_uuid(image_id)}"

    def snapshots_remove(self, guest_uuid: str, *, but: Path | None = None) -> None:
        """Remove all copies, whole or not, but this one."""
        with host_errors(f"removing copies of the disk of {guest_uuid}"):
            for path in self.directory(guest_uuid).glob(f"{SNAPSHOT}.*"):
                if path != but:
                    path.unlink(missing_ok=True)

    def exists(self, guest: GuestSpec) -> bool:
        """Whether the instance's disks are there: its root disk, or its directory where it boots from a volume."""
        directory = self.directory(guest.uuid)
        return (directory / ROOT_DISK if guest.has_local_root else directory).exists()

    def make(self, guest: GuestSpec, images: ImageCache) -> None:
        """Disks and config drive, in place of whatever an earlier attempt left. Raises DriverError."""
        base = images.path(guest) if guest.has_local_root else None
        facts = None if base is None else qemu_img.image_inspect(base, guest.image_disk_format)
        if facts is not None:
            _fits(facts.virtual_size_bytes, guest.root_gib)
        local = local_files(guest)
        ports = ports_of(guest)
        drive_files = config_drive_files(guest, ports, seed=os.urandom(SEED_BYTES))
        self.remove(guest.uuid)
        directory = self.directory(guest.uuid)
        directory.mkdir(mode=0o711, parents=True)
        reach("computeagent.drivers.instance_files:emptied")
        if base is not None and facts is not None:
            qemu_img.overlay_create(directory / ROOT_DISK, base, facts.disk_format, size_gib=guest.root_gib)
        for disk in local:
            if disk.format_command:
                _blank(directory / disk.name, disk.size_bytes, disk.format_command)
        if guest.config.has_drive:
            config_drive_write(directory, self._drive_format, drive_files)
        for name, file in _boot_files(guest.direct_boot).items():
            copied = directory / name
            copied.touch(mode=0o600, exist_ok=False)
            shutil.copyfile(images.path(file), copied)
        # libvirt gives it to QEMU's user if it exists, under any configuration.
        self.console_path(guest.uuid).touch(mode=0o600)

    def make_rescue_disk(self, guest: GuestSpec, images: ImageCache) -> None:
        """A disk of the rescue image's own size, in place of whatever an earlier rescue left. Raises DriverError."""
        rescue = of_rescue_image(guest)
        base = images.path(rescue)
        facts = qemu_img.image_inspect(base, rescue.image_disk_format)
        self.remove_rescue_disk(guest.uuid)
        path = self.directory(guest.uuid) / RESCUE_DISK
        qemu_img.overlay_create(path, base, facts.disk_format, size_gib=0)
        if guest.config.has_drive and guest.first_boot.admin_password:
            # A drive of its own, so that what boots after the rescue does not find its password.
            files = config_drive_files(guest, ports_of(guest), seed=os.urandom(SEED_BYTES))
            directory = self.directory(guest.uuid) / RESCUE_DRIVE
            directory.mkdir(mode=0o711)
            config_drive_write(directory, self._drive_format, files)

    def remove_rescue_disk(self, guest_uuid: str) -> None:
        """With its config drive. Nothing there is a success."""
        (self.directory(guest_uuid) / RESCUE_DISK).unlink(missing_ok=True)
        shutil.rmtree(self.directory(guest_uuid) / RESCUE_DRIVE, ignore_errors=True)

    def boot_paths(self, guest: GuestSpec) -> BootPaths | None:
        """The kernel that the guest starts, and what goes with it; None for a guest that boots from its disk."""
        boots, directory = guest.direct_boot, self.directory(guest.uuid)
        if boots is None or not boots_kernel(guest):
            return None
        arguments = boots.arguments or f"root=/dev/{root_target(guest)} {CONSOLE_ARGUMENTS}"
        return BootPaths(directory / KERNEL, directory / RAMDISK if boots.ramdisk else None, arguments)

    def devices(self, guest: GuestSpec) -> tuple[DiskDevice, ...]:
        """The disks as the guest sees them: the host's own and, in rescue, the one that it boots from."""
        own = self._own_devices(guest)
        if guest.rescue is None:
            return own
        return rescue_devices(guest, guest.rescue, own, path=self.directory(guest.uuid) / RESCUE_DISK)

    def _own_devices(self, guest: GuestSpec) -> tuple[DiskDevice, ...]:
        """Root first, then ephemeral, swap and the config drive, if it has one, or that of its rescue; it stays of the
        format in which it was made.
        """
        directory = self.directory(guest.uuid)
        disc, fat = (FILE_NAMES[kind] for kind in (DriveFormat.ISO9660, DriveFormat.VFAT))
        promised = {one.device.removeprefix("/dev/") for one in guest.volumes}
        orders = boot_orders(guest)
        disks = [
            DiskDevice(
                directory / disk.name, disk.disk_format, disk.bus, disk.target, boot_order=orders.get(disk.name, 0)
            )
            for disk in local_files(guest, promised)
        ]
        of_rescue = directory / RESCUE_DRIVE
        drive = of_rescue if guest.rescue is not None and of_rescue.exists() else directory
        if (drive / fat).exists():
            bus = disk_bus(guest)
            target = free_device(bus, {*promised, *(disk.target for disk in disks)})
            disks.append(DiskDevice(drive / fat, "raw", bus, target))
        if not (drive / disc).exists():
            return tuple(disks)
        cd_bus, cd_target = cdrom_place(guest)
        return (*disks, DiskDevice(drive / disc, "raw", cd_bus, cd_target, cdrom=True))

    def remove(self, guest_uuid: str) -> None:
        """Leave nothing of the instance. Nothing there is a success."""
        directory = self.directory(guest_uuid)
        with host_errors(f"removing {directory}"):
            if directory.exists():
                shutil.rmtree(directory)

    def console_tail(self, guest_uuid: str, max_bytes: int) -> bytes:
        """The end of the serial log; empty when there is none."""
        try:
            return file_tail(self.console_path(guest_uuid), max_bytes)
        except FileNotFoundError:
            return b""

    def consoles_trim(self) -> None:
        """Cut every serial log over CONSOLE_MAX_BYTES to its last CONSOLE_TAIL_BYTES."""
        for path in self.root.glob("*/console.log"):
            console_trim(path)

    def used_bytes(self) -> int:
        """What the instances take on disk."""
        return tree_used_bytes(self.root)


def file_tail(path: Path, max_bytes: int) -> bytes:
    """The last `max_bytes` of a file."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - max_bytes))
        return file.read(max_bytes)


def console_trim(path: Path) -> None:
    """Cut one serial log. QEMU appends to it (O_APPEND) meanwhile: at worst a few bytes are lost, none misplaced."""
    with host_errors(f"trimming {path}"):
        try:
            if path.stat().st_size <= CONSOLE_MAX_BYTES:
                return
            tail = file_tail(path, CONSOLE_TAIL_BYTES)
        except FileNotFoundError:
            return
        os.truncate(path, 0)
        with path.open("ab") as file:
            file.write(tail)


def _boot_files(boots: DirectBoot | None) -> dict[str, BootFile]:
    if boots is None:
        return {}
    return {KERNEL: boots.kernel, **({RAMDISK: boots.ramdisk} if boots.ramdisk else {})}


def _fits(virtual_size_bytes: int, root_gib: int) -> None:
    if root_gib and virtual_size_bytes > root_gib * GIB:
        raise DriverError(
            f"the image is {bytes_to_gib_up(virtual_size_bytes)} GiB when unpacked and does not fit "
            f"the flavor's root disk of {root_gib} GiB",
            failure_class=FailureClass.USER,
        )


def _blank(path: Path, size_bytes: int, format_command: Sequence[str]) -> None:
    """A sparse raw disk, formatted where the host has the tool for it; a guest can format a blank one itself."""
    path.touch(mode=0o600, exist_ok=False)
    os.truncate(path, size_bytes)
    tool = shutil.which(format_command[0], path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if tool is None:
        return
    command = [tool, *format_command[1:], str(path)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=MKFS_TIMEOUT_S)
    except subprocess.SubprocessError as error:
        raise DriverError(f"formatting the disk {path.name}: {error}") from error
