"""Volumes of a domain that is there: added, taken away and made larger while it runs.

A guest lets go of a disk when it has an operating system that does; libvirt only asks it to, waits some seconds, and
says that all is well whatever the guest did. So the live XML is looked at, the guest is asked again, as Nova does, and
then the disk stays.
"""

import logging
import time
import xml.etree.ElementTree as ET
from typing import Any

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.binding import LibvirtError, error_text, libvirt
from computeagent.drivers.libvirt.refusals import has_no_slot
from computeagent.drivers.libvirt.volume_xml import disk_of, target_of
from computeagent.protocol.guest_disks import HOT_PLUGGED_BUSES
from computeagent.protocol.steps import FailureClass

log = logging.getLogger(__name__)
UNPLUG_TRIES = 8
"""Nova's device_detach_attempts."""
POLL_S = 0.1
BEING_COPIED = "in active block job"


def volume_attach(domain: Any, disk: ET.Element, volume_id: str) -> None:
    """Have the volume's disk in the running domain. One that is there is a success.

    Raises DriverError, class USER where the guest has no slot for it; then nothing is left of it.
    """
    if disk_of(domain.XMLDesc(0), volume_id) is not None:
        return
    _require_hot_plug(disk)
    try:
        domain.attachDeviceFlags(ET.tostring(disk, encoding="unicode"), libvirt.VIR_DOMAIN_AFFECT_LIVE)
    except LibvirtError as error:
        if disk_of(domain.XMLDesc(0), volume_id) is not None:
            volume_detach(domain, volume_id, timeout_s=0)
        if has_no_slot(error_text(error)):
            message = "the guest has no slot left for another disk while it runs; it can get it while it is off"
            raise DriverError(message, failure_class=FailureClass.USER) from error
        raise DriverError(f"the volume cannot be added: {error_text(error)}") from error


def volume_detach(domain: Any, volume_id: str, *, timeout_s: float) -> None:
    """Have no disk of this volume in the running domain. One that is gone is a success.

    The guest is asked up to UNPLUG_TRIES times within `timeout_s` seconds. Raises DriverError, class USER, for one that
    does not let go; a guest that was asked may do so later still, and then the next call is a success.
    """
    deadline = time.monotonic() + timeout_s
    tries = 0
    while (disk := disk_of(domain.XMLDesc(0), volume_id)) is not None:
        if tries == UNPLUG_TRIES or (tries and time.monotonic() >= deadline):
            raise DriverError(
                f"the guest did not let go of the disk in {timeout_s:.0f} s, though it was asked {tries} times: "
                "unmount it inside and try again, or detach it while the guest is off",
                failure_class=FailureClass.USER,
            )
        _require_hot_plug(disk)
        tries += 1
        try:
            domain.detachDeviceFlags(ET.tostring(disk, encoding="unicode"), libvirt.VIR_DOMAIN_AFFECT_LIVE)
        except LibvirtError as error:
            if not domain.isActive():
                return
            if BEING_COPIED in error_text(error):
                message = "the volume is being copied; try again when that is done"
                raise DriverError(message, failure_class=FailureClass.USER) from error
            # It has been asked already and thinks about it; or it is gone.
            log.info("volume %s of %s was not taken away: %s", volume_id, domain.name(), error_text(error))
        until = time.monotonic() + max(0.0, deadline - time.monotonic()) / (UNPLUG_TRIES + 1 - tries)
        while time.monotonic() < until and disk_of(domain.XMLDesc(0), volume_id) is not None:
            time.sleep(POLL_S)


def volume_resize(domain: Any, volume_id: str, size_bytes: int) -> None:
    """Have the volume as large in the running domain, which sees it at once. One that is as large, or larger, is a
    success. Raises DriverError for a guest without it, LibvirtError.
    """
    target = target_of(disk_there(domain, volume_id))
    if domain.blockInfo(target, 0)[0] < size_bytes:
        domain.blockResize(target, size_bytes, libvirt.VIR_DOMAIN_BLOCK_RESIZE_BYTES)


def volume_limit(domain: Any, volume_id: str, limits: dict[str, int]) -> None:
    """Have these limits, under libvirt's names, and no other. Raises DriverError for a guest without the volume."""
    target = target_of(disk_there(domain, volume_id))
    domain.setBlockIoTune(target, limits, libvirt.VIR_DOMAIN_AFFECT_LIVE)


def disk_there(domain: Any, volume_id: str) -> ET.Element:
    """The volume's disk in the running domain. Raises DriverError for a guest without it."""
    disk = disk_of(domain.XMLDesc(0), volume_id)
    if disk is None:
        raise DriverError(f"guest {domain.name()} does not have volume {volume_id} now")
    return disk


def _require_hot_plug(disk: ET.Element) -> None:
    bus = _bus(disk)
    if bus not in HOT_PLUGGED_BUSES or disk.get("device") == "cdrom":
        message = f"a {disk.get('device')} on the bus {bus} comes and goes only while the guest is off"
        raise DriverError(message, failure_class=FailureClass.USER)


def _bus(disk: ET.Element) -> str:
    target = disk.find("target")
    return "" if target is None else target.get("bus", "")
