"""What events of volumes and snapshots carry: the fields of Cinder's notifications, by their names. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

Payload = dict[str, object]


@dataclass(frozen=True, slots=True)
class VolumeEventFacts:
    """A volume as an event tells of it."""

    id: str
    project_id: str
    user_id: str
    name: str
    size_gib: int
    state: str
    volume_type_id: str
    pool: str
    availability_zone: str
    created_at: datetime
    source_kind: str
    source_id: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    instances: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SnapshotEventFacts:
    """A snapshot of a volume as an event tells of it."""

    id: str
    volume_id: str
    project_id: str
    user_id: str
    name: str
    size_gib: int
    state: str
    created_at: datetime
    metadata: Mapping[str, str] = field(default_factory=dict)


def volume_payload(facts: VolumeEventFacts, *, problem: str = "") -> Payload:
    """The payload of `volume.*`; `problem` says what failed."""
    of = {f"{facts.source_kind}_id": facts.source_id} if facts.source_id else {}
    payload: Payload = {
        "volume_id": facts.id,
        "tenant_id": facts.project_id,
        "user_id": facts.user_id,
        "display_name": facts.name,
        "size": facts.size_gib,
        "status": facts.state,
        "volume_type": facts.volume_type_id or None,
        "host": facts.pool,
        "availability_zone": facts.availability_zone,
        "created_at": facts.created_at.isoformat(),
        "metadata": dict(facts.metadata),
        "volume_attachment": [{"server_id": one} for one in facts.instances],
        **{"source_" + name: value for name, value in of.items()},
    }
    return payload | {"error": problem} if problem else payload


def snapshot_payload(facts: SnapshotEventFacts, *, problem: str = "") -> Payload:
    """The payload of `snapshot.*`; `problem` says what failed."""
    payload: Payload = {
        "snapshot_id": facts.id,
        "volume_id": facts.volume_id,
        "tenant_id": facts.project_id,
        "user_id": facts.user_id,
        "display_name": facts.name,
        "volume_size": facts.size_gib,
        "status": facts.state,
        "created_at": facts.created_at.isoformat(),
        "metadata": dict(facts.metadata),
    }
    return payload | {"error": problem} if problem else payload
