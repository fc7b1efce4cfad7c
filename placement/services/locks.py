"""Locks of providers: the row of a provider is the lock of everything below it.

Whoever locks several providers locks them in the order of their ids, so no two writers can wait for each other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models.functions import Now

from controlplane.infra.db import now_sql, one_of, uuid_of
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from placement.domain import ConsumerState
from placement.domain.errors import provider_changed
from placement.models import ChangeStamp, ResourceProvider
from placement.models.stamp import stamp_sql

# One UPDATE of many rows locks them in any order it likes. PostgreSQL locks those of the WITH in the order of their
# ids, each before the UPDATE can reach it; an UPDATE that had to wait reads the row anew, so no count is lost.
# The lock is NO KEY, because an allocation that is written beside it needs only the key of the provider.
_TOUCH = """
WITH touched(touched_id) AS (
    SELECT id FROM placement_resourceprovider WHERE uuid {uuids} OR id {ids} ORDER BY id {lock}
)
UPDATE placement_resourceprovider
   SET generation = generation + {step}, changed = {stamp}, updated_at = {now}
  FROM touched WHERE id = touched_id
RETURNING id, uuid, generation
"""


@dataclass(frozen=True, slots=True)
class Touched:
    """A provider that is locked until the transaction ends. `generation` is the one that it has from now on."""

    id: int
    uuid: UUID
    generation: int


def provider_lock(provider_uuid: UUID, *, expected_generation: int | None = None) -> ResourceProvider:
    """Lock the provider until the transaction ends, and return it.

    Raises NotFound; ProviderChanged when its generation is not the one that the caller has seen.
    """
    provider = ResourceProvider.objects.select_for_update(no_key=True).filter(uuid=provider_uuid).first()
    if provider is None:
        raise NotFound(
            _("There is no resource provider {provider_uuid}.", provider_uuid=provider_uuid),
            provider_uuid=provider_uuid,
        )
    if expected_generation is not None and provider.generation != expected_generation:
        raise provider_changed(provider_uuid, expected=expected_generation, actual=provider.generation)
    return provider


def providers_lock(provider_uuids: Collection[UUID]) -> None:
    """Lock these until the transaction ends: who claims there has done so or waits. Unknown ones are skipped."""
    rows = ResourceProvider.objects.select_for_update(no_key=True).filter(uuid__in=list(provider_uuids)).order_by("pk")
    list(rows.values_list("pk", flat=True))


def providers_touch(ids: Collection[int] = (), *, uuids: Collection[UUID] = (), step: int = 1) -> dict[UUID, Touched]:
    """Lock these providers and record a change: generation + `step`, a new change stamp. Unknown ones are skipped.

    With `step` 0 readers of the fleet see the change, and clients that compare generations do not.
    """
    if not ids and not uuids:
        return {}
    one_of_uuids, uuid_values = one_of(uuids, "uuid")
    one_of_ids, id_values = one_of(ids, "bigint")
    text = _TOUCH.format(
        uuids=one_of_uuids,
        ids=one_of_ids,
        lock="FOR NO KEY UPDATE" if connection.features.has_select_for_no_key_update else "",
        step=int(step),
        stamp=stamp_sql(connection.vendor),
        now=now_sql(),
    )
    with connection.cursor() as cursor:
        cursor.execute(text, [*uuid_values, *id_values])
        rows = [Touched(pk, uuid_of(uuid), generation) for pk, uuid, generation in cursor.fetchall()]
    return {row.uuid: row for row in rows}


def seen_check(states: Sequence[ConsumerState], touched: Mapping[UUID, Touched]) -> None:
    """Raise ProviderChanged for a provider that was at another generation than a state has seen, before it was touched.

    One that is not there has no inventories either, and its refusal says so.
    """
    for state in states:
        for uuid, expected in state.seen.items():
            if uuid in touched and touched[uuid].generation - 1 != expected:
                raise provider_changed(uuid, expected=expected, actual=touched[uuid].generation - 1)


def providers_stamp(provider_ids: Collection[int]) -> None:
    """Record a change of name or of place in the tree: readers see it, the generation stays, as in Placement."""
    ResourceProvider.objects.filter(pk__in=provider_ids).update(changed=ChangeStamp(), updated_at=Now())
