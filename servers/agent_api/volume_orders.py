"""From a taken piece of work on a volume to the order that its agent gets."""

import uuid
from dataclasses import replace

from django.db.models import QuerySet

from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.volume_work import BackupBytes, VolumeOrder
from computeagent.protocol.volumes import NO_SOURCE, VolumeSourceKind, VolumeSpec, VolumeWorkKind
from computeagent.protocol.work import AgentLease, WorkContext
from controlplane.kernel.errors import NotFound
from controlplane.work.conf import work_options
from controlplane.work.models import Work
from controlplane.work.work import WorkLease as RowLease
from servers.agent_api.host_instances import guest_of_instance
from servers.models import Instance, Volume, VolumeAttachment, VolumeBackup
from servers.volumes.domain.work_rules import FOLLOWS_GUEST
from servers.volumes.selectors.backups import backup_chain
from servers.volumes.selectors.guest_volumes import volume_qos
from servers.volumes.selectors.volume_specs import volume_source, volume_spec, volume_spec_elsewhere
from servers.volumes.services.backup_ends import BACKUP_ID
from servers.volumes.services.volume_ends import qos_grown
from servers.volumes.services.work import VOLUME_ID

SNAPSHOT_ID, SINCE_SNAPSHOT_ID, SIZE_GIB = "snapshot_id", "since_snapshot_id", "size_gib"
"""Arguments: the snapshot to go back to, or to back up, since which other; the size that a volume is to have."""
SNAPSHOT_KINDS = frozenset({VolumeWorkKind.VOLUME_SNAPSHOT_CREATE, VolumeWorkKind.VOLUME_SNAPSHOT_DELETE})


def volume_order(work: Work, lease: RowLease, *, owner: str, host: str) -> VolumeOrder:
    """What is to be done to which volume. Raises NotFound where that is gone: its work is about to be cancelled."""
    kind = VolumeWorkKind(work.kind)
    volume_id = uuid.UUID(work.arguments[VOLUME_ID])
    volume = Volume.objects.select_related("pool", "left_pool", "wanted_pool").filter(pk=volume_id).first()
    if volume is None:
        raise NotFound(f"Volume {volume_id} does not exist.")
    context = WorkContext(kind=work.kind, instance_uuid=str(work.subject), host=host)
    arguments = {name: value for name, value in work.arguments.items() if isinstance(value, str)}
    return VolumeOrder(
        lease=AgentLease(str(work.pk), lease.attempt, owner, work_options().lease_s, context),
        kind=kind,
        volume=_sized(_spec(kind, volume), arguments.get(SIZE_GIB, "")),
        request_id=work.request_id,
        snapshot_id=str(work.subject) if kind in SNAPSHOT_KINDS else arguments.get(SNAPSHOT_ID, ""),
        source=volume_source(volume) if kind is VolumeWorkKind.VOLUME_CREATE else NO_SOURCE,
        guest=_guest_with(work, volume, host, arguments.get(SIZE_GIB, "")) if kind in FOLLOWS_GUEST else None,
        since_snapshot_id=arguments.get(SINCE_SNAPSHOT_ID, ""),
        backups=tuple(BackupBytes(str(one.pk), one.size_bytes, one.checksum) for one in backups_read(work, volume)),
        arguments=arguments,
        target=volume_spec_elsewhere(volume, volume.wanted_pool) if kind is VolumeWorkKind.VOLUME_RETYPE else None,
    )


def _spec(kind: VolumeWorkKind, volume: Volume) -> VolumeSpec:
    is_left = kind is VolumeWorkKind.VOLUME_LEAVE
    return volume_spec_elsewhere(volume, volume.left_pool) if is_left else volume_spec(volume)


def _attached(work: Work) -> QuerySet[VolumeAttachment]:
    """The attachments that the work may be about: one, where that is its subject."""
    rows = VolumeAttachment.objects.filter(volume=work.arguments[VOLUME_ID])
    return rows.filter(pk=work.subject) if work.kind == VolumeWorkKind.VOLUME_LIMIT.value else rows


def _sized(volume: VolumeSpec, size_gib: str) -> VolumeSpec:
    return replace(volume, size_gib=int(size_gib)) if size_gib else volume


def backups_read(work: Work, volume: Volume) -> list[VolumeBackup]:
    """What this work writes into the volume, or compares with it: a full backup and what changed since. Empty for any
    other work.
    """
    backup_id: object = None
    if work.kind in {VolumeWorkKind.VOLUME_RESTORE.value, VolumeWorkKind.VOLUME_BACKUP_CREATE.value}:
        backup_id = work.arguments.get(BACKUP_ID)
    elif work.kind == VolumeWorkKind.VOLUME_CREATE.value and volume.source_kind == VolumeSourceKind.BACKUP.value:
        backup_id = volume.source_id
    if backup_id is None:
        return []
    backup = VolumeBackup.objects.filter(pk=str(backup_id), has_bytes=True).first()
    return [] if backup is None else backup_chain(backup)


def _guest_with(work: Work, volume: Volume, host: str, size_gib: str) -> GuestSpec | None:
    """The guest of this host that has the volume, with the limits that the volume has once it is so large."""
    having = _attached(work).values_list("instance_uuid", flat=True)
    instance = Instance.objects.filter(pk__in=list(having), host=host, deleted_at__isnull=True).order_by("pk").first()
    if instance is None:
        return None
    guest = guest_of_instance(instance)
    if not size_gib:
        return guest
    qos = volume_qos(qos_grown(volume, int(size_gib)))
    return replace(
        guest,
        volumes=tuple(replace(one, qos=qos) if one.volume.id == str(volume.pk) else one for one in guest.volumes),
    )
