"""The files of one instance: `<state_dir>/i/<uuid>/`. The directory is the unit: made whole, removed whole.

Its files are closed to everybody but their owner. Where QEMU runs as a user of its own, libvirt gives them to that user
when the guest starts, who has to pass the directory: hence the directory's mode.
"""

import os
import shutil
import subprocess
from pathlib import Path

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt import qemu_img
from computeagent.drivers.libvirt.config_drive import SEED_BYTES, config_drive_files, config_drive_write
from computeagent.drivers.libvirt.files import host_errors, tree_used_bytes
from computeagent.drivers.libvirt.guest_hardware import DISK_BUSES, cdrom_place, disk_bus, machine_type, ports_of
from computeagent.drivers.libvirt.guest_xml import DiskDevice, canonical_uuid
from computeagent.drivers.libvirt.image_cache import ImageCache
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.kill_points import reach
from controlplane.kernel.units import GIB, MIB, bytes_to_gib_up

MKFS_TIMEOUT_S = 300.0
# A guest may write to its serial port without end; the host keeps this much of it.
CONSOLE_MAX_BYTES = 4 * MIB
CONSOLE_TAIL_BYTES = 1 * MIB


class InstanceFiles:
    """All instance directories of one hypervisor."""

    def __init__(self, state_dir: Path) -> None:
        self.root = state_dir / "i"

    def directory(self, guest_uuid: str) -> Path:
        """Where the files of this instance are."""
        return self.root / canonical_uuid(guest_uuid)

    def console_path(self, guest_uuid: str) -> Path:
        """The instance's serial log."""
        return self.directory(guest_uuid) / "console.log"

    def exists(self, guest_uuid: str) -> bool:
        """Whether the instance's root disk is there."""
        return (self.directory(guest_uuid) / "disk").exists()

    def make(self, guest: GuestSpec, images: ImageCache) -> None:
        """Disks and config drive, in place of whatever an earlier attempt left. Raises DriverError."""
        base = images.path(guest)
        facts = qemu_img.image_inspect(base, guest.image_disk_format)
        _fits(facts.virtual_size_bytes, guest.root_gib)
        ports = ports_of(guest)
        iso_files = config_drive_files(guest, ports, seed=os.urandom(SEED_BYTES))
        self.remove(guest.uuid)
        directory = self.directory(guest.uuid)
        directory.mkdir(mode=0o711, parents=True)
        reach("computeagent.drivers.instance_files:emptied")
        qemu_img.overlay_create(directory / "disk", base, facts.disk_format, size_gib=guest.root_gib)
        if guest.ephemeral_gib:
            _blank(directory / "ephemeral", guest.ephemeral_gib * GIB, ["mkfs.ext4", "-q", "-F", "-L", "ephemeral0"])
        if guest.swap_mib:
            _blank(directory / "swap", guest.swap_mib * MIB, ["mkswap", "-L", "swap"])
        config_drive_write(directory / "config.iso", iso_files)
        # libvirt gives it to QEMU's user if it exists, under any configuration.
        self.console_path(guest.uuid).touch(mode=0o600)

    def devices(self, guest: GuestSpec) -> tuple[DiskDevice, ...]:
        """The disks as the guest sees them: root first, then ephemeral, swap and the config drive."""
        directory = self.directory(guest.uuid)
        bus = disk_bus(guest)
        present = [("disk", "qcow2")]
        present += [("ephemeral", "raw")] if guest.ephemeral_gib else []
        present += [("swap", "raw")] if guest.swap_mib else []
        disks = [
            DiskDevice(directory / name, disk_format, bus, f"{DISK_BUSES[bus]}{'abc'[number]}")
            for number, (name, disk_format) in enumerate(present)
        ]
        cd_bus, cd_target = cdrom_place(machine_type(guest), guest.image_properties.get("hw_cdrom_bus", ""))
        return (*disks, DiskDevice(directory / "config.iso", "raw", cd_bus, cd_target, cdrom=True))

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


def _fits(virtual_size_bytes: int, root_gib: int) -> None:
    if root_gib and virtual_size_bytes > root_gib * GIB:
        raise DriverError(
            f"the image is {bytes_to_gib_up(virtual_size_bytes)} GiB when unpacked and does not fit "
            f"the flavor's root disk of {root_gib} GiB",
            failure_class=FailureClass.USER,
        )


def _blank(path: Path, size_bytes: int, format_command: list[str]) -> None:
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
