"""A volume as a disk of a guest, in libvirt's XML. Pure: no libvirt, no file.

The disk's serial number is the volume's id: by it the disk is found again in a guest that runs, whatever it is called
there. A virtio disk shows its guest the first 20 characters of it.
"""

import uuid
import xml.etree.ElementTree as ET
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.guest_options import GuestOptions
from computeagent.drivers.libvirt.options_xml import add_target
from computeagent.protocol.guest_disks import DISK_BUSES, free_device
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import NO_QOS, DiskSource, GuestVolume, PoolKind, VolumeQos
from controlplane.kernel.ids import parse_uuid

DEVICE_TYPES = ("disk", "cdrom")
DIRECT, CACHED = "none", "writeback"
SECRET_NAME = "kilonova "  # noqa: S105 - how it is called
"""What the names of all our secrets begin with."""
_QOS_NAMES = {
    "total_iops": "total_iops_sec",
    "read_iops": "read_iops_sec",
    "write_iops": "write_iops_sec",
    "total_bytes": "total_bytes_sec",
    "read_bytes": "read_bytes_sec",
    "write_bytes": "write_bytes_sec",
}


@dataclass(frozen=True, slots=True)
class VolumeDevice:
    """A volume and its place in the guest. `cache` is libvirt's word: none by-passes the host's page cache, which is
    what a volume wants that another host may have next.
    """

    volume: GuestVolume
    target: str
    boot_order: int = 0
    cache: str = DIRECT


@dataclass(frozen=True, slots=True)
class VolumeSecret:
    """A secret that the hypervisor needs to open a volume. `usage` is libvirt's type of usage: ceph, volume."""

    uuid: str
    usage: str
    name: str
    volume: GuestVolume


def volume_devices(
    volumes: Sequence[GuestVolume], taken: Collection[str], *, boot_orders: Mapping[str, int], caches: Mapping[str, str]
) -> tuple[VolumeDevice, ...]:
    """The volumes with a name each that no disk of the host's own has (`taken`): the one that was promised where it is
    free, and fits the bus. By volume id: `boot_orders` and `caches`. Raises DriverError (USER).
    """
    targets: dict[str, str] = {}
    in_use = set(taken)
    for volume in sorted(volumes, key=lambda one: not one.device):
        promised = volume.device.removeprefix("/dev/")
        fits = promised.startswith(_prefix(volume)) and promised not in in_use
        target = promised if fits else free_device(volume.bus, in_use)
        if not target:
            raise _wrong(f"the guest has no place left for a disk on {volume.bus}")
        targets[volume.volume.id] = target
        in_use.add(target)
    return tuple(
        VolumeDevice(
            volume,
            targets[volume.volume.id],
            boot_orders.get(volume.volume.id, 0),
            caches.get(volume.volume.id, DIRECT),
        )
        for volume in volumes
    )


def volume_disk(device: VolumeDevice, options: GuestOptions) -> ET.Element:
    """`<disk>`. A volume that fails stops its guest, which runs on when the volume is back: neither reads nor writes
    are lost. Raises DriverError: class HOST for a volume that nobody connected, USER for what cannot be given.
    """
    volume, source = device.volume, device.volume.source
    if source is None:
        raise DriverError(f"volume {volume.volume.id} is not connected to this host")
    if volume.device_type not in DEVICE_TYPES:
        raise _wrong(f"a volume cannot be a {volume.device_type[:40]!r}; possible here: {', '.join(DEVICE_TYPES)}")
    if volume.is_shared and source.disk_format != "raw":
        raise DriverError(f"volume {volume.volume.id} is {source.disk_format}, which one guest alone may have")
    kind = "file" if source.kind is PoolKind.FILE else "network"
    disk = ET.Element("disk", type=kind, device=volume.device_type)
    driver = {"name": "qemu", "type": source.disk_format, "cache": device.cache, "discard": "unmap"}
    if options.has_packed_virtqueues and volume.bus == "virtio":
        driver["packed"] = "on"
    ET.SubElement(disk, "driver", {**driver, "error_policy": "stop", "rerror_policy": "stop"})
    _source(disk, volume, source)
    add_target(disk, device.target, volume.bus, options)
    _iotune(disk, volume.qos)
    if volume.is_read_only or volume.device_type == "cdrom":
        ET.SubElement(disk, "readonly")
    if volume.is_shared:
        ET.SubElement(disk, "shareable")
    ET.SubElement(disk, "serial").text = str(uuid.UUID(volume.volume.id))
    if device.boot_order:
        ET.SubElement(disk, "boot", order=str(device.boot_order))
    return disk


def volume_secrets(volumes: Collection[GuestVolume]) -> tuple[VolumeSecret, ...]:
    """The secrets by which these volumes are opened."""
    found = []
    for volume in volumes:
        if volume.source is not None and volume.source.user_key:
            found.append(VolumeSecret(_secret_uuid(volume, "ceph"), "ceph", _secret_name(volume), volume))
        if volume.source is not None and volume.source.passphrase:
            found.append(VolumeSecret(_secret_uuid(volume, "luks"), "volume", _secret_name(volume), volume))
    return tuple(found)


