"""Volumes as the Volume API shows them."""

from typing import Final, cast, overload

from servers.models import StoragePool, Volume, VolumeAttachment
from servers.openstack.call import micro_seconds
from servers.openstack.volume.call import VolumeCall
from servers.openstack.volume.shapes import (
    AttachedJson,
    AttachmentJson,
    AttachmentSummary,
    ChangedVolumeJson,
    VolumeExtensions,
    VolumeFieldsByVersion,
    VolumeJson,
    VolumeSummary,
)
from servers.volumes.domain.states import AttachmentState

IMAGE_FIELD: Final = "volume_image_metadata"
IN_GUEST = frozenset({AttachmentState.ATTACHED.value, AttachmentState.DETACHING.value})


@overload
def pool_host(pool: StoragePool) -> str: ...
@overload
def pool_host(pool: None) -> None: ...
def pool_host(pool: StoragePool | None) -> str | None:
    """A pool as Cinder writes one: host@backend#pool. A shared one is no host's."""
    return None if pool is None else f"{pool.host or 'shared'}@{pool.kind}#{pool.name}"


def volume_summary(call: VolumeCall, row: Volume) -> VolumeSummary:
    """What a list without details shows."""
    return {"id": str(row.pk), "name": row.name, "links": call.links("volumes", row.pk)}


def volume_json(call: VolumeCall, row: Volume) -> VolumeJson:
    """One volume, with what its version has."""
    kind = row.volume_type
    return {
        **volume_summary(call, row),
        "description": row.description,
        "status": row.state,
        "size": row.size_gib,
        "availability_zone": row.availability_zone or None,
        "created_at": micro_seconds(row.created_at),
        "updated_at": micro_seconds(row.updated_at),
        "volume_type": kind.name if kind else None,
        "metadata": shown_metadata(row),
        "user_id": row.user_id.hex,
        "bootable": str(row.is_bootable).lower(),
        "encrypted": row.is_encrypted,
        "multiattach": row.is_multiattach,
        "replication_status": None,
        "consistencygroup_id": None,
        "attachments": [_attachment_of(one) for one in row.attachments.all() if one.state in IN_GUEST],
        "os-vol-tenant-attr:tenant_id": row.project_id.hex,
        "snapshot_id": str(row.source_id) if row.source_kind == "snapshot" else None,
        "source_volid": str(row.source_id) if row.source_kind == "volume" else None,
        **_extensions(call, row),
        **_by_version(call, row),
    }


def _extensions(call: VolumeCall, row: Volume) -> VolumeExtensions:
    shown: VolumeExtensions = {}
    if row.image:
        shown[IMAGE_FIELD] = image_metadata(row)
    if call.sees_all:
        shown["os-vol-host-attr:host"] = pool_host(row.pool)
        shown["os-vol-mig-status-attr:migstat"] = None
        shown["os-vol-mig-status-attr:name_id"] = None
        shown["migration_status"] = None
    return shown


def changed_volume_json(call: VolumeCall, row: Volume) -> ChangedVolumeJson:
    """One volume as what makes or changes it answers: Cinder's extensions add their fields to what is read alone."""
    shown = volume_json(call, row)
    left = {name: value for name, value in shown.items() if not name.startswith("os-vol-") and name != IMAGE_FIELD}
    return cast("ChangedVolumeJson", left)


def _by_version(call: VolumeCall, row: Volume) -> VolumeFieldsByVersion:
    shown: VolumeFieldsByVersion = {}
    if call.minor >= 21 and call.sees_all:
        shown["provider_id"] = None
    if call.minor >= 25:
        shown["group_id"] = None
    if call.minor >= 48:
        shown["shared_targets"] = False
        shown["service_uuid"] = None
    if call.minor >= 61 and call.sees_all:
        shown["cluster_name"] = None
    if call.minor >= 63:
        shown["volume_type_id"] = str(row.volume_type_id) if row.volume_type_id else None
    if call.minor >= 65:
        shown["consumes_quota"] = True
    return shown


def shown_metadata(row: Volume) -> dict[str, str]:
    """What its owner wrote, and whether it is read-only, which Cinder says here."""
    return {**row.metadata, "readonly": "True"} if row.is_read_only else dict(row.metadata)


def image_metadata(row: Volume) -> dict[str, str]:
    """Of the image that it was made of: its properties, and what it is. All are texts."""
    image = row.image
    known = {
        "image_id": image.get("id", ""),
        "image_name": image.get("name", ""),
        "disk_format": image.get("disk_format", ""),
        "container_format": "bare",
        "checksum": image.get("checksum_sha256", ""),
        "min_disk": image.get("min_disk_gib", 0),
        "min_ram": image.get("min_ram_mib", 0),
        "size": image.get("size_bytes", 0),
    }
    return {name: str(value) for name, value in {**image.get("properties", {}), **known}.items()}


def _attachment_of(one: VolumeAttachment) -> AttachedJson:
    return {
        "id": str(one.volume_id),
        "attachment_id": str(one.pk),
        "volume_id": str(one.volume_id),
        "server_id": str(one.instance_uuid),
        "host_name": None,
        "device": f"/dev/{one.device}" if one.device else None,
        "attached_at": micro_seconds(one.attached_at),
    }


def attachment_summary(one: VolumeAttachment) -> AttachmentSummary:
    """What a list without details shows of an attachment."""
    return {
        "id": str(one.pk),
        "status": STATUSES[AttachmentState(one.state)],
        "instance": str(one.instance_uuid),
        "volume_id": str(one.volume_id),
    }


def attachment_json(one: VolumeAttachment) -> AttachmentJson:
    """One attachment. How a host reaches the volume is between the control plane and that host."""
    return {
        **attachment_summary(one),
        "attached_at": micro_seconds(one.attached_at) or "",
        "detached_at": "",
        "attach_mode": "ro" if one.is_read_only else "rw",
        "connection_info": {},
    }


STATUSES = {
    AttachmentState.RESERVED: "reserved",
    AttachmentState.ATTACHING: "attaching",
    AttachmentState.ATTACHED: "attached",
    AttachmentState.DETACHING: "detaching",
    AttachmentState.ERROR: "error_attaching",
}
"""Of attachments, as Cinder spells them."""
