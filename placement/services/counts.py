"""Limits on how many consumers with a key a provider has: counted and guarded inside the claim."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from django.db.models import Count, Exists, Min, OuterRef, Subquery

from controlplane.infra.db import in_run, in_transaction, rows_run
from placement.domain import ConsumerState, CountLimit, CountShortage, capacity_error
from placement.models import CountedConsumer, CountedKey
from placement.services.consumers import LockedConsumer
from placement.services.locks import Touched

_COUNTED = "SELECT id, consumer_id, provider_id FROM placement_countedconsumer WHERE consumer_id IN ({values})"
# A row that is there is locked by the update that changes nothing; one that is made is locked by being new.
_LOCK_KEYS = "INSERT INTO placement_countedkey (key) {rows} ON CONFLICT (key) DO UPDATE SET key = excluded.key"
_FORGET = "DELETE FROM placement_countedconsumer WHERE id IN ({values})"

Place = tuple[int, str]  # provider id, key


def keys_lock(states: Sequence[ConsumerState]) -> None:
    """Lock the keys whose consumers must be together, in their order, until the transaction ends.

    Two first consumers of a key choose different providers and so meet at no provider's lock. Every writer locks keys
    after consumers and before providers, so who has a provider still waits for nobody.
    """
    keys = sorted({limit.key for state in states for limit in state.limits if limit.together})
    rows_run(_LOCK_KEYS, [(key,) for key in keys], types=("varchar",), has_result=False)


def keys_prune() -> int:
    """Delete the keys that nobody counts under; how many. At any time: the next claim makes them anew.

    One that is locked is in use, and is passed over: who deletes waits for no writer, which may hold several.
    """

    def work() -> int:
        counted = CountedConsumer.objects.filter(key=OuterRef("key"))
        idle = CountedKey.objects.filter(~Exists(counted)).select_for_update(skip_locked=True)
        return CountedKey.objects.filter(pk__in=list(idle.values_list("pk", flat=True))).delete()[0]

    return in_transaction(work)


def counts_claim(
    states: Sequence[ConsumerState], consumers: Mapping[UUID, LockedConsumer], providers: Mapping[UUID, Touched]
) -> None:
    """Let the consumers count under their keys.

    Raises NoCapacity (rule `count_limit`) where that is more than a limit allows, and (rule `together`) where the first
    that counts under the key does so elsewhere. The providers and such keys are locked, so nobody comes between the
    read and the write.
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
    shortages |= _apart([limit for _, limit in limited if limit.together], wanted, rows, providers)
    if shortages:
        raise capacity_error(list(shortages.values()))
    new = [CountedConsumer(provider_id=place, key=key, consumer_id=consumer) for place, key, consumer in sorted(rows)]
    CountedConsumer.objects.bulk_create(new, ignore_conflicts=True)  # who stayed here counts already


def _apart(
    limits: Sequence[CountLimit],
    wanted: Mapping[Place, int],
    rows: Collection[tuple[int, str, int]],
    providers: Mapping[UUID, Touched],
) -> dict[Place, CountShortage]:
    """Places away from the home of their key: the provider of the first that counts, else of the first that comes."""
    if not limits:
        return {}
    homes = _homes({limit.key for limit in limits}, {consumer for _, _, consumer in rows})
    apart: dict[Place, CountShortage] = {}
    for limit in limits:
        home = homes.setdefault(limit.key, limit.provider_uuid)
        if home != limit.provider_uuid:
            place = (providers[limit.provider_uuid].id, limit.key)
            apart[place] = CountShortage(limit.provider_uuid, limit.key, wanted[place], 0, 0, home)
    return apart


def _homes(keys: set[str], without: set[int]) -> dict[str, UUID]:
    """Where the first consumer of each key counts, these consumers left out. One query."""
    counted = CountedConsumer.objects.filter(key__in=keys).exclude(consumer_id__in=without).order_by()
    first = counted.values("key").annotate(first=Min("pk")).values("first")
    return dict(CountedConsumer.objects.filter(pk__in=Subquery(first)).values_list("key", "provider__uuid"))


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