def secret_xml(secret: VolumeSecret) -> str:
    """`<secret>`: in libvirt's memory alone, and nobody reads its value by libvirt."""
    element = ET.Element("secret", ephemeral="yes", private="yes")
    ET.SubElement(element, "uuid").text = secret.uuid
    ET.SubElement(element, "description").text = "Kilonova volume"
    usage = ET.SubElement(element, "usage", type=secret.usage)
    ET.SubElement(usage, "name" if secret.usage == "ceph" else "volume").text = secret.name
    return ET.tostring(element, encoding="unicode")


def encryption(volume: GuestVolume) -> ET.Element:
    """`<encryption>` of what holds the volume's bytes, or a copy of them: LUKS with the volume's own passphrase."""
    element = ET.Element("encryption", format="luks")
    ET.SubElement(element, "secret", type="passphrase", uuid=_secret_uuid(volume, "luks"))
    return element


def disk_of(domain_xml: str, volume_id: str) -> ET.Element | None:
    """The disk of this volume in a domain."""
    return disk_with_serial(ET.fromstring(domain_xml), volume_id)  # noqa: S314 - libvirt's own output or ours


def disk_with_serial(domain: ET.Element, volume_id: str) -> ET.Element | None:
    """The same, of XML that was read."""
    return next((disk for disk in domain.iterfind("devices/disk") if disk.findtext("serial") == volume_id), None)


def disk_targets(domain_xml: str) -> set[str]:
    """What the domain calls its disks."""
    root = ET.fromstring(domain_xml)  # noqa: S314 - libvirt's own output or ours
    return {target_of(disk) for disk in root.iterfind("devices/disk")}


def volumes_in(domain_xml: str) -> tuple[str, ...]:
    """The volumes that the domain has, by id."""
    root = ET.fromstring(domain_xml)  # noqa: S314 - libvirt's own output or ours
    serials = (disk.findtext("serial", "") for disk in root.iterfind("devices/disk"))
    return tuple(serial for serial in serials if parse_uuid(serial) is not None)


def target_of(disk: ET.Element) -> str:
    """What the domain calls the disk."""
    target = disk.find("target")
    return "" if target is None else target.get("dev", "")


def iotune_limits(qos: VolumeQos) -> dict[str, int]:
    """All limits under libvirt's names, 0 for none. Raises DriverError (USER): a total goes without parts."""
    limits = {libvirt_name: int(getattr(qos, name)) for name, libvirt_name in _QOS_NAMES.items()}
    for metric in ("iops", "bytes"):
        parts = [limits[f"{way}_{metric}_sec"] for way in ("read", "write")]
        if limits[f"total_{metric}_sec"] and any(parts):
            raise _wrong(f"a volume's limit of total {metric} goes without those of reads and writes")
    return limits


def _prefix(volume: GuestVolume) -> str:
    if volume.bus not in DISK_BUSES:
        raise _wrong(f"no disk can be on {volume.bus[:40]!r}; possible here: {', '.join(DISK_BUSES)}")
    return DISK_BUSES[volume.bus]


def _source(disk: ET.Element, volume: GuestVolume, source: DiskSource) -> None:
    if source.kind is PoolKind.FILE:
        element = ET.SubElement(disk, "source", file=source.path)
    elif source.kind is PoolKind.NBD:
        element = ET.SubElement(disk, "source", protocol="nbd", name=source.export)
        if source.socket:
            ET.SubElement(element, "host", transport="unix", socket=source.socket)
        else:
            ET.SubElement(element, "host", name=source.host, port=str(source.port))
            if source.has_tls:
                element.set("tls", "yes")
    else:
        element = ET.SubElement(disk, "source", protocol="rbd", name=source.image)
        for monitor in source.monitors:
            ET.SubElement(element, "host", _host_and_port(monitor))
        if source.user_key:
            auth = ET.SubElement(element, "auth", username=source.user)
            ET.SubElement(auth, "secret", type="ceph", uuid=_secret_uuid(volume, "ceph"))
    if source.passphrase:
        element.append(encryption(volume))


def _host_and_port(monitor: str) -> dict[str, str]:
    """Of `10.0.0.1:6789`, `[2001:db8::1]:6789`, or a name without a port."""
    address, colon, port = monitor.rpartition(":")
    if not colon or not port.isdigit() or (":" in address and not address.endswith("]")):
        return {"name": monitor.strip("[]")}
    return {"name": address.strip("[]"), "port": port}


def _iotune(disk: ET.Element, qos: VolumeQos) -> None:
    if qos != NO_QOS:
        iotune = ET.SubElement(disk, "iotune")
        for name, amount in iotune_limits(qos).items():
            if amount:
                ET.SubElement(iotune, name).text = str(amount)


def _secret_uuid(volume: GuestVolume, purpose: str) -> str:
    """One for each guest that has the volume: what one start makes and removes, another one does not miss."""
    return str(uuid.uuid5(uuid.UUID(volume.attachment_id), purpose))


def _secret_name(volume: GuestVolume) -> str:
    return f"{SECRET_NAME}{uuid.UUID(volume.volume.id)} {uuid.UUID(volume.attachment_id)}"


def _wrong(message: str) -> DriverError:
    return DriverError(message, failure_class=FailureClass.USER)
