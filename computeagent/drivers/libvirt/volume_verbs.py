"""The driver's verbs on volumes that a guest has.

The running domain and its definition are two things, and each is changed as far as it is not so yet: a process that
dies between them does the rest when it is asked again. Only the volume in question has to be connected.
"""

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from computeagent.drivers.base import CopyProgress, DriverError, volume_of
from computeagent.drivers.libvirt.backup_job import disk_copy_running, job_end, job_turn
from computeagent.drivers.libvirt.binding import libvirt, translated
from computeagent.drivers.libvirt.domains import domain_lookup, is_running, live_xml_or_none
from computeagent.drivers.libvirt.files import host_errors
from computeagent.drivers.libvirt.freezing import frozen, thaw
from computeagent.drivers.libvirt.guest_base import GuestBase
from computeagent.drivers.libvirt.guest_options import guest_options
from computeagent.drivers.libvirt.volume_cache import volume_cache
from computeagent.drivers.libvirt.volume_plug import (
    disk_there,
    volume_attach,
    volume_detach,
    volume_limit,
    volume_resize,
)
from computeagent.drivers.libvirt.volume_secrets import secrets_defined
from computeagent.drivers.libvirt.volume_xml import (
    disk_targets,
    disk_with_serial,
    encryption,
    iotune_limits,
    target_of,
    volume_devices,
    volume_disk,
    volumes_in,
)
from computeagent.protocol.guests import GuestFacts, GuestSpec
from computeagent.protocol.power import PowerState
from computeagent.protocol.volumes import GuestVolume, VolumeFacts
from computeagent.volumes.base import VolumeBackendError
from computeagent.volumes.luks import luks_create
from controlplane.kernel.kill_points import reach


