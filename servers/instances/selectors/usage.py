"""For how long instances ran in a time: those that live and those that were deleted, while their rows stay."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, Q
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce

from controlplane.infra.db import db_now
from servers.models import Instance

HOUR_S = 3600.0
_CHUNK = 2000


@dataclass(frozen=True, slots=True)
class InstanceUse:
    """One instance: its size, and for how many hours of the time that was asked for it was there. `uptime_s` counts
    from its start on, whatever was asked for.
    """

    instance_id: UUID
    project_id: UUID
    name: str
    flavor: str
    vcpus: int
    memory_mib: int
    disk_gib: int
    state: str
    started_at: datetime
    ended_at: datetime | None
    hours: float
    uptime_s: int


def instance_uses(
    *,
    start: datetime,
    end: datetime,
    project_id: UUID | None = None,
    after: UUID | None = None,
    limit: int | None = None,
) -> Iterator[InstanceUse]:
    """Of all projects or of one, in the order of their ids: at most `limit` of them `after` an id. One query."""
    rows = Instance.objects.annotate(ended=Coalesce("terminated_at", "deleted_at"), flavor_name=KT("flavor__name"))
    rows = rows.filter(Q(ended=None) | Q(ended__gt=start), launched_at__lt=end).order_by("pk")
    if project_id is not None:
        rows = rows.filter(project_id=project_id)
    if after is not None:
        rows = rows.filter(pk__gt=after)
    columns = rows.annotate(disk=F("root_gib") + F("ephemeral_gib")).values_list(
        "pk", "project_id", "name", "flavor_name", "vcpus", "memory_mib", "disk", "vm_state", "launched_at", "ended"
    )
    now = db_now()
    for row in (columns if limit is None else columns[:limit]).iterator(chunk_size=_CHUNK):
        yield _use(row, start, end, now)


def _use(row: tuple[Any, ...], start: datetime, end: datetime, now: datetime) -> InstanceUse:
    """Of the columns. Nothing has run in a time that is still to come."""
    instance_id, project_id, name, flavor, vcpus, memory_mib, disk_gib, state, started, ended = row
    inside = (min(ended or now, end) - max(started, start)).total_seconds()
    return InstanceUse(
        instance_id=instance_id,
        project_id=project_id,
        name=name,
        flavor=flavor,
        vcpus=vcpus,
        memory_mib=memory_mib,
        disk_gib=disk_gib,
        state="terminated" if ended else state,
        started_at=started,
        ended_at=ended,
        hours=max(0.0, inside) / HOUR_S,
        uptime_s=int(((ended or now) - started).total_seconds()),
    )
