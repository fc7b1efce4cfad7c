"""Limits on how many consumers with a key a provider has: counted and guarded inside the claim."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from django.db.models import Count

from controlplane.infra.db import in_run
from placement.domain import ConsumerState, CountShortage, capacity_error
from placement.models import CountedConsumer
from placement.services.consumers import LockedConsumer
from placement.services.locks import Touched

_COUNTED = "SELECT id, consumer_id, provider_id FROM placement_countedconsumer WHERE consumer_id IN ({values})"
_FORGET = "DELETE FROM placement_countedconsumer WHERE id IN ({values})"

Place = tuple[int, str]  # provider id, key


def counts_claim(
    states: Sequence[ConsumerState], consumers: Mapping[UUID, LockedConsumer], providers: Mapping[UUID, Touched]
) -> None:
    """Let the consumers count under their keys; NoCapacity (rule `count_limit`) where that is more than a limit allows.

    The providers are locked, so nobody comes or goes between the read and the write.
    """
    limited = [(state, limit) for state in states for limit in state.limits]
    if not limited:
        return
    rows = {
        (providers[limit.provider_uuid].id, limit.key, consumers[state.consumer_uuid].id) for state, limit in limited
    }
    present = _present(rows)
    wanted = Counter((provider_id, key) for provider_id, key, _ in rows)
    shortages: dict[Place, CountShortage] = {}
    for _, limit in limited:
        place = (providers[limit.provider_uuid].id, limit.key)
        if present[place] + wanted[place] > limit.limit:
            shortages[place] = CountShortage(limit.provider_uuid, limit.key, wanted[place], present[place], limit.limit)
    if shortages:
        raise capacity_error(list(shortages.values()))
    new = [CountedConsumer(provider_id=place, key=key, consumer_id=consumer) for place, key, consumer in sorted(rows)]
    CountedConsumer.objects.bulk_create(new, ignore_conflicts=True)  # who stayed here counts already


def _present(rows: Collection[tuple[int, str, int]]) -> Counter[Place]:
    """How many others count at these places."""
    providers, keys, consumers = (set(column) for column in zip(*rows, strict=True))
    found = (
        CountedConsumer.objects.filter(provider_id__in=providers, key__in=keys)
        .exclude(consumer_id__in=consumers)
        .order_by()
        .values_list("provider_id", "key")
        .annotate(Count("pk"))
    )
    return Counter({(provider_id, key): count for provider_id, key, count in found})


def counts_leave(consumer_ids: Collection[int], stays: Mapping[int, Collection[int]]) -> None:
    """The consumers count no longer, except on the providers ({consumer id: provider ids}) where they stay."""
    gone = [
        pk
        for pk, consumer_id, provider_id in in_run(_COUNTED, consumer_ids)
        if provider_id not in stays.get(consumer_id, ())
    ]
    in_run(_FORGET, gone, has_result=False)