class GuestVolumeVerbs(GuestBase):
    """A part of `LibvirtDriver`. See `computeagent.drivers.base.Driver` for what each verb promises."""

    def attach_volume(self, guest: GuestSpec, volume_id: str) -> GuestFacts:
        """Into the running domain, and into its definition."""
        conn, volume = self._connection.handle(), volume_of(guest, volume_id)
        with translated(f"adding a volume to {guest.uuid}"):
            domain = self._there(conn, guest.uuid)
            if self._runs(domain):
                with secrets_defined(conn, [volume]):
                    volume_attach(domain, _disk(guest, volume, domain.XMLDesc(0)), volume_id)
                reach("computeagent.drivers.libvirt.volume_verbs:attached")
            definition = _definition(domain)
            if disk_with_serial(definition, volume_id) is None:
                disk = _disk(guest, volume, ET.tostring(definition, encoding="unicode"))
                definition.find("devices").append(disk)  # type: ignore[union-attr]  # every domain has devices
                domain = conn.defineXML(ET.tostring(definition, encoding="unicode"))
            return self._facts(conn, domain)

    def detach_volume(self, guest: GuestSpec, volume_id: str, *, timeout_s: float) -> GuestFacts:
        """Out of the running domain first, then out of its definition."""
        conn = self._connection.handle()
        volume_of(guest, volume_id)
        with translated(f"taking a volume from {guest.uuid}"):
            domain = domain_lookup(conn, guest.uuid)
            if domain is None:
                return GuestFacts(PowerState.NOSTATE)
            if self._runs(domain):
                volume_detach(domain, volume_id, timeout_s=timeout_s)
                reach("computeagent.drivers.libvirt.volume_verbs:detached")
            definition = _definition(domain)
            if (disk := disk_with_serial(definition, volume_id)) is not None:
                definition.find("devices").remove(disk)  # type: ignore[union-attr]  # the disk is in them
                domain = conn.defineXML(ET.tostring(definition, encoding="unicode"))
            return self._facts(conn, domain)

    def resize_volume(self, guest: GuestSpec, volume_id: str, size_bytes: int) -> None:
        """By QEMU, which has the volume open."""
        domain = self._with_volume(guest, volume_id, f"making a volume of {guest.uuid} larger")
        with translated(f"making a volume of {guest.uuid} larger"):
            volume_resize(domain, volume_id, size_bytes)

    def limit_volume(self, guest: GuestSpec, volume_id: str) -> None:
        """In the running domain; the next start has the limits by its definition."""
        volume = volume_of(guest, volume_id)
        domain = self._with_volume(guest, volume_id, f"limiting a volume of {guest.uuid}")
        with translated(f"limiting a volume of {guest.uuid}"):
            volume_limit(domain, volume_id, iotune_limits(volume.qos))

    def copy_volume(self, guest: GuestSpec, volume_id: str, target: Path, progress: CopyProgress) -> VolumeFacts:
        """By a backup job of QEMU, in the format of the volume; of an encrypted one a LUKS of its own, which the same
        passphrase opens.
        """
        conn, volume = self._connection.handle(), volume_of(guest, volume_id)
        marker = self._profile.frozen_marker(guest.uuid)
        with job_turn(guest.uuid), translated(f"copying a volume of {guest.uuid}"):
            domain = self._with_volume(guest, volume_id, f"copying a volume of {guest.uuid}")
            job_end(domain)  # of an attempt that was cut off, whose file goes now
            thaw(domain, marker)
            with host_errors(f"making room for a copy of volume {volume_id}"):
                target.unlink(missing_ok=True)
            disk = disk_there(domain, volume_id)
            size_bytes = domain.blockInfo(target_of(disk), 0)[0]
            is_encrypted = disk.find("source/encryption") is not None
            if is_encrypted:
                _luks_make(target, size_bytes, volume)
            driver = disk.find("driver")
            with secrets_defined(conn, [volume]):
                freeze = disk_copy_running(
                    domain,
                    guest,
                    disk,
                    target,
                    marker=marker,
                    progress=progress,
                    disk_format="raw" if driver is None else driver.get("type", "raw"),
                    encryption=encryption(volume) if is_encrypted else None,
                )
        return VolumeFacts(size_bytes=size_bytes, is_consistent=freeze.is_consistent, frozen_ms=freeze.frozen_ms)

    def quiesce(self, guest: GuestSpec, take: Callable[[], VolumeFacts]) -> VolumeFacts:
        """By the guest's agent, as `copy_volume`; what a process that died froze is thawed as there."""
        conn, marker = self._connection.handle(), self._profile.frozen_marker(guest.uuid)
        with job_turn(guest.uuid):
            with translated(f"freezing {guest.uuid}"):
                domain = self._there(conn, guest.uuid)
            thaw(domain, marker)
            with frozen(domain, guest, marker) as freeze:
                facts = take()
        return replace(facts, is_consistent=freeze.is_consistent, frozen_ms=freeze.frozen_ms)

    def volumes_of_guests(self) -> dict[str, tuple[str, ...]]:
        """By the serial numbers of disks in the live XML."""
        with translated("looking for volumes of guests"):
            ours = self._ours(self._connection.handle())
            live = {mark.uuid: live_xml_or_none(domain) for domain, mark in ours}
            return {uuid: volumes_in(xml) for uuid, xml in live.items() if xml is not None}

    def _with_volume(self, guest: GuestSpec, volume_id: str, doing: str) -> Any:
        """The domain, which runs with the volume."""
        conn = self._connection.handle()
        volume_of(guest, volume_id)
        with translated(doing):
            domain = self._there(conn, guest.uuid)
            if not self._runs(domain):
                raise DriverError(f"guest {guest.uuid} is off, so it does not have volume {volume_id} now")
            disk_there(domain, volume_id)
            return domain

    def _runs(self, domain: Any) -> bool:
        """Whether something runs that could have a disk: what is simulated is its definition alone."""
        return is_running(domain) and self._profile.runs_guests


def _definition(domain: Any) -> ET.Element:
    text = domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE)
    return ET.fromstring(text)  # noqa: S314 - libvirt's own output


def _disk(guest: GuestSpec, volume: GuestVolume, domain_xml: str) -> ET.Element:
    """The volume as one more disk of this domain; it is booted from only by a definition made anew."""
    caches = {volume.volume.id: volume_cache(volume)}
    (device,) = volume_devices([volume], disk_targets(domain_xml), boot_orders={}, caches=caches)
    return volume_disk(device, guest_options(guest))


def _luks_make(target: Path, size_bytes: int, volume: GuestVolume) -> None:
    """An empty LUKS at `target` that the volume's passphrase opens. Raises DriverError."""
    passphrase = "" if volume.source is None else volume.source.passphrase
    try:
        luks_create(target, size_bytes, passphrase.encode())
    except VolumeBackendError as error:
        raise DriverError(error.message) from error
