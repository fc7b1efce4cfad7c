"""Rows of consumers: made or taken over in the order of their uuids, so that two batches wait and never deadlock."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Now

from controlplane.infra.db import now_sql, rows_run, uuid_of
from placement.domain import INCOMPLETE_OWNER, UNCHECKED, ConsumerState
from placement.domain.errors import consumer_changed
from placement.models import Consumer

# The rows are inserted one after the other, as listed. A consumer that is there keeps its row, which is locked now.
_UPSERT = """
INSERT INTO placement_consumer (uuid, project_id, user_id, consumer_type, by_client, generation, created_at, updated_at)
{rows}
ON CONFLICT (uuid) DO UPDATE
   SET generation = placement_consumer.generation + 1, project_id = excluded.project_id, user_id = excluded.user_id,
       consumer_type = COALESCE(excluded.consumer_type, placement_consumer.consumer_type),
       updated_at = excluded.updated_at
RETURNING id, uuid, generation
"""
_TYPES = ("uuid", "varchar", "varchar", "varchar", "boolean")


@dataclass(frozen=True, slots=True)
class LockedConsumer:
    """A consumer that is locked until the transaction ends. `before` is the generation it had; None: it is new."""

    id: int
    uuid: UUID
    before: int | None


def consumers_upsert(states: Sequence[ConsumerState]) -> dict[UUID, LockedConsumer]:
    """A row for each, with its new project, user and type, and generation + 1 (1 for a new one). Checks nothing."""
    rows = [
        (
            state.consumer_uuid,
            state.project_id or INCOMPLETE_OWNER,
            state.user_id or INCOMPLETE_OWNER,
            state.consumer_type,
            state.by_client,
        )
        for state in sorted(states, key=lambda state: state.consumer_uuid)
    ]
    now = now_sql()
    found = [
        LockedConsumer(pk, uuid_of(uuid), generation - 1 or None)
        for pk, uuid, generation in rows_run(_UPSERT, rows, types=_TYPES, tail=f", 1, {now}, {now}")
    ]
    return {consumer.uuid: consumer for consumer in found}


def generations_check(states: Sequence[ConsumerState], consumers: dict[UUID, LockedConsumer]) -> None:
    """Raise ConsumerChanged where a consumer was not at the generation that its state expects."""
    lost: dict[UUID, tuple[int | None, int | None]] = {}
    for state in states:
        before = consumers[state.consumer_uuid].before
        if state.generation is not UNCHECKED and state.generation != before:
            lost[state.consumer_uuid] = (state.generation, before)
    if lost:
        raise consumer_changed(lost)


def consumer_touch(consumer_id: int) -> None:
    """Record that what it holds has changed: generation + 1. The caller has locked it."""
    Consumer.objects.filter(pk=consumer_id).update(generation=F("generation") + 1, updated_at=Now())


def consumers_lock(uuids: Collection[UUID]) -> list[int]:
    """Ids of those that are there, locked until the transaction ends."""
    rows = Consumer.objects.filter(uuid__in=uuids).order_by("uuid").select_for_update()
    return list(rows.values_list("pk", flat=True))
