"""QEMU's backup job: it copies one disk of a guest that goes on, as the disk is when the job begins.

The chain of the guest's disks does not change, so a crash leaves nothing to repair.
"""

import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from computeagent.drivers.base import CopyProgress, DriverError
from computeagent.drivers.libvirt.binding import LibvirtError, libvirt
from computeagent.drivers.libvirt.freezing import Freeze, frozen
from computeagent.drivers.libvirt.volume_xml import target_of
from computeagent.protocol.guests import GuestSpec
from controlplane.kernel.kill_points import reach

POLL_S = 0.2
ABORT_S = 30.0
_locks: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
_locks_lock = threading.Lock()


@contextmanager
def job_turn(guest_uuid: str) -> Iterator[None]:
    """The caller alone copies disks of the guest: QEMU has one such job, and who begins ends what was left of one."""
    with _locks_lock:
        lock = _locks.setdefault(guest_uuid, threading.Lock())
    with lock:
        yield


def disk_copy_running(
    domain: Any,
    guest: GuestSpec,
    disk: ET.Element,
    part: Path,
    *,
    marker: Path,
    progress: CopyProgress,
    disk_format: str = "qcow2",
    encryption: ET.Element | None = None,
) -> Freeze:
    """Have a copy of the disk at `part`, where nothing is yet, or an empty LUKS as large, where it is to be of that
    `encryption`. The guest is frozen while the job begins, and not longer
    (`marker`: see `frozen`). Raises DriverError, LibvirtError, and what `progress` raises; then nothing is at `part`.
    """
    try:
        with frozen(domain, guest, marker) as freeze:
            text = backup_xml(domain.XMLDesc(0), disk, part, disk_format=disk_format, encryption=encryption)
            domain.backupBegin(
                text, None, libvirt.VIR_DOMAIN_BACKUP_BEGIN_REUSE_EXTERNAL if encryption is not None else 0
            )
            reach("computeagent.drivers.libvirt.backup_job:begun")
        job_wait(domain, progress)
    except BaseException:
        with suppress(LibvirtError, DriverError):
            job_end(domain)
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    return freeze


def backup_xml(
    domain_xml: str, disk: ET.Element, part: Path, *, disk_format: str, encryption: ET.Element | None
) -> str:
    """`<domainbackup>` of this disk of the guest, and of no other, into the file `part`."""
    root = ET.fromstring(domain_xml)  # noqa: S314 - libvirt's own output, no document from outside
    wanted = target_of(disk)
    backup = ET.Element("domainbackup", mode="push")
    disks = ET.SubElement(backup, "disks")
    for name in (target_of(device) for device in root.iterfind("devices/disk")):
        is_wanted = name == wanted
        one = ET.SubElement(disks, "disk", name=name, backup="yes" if is_wanted else "no")
        if is_wanted:
            one.set("type", "file")
            target = ET.SubElement(one, "target", file=str(part))
            if encryption is not None:
                target.append(encryption)
            ET.SubElement(one, "driver", type=disk_format)
    return ET.tostring(backup, encoding="unicode")


def job_wait(domain: Any, progress: CopyProgress) -> None:
    """Until the job has ended well. Raises DriverError when it has not."""
    progress(0, 0)
    while True:
        stats = domain.jobStats(0)
        if stats.get("type", libvirt.VIR_DOMAIN_JOB_NONE) == libvirt.VIR_DOMAIN_JOB_NONE:
            break
        progress(stats.get("disk_processed", 0), stats.get("disk_total", 0))
        time.sleep(POLL_S)
    ended = domain.jobStats(libvirt.VIR_DOMAIN_JOB_STATS_COMPLETED)
    if ended.get("type") != libvirt.VIR_DOMAIN_JOB_COMPLETED:
        raise DriverError(f"the copy of the disk did not succeed: {ended.get('errmsg', 'it was ended')}")


def job_end(domain: Any) -> None:
    """End a backup that nobody waits for. Raises DriverError when it does not end."""
    deadline = time.monotonic() + ABORT_S
    while domain.jobStats(0).get("type", libvirt.VIR_DOMAIN_JOB_NONE) != libvirt.VIR_DOMAIN_JOB_NONE:
        if time.monotonic() > deadline:
            raise DriverError("a job on the disk of the guest does not end")
        with suppress(LibvirtError):  # it ended by itself
            domain.abortJob()
        time.sleep(POLL_S)
