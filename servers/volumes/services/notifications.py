"""Events of volumes and snapshots, under Cinder's names, written in the transaction in which they happen.

An event costs no statement where nobody wants it. It is made of the row as it is, so emit it after the change.
"""

from django.utils import timezone

from controlplane.notifications.models import Priority
from controlplane.notifications.outbox import events_wanted, events_write
from controlplane.notifications.serializer import Event, publisher
from servers.models import Volume, VolumeAttachment, VolumeSnapshot
from servers.volumes.domain.notification_payload import (
    SnapshotEventFacts,
    VolumeEventFacts,
    snapshot_payload,
    volume_payload,
)

VOLUME_BINARY = "cinder-volume"
_PHASES = ("start", "end", "error")
VOLUME_EVENTS = frozenset(
    {
        *(
            f"volume.{verb}.{phase}"
            for verb in ("create", "delete", "resize", "revert", "retype", "upload")
            for phase in _PHASES
        ),
        *(f"volume.{verb}.end" for verb in ("update", "transfer.create", "transfer.accept", "transfer.delete")),
        "volume.retype",
        *(f"snapshot.{verb}.{phase}" for verb in ("create", "delete") for phase in _PHASES),
        "snapshot.update.end",
    }
)
"""All that are emitted."""


def emit_volume(verb: str, volume: Volume, *, problem: str = "") -> None:
    """Emit `volume.<verb>` (create.start, extend.end, delete.error ...)."""
    event_type = f"volume.{verb}"
    if events_wanted((event_type,)):
        _write(event_type, volume, volume_payload(_volume_facts(volume), problem=problem), problem)


def emit_snapshot(verb: str, snapshot: VolumeSnapshot, *, problem: str = "") -> None:
    """Emit `snapshot.<verb>`."""
    event_type = f"snapshot.{verb}"
    if events_wanted((event_type,)):
        _write(event_type, snapshot, snapshot_payload(_snapshot_facts(snapshot), problem=problem), problem)


def _write(event_type: str, row: Volume | VolumeSnapshot, payload: dict[str, object], problem: str) -> None:
    events_write(
        [
            Event(
                event_type=event_type,
                publisher_id=publisher(VOLUME_BINARY),
                payload=payload,
                happened_at=timezone.now(),
                priority=Priority.ERROR if problem else Priority.INFO,
                project_id=row.project_id,
            )
        ]
    )


def _volume_facts(volume: Volume) -> VolumeEventFacts:
    instances = VolumeAttachment.objects.filter(volume=volume).values_list("instance_uuid", flat=True)
    return VolumeEventFacts(
        id=str(volume.pk),
        project_id=str(volume.project_id),
        user_id=str(volume.user_id),
        name=volume.name,
        size_gib=volume.size_gib,
        state=volume.state,
        volume_type_id=str(volume.volume_type_id or ""),
        pool=str(volume.pool) if volume.pool else "",
        availability_zone=volume.availability_zone,
        created_at=volume.created_at,
        source_kind=volume.source_kind,
        source_id=str(volume.source_id or ""),
        metadata=volume.metadata,
        instances=tuple(str(one) for one in instances),
    )


def _snapshot_facts(snapshot: VolumeSnapshot) -> SnapshotEventFacts:
    return SnapshotEventFacts(
        id=str(snapshot.pk),
        volume_id=str(snapshot.volume_id),
        project_id=str(snapshot.project_id),
        user_id=str(snapshot.user_id),
        name=snapshot.name,
        size_gib=snapshot.size_gib,
        state=snapshot.state,
        created_at=snapshot.created_at,
        metadata=snapshot.metadata,
    )
