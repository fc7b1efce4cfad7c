"""Copies of root disks: a qcow2 that stands alone, of the disk at one moment, whether the guest runs or not.

Of a guest that is on, QEMU's backup job writes it while the guest goes on, its file systems frozen while the job begins
where it has QEMU's agent. Of a guest that is off, qemu-img copies the disk. The file gets its name when it is whole.
"""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from computeagent.drivers.base import CopyProgress, DriverError
from computeagent.drivers.libvirt import qemu_img
from computeagent.drivers.libvirt.backup_job import disk_copy_running, job_end, job_turn
from computeagent.drivers.libvirt.domains import is_running
from computeagent.drivers.libvirt.files import directory_sync, host_errors
from computeagent.drivers.libvirt.freezing import FROZEN, require_no_agent, thaw
from computeagent.drivers.libvirt.instance_files import InstanceFiles
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.kill_points import reach


def disk_snapshot(
    files: InstanceFiles, domain: Any | None, guest: GuestSpec, image_id: str, progress: CopyProgress
) -> None:
    """Have the copy. `domain` is the guest's, None for one that is not defined. Raises DriverError, LibvirtError, and
    what `progress` raises.
    """
    with job_turn(guest.uuid):
        _disk_snapshot(files, domain, guest, image_id, progress)


def _disk_snapshot(
    files: InstanceFiles, domain: Any | None, guest: GuestSpec, image_id: str, progress: CopyProgress
) -> None:
    path, marker = files.snapshot_path(guest.uuid, image_id), files.directory(guest.uuid) / FROZEN
    if not guest.has_local_root:
        raise DriverError("the guest boots from a volume: take a snapshot of that", failure_class=FailureClass.USER)
    if not files.exists(guest):
        raise DriverError(f"the root disk of {guest.uuid} is not on this host")
    is_on = domain is not None and is_running(domain)
    if domain is not None and is_on:
        job_end(domain)  # of an attempt that was cut off, whose file goes now
        thaw(domain, marker)
    files.snapshots_remove(guest.uuid, but=path)
    if path.exists():
        return
    part = path.with_name(f"{path.name}.part")
    if domain is not None and is_on:
        disk = _root_of(domain, files.root_disk(guest.uuid))
        disk_copy_running(domain, guest, disk, part, marker=marker, progress=progress)
    else:
        require_no_agent(guest)
        qemu_img.disk_copy(files.root_disk(guest.uuid), part, progress)
    reach("computeagent.drivers.libvirt.snapshots:copied")
    with host_errors(f"keeping the copy of the disk of {guest.uuid}"):
        part.chmod(0o600)
        part.rename(path)
        directory_sync(path.parent)


def _root_of(domain: Any, path: Path) -> ET.Element:
    root = ET.fromstring(domain.XMLDesc(0))  # noqa: S314 - libvirt's own output, no document from outside
    for disk in root.iterfind("devices/disk"):
        source = disk.find("source")
        if source is not None and source.get("file") == str(path):
            return disk
    raise DriverError(f"guest {domain.name()} does not have its root disk now")
