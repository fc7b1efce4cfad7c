"""Claim, free and move: the only writers of allocations.

All three lock in one order (consumers by uuid, providers by id, then inventories), take a constant number of
queries whatever the size of the batch, and leave `inventory.used` equal to the sum of the allocations.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import IntegrityError
from django.db.models import F, Sum
from django.db.models.functions import Now

from controlplane.kernel.errors import Conflict, KilonovaError, NotFound
from placement.domain import Claim, Demand, broken_rule, capacity_error, check_claims, demands_of
from placement.domain.claim import InventoryKey
from placement.models import Allocation, Consumer, Inventory
from placement.selectors.usage import fleet_usage
from placement.services.guard import Take, used_add, used_give_back
from placement.services.locks import providers_touch
from placement.services.transactions import in_transaction

InventoryIds = tuple[int, int, int]  # inventory, provider, resource class


def allocations_claim(claims: Sequence[Claim]) -> None:
    """Give every consumer of the batch all it asks for, or nobody anything.

    The guard is in the UPDATE of the inventories, so no inventory can go over its capacity whatever runs beside it.
    Raises NoCapacity when an inventory cannot give its part (see `domain.capacity_error` for the extra), Conflict
    when a consumer holds allocations already, Invalid for a claim that makes no sense.
    """
    check_claims(claims)
    if claims:
        in_transaction(lambda: _claim(claims))


def _claim(claims: Sequence[Claim]) -> None:
    consumer_ids = _consumers_create(claims)
    demands = demands_of(claims)
    inventories = _inventory_ids(demands)
    providers_touch({provider_id for _, provider_id, _ in inventories.values()})
    gave = used_add([Take(ids[0], demands[key]) for key, ids in inventories.items()])
    given = {key for key, ids in inventories.items() if ids[0] in gave}
    lost = {key: demand for key, demand in demands.items() if key not in given}
    if lost:
        raise _lost(lost)
    _allocations_create(claims, consumer_ids, inventories)


def _consumers_create(claims: Sequence[Claim]) -> dict[UUID, int]:
    """New consumers, in the order of their uuids, so that two batches with the same ones wait and never deadlock."""
    rows = [
        Consumer(
            uuid=claim.consumer_uuid,
            project_id=str(claim.project_id),
            user_id=str(claim.user_id),
            consumer_type=claim.consumer_type,
        )
        for claim in sorted(claims, key=lambda claim: claim.consumer_uuid)
    ]
    try:
        return {row.uuid: row.pk for row in Consumer.objects.bulk_create(rows)}
    except IntegrityError as error:
        raise Conflict(
            "A consumer of this batch holds allocations already.",
            consumer_uuids=[str(row.uuid) for row in rows],
        ) from error


def _inventory_ids(demands: dict[InventoryKey, Demand]) -> dict[InventoryKey, InventoryIds]:
    """Ids only: the numbers are looked at by the guard, under the lock."""
    rows = Inventory.objects.filter(
        provider__uuid__in={provider for provider, _ in demands}, resource_class__name__in={name for _, name in demands}
    ).values_list("provider__uuid", "resource_class__name", "pk", "provider_id", "resource_class_id")
    found = {(provider, name): (pk, provider_id, class_id) for provider, name, pk, provider_id, class_id in rows}
    return {key: ids for key, ids in found.items() if key in demands}


def _lost(demands: dict[InventoryKey, Demand]) -> KilonovaError:
    """What to tell the loser. The losing rows are unchanged and locked: these are the guard's numbers."""
    usage = fleet_usage({provider for provider, _ in demands})
    shortages = [
        broken_rule(provider, name, demand, usage.get(provider, {}).get(name))
        for (provider, name), demand in demands.items()
    ]
    named = [shortage for shortage in shortages if shortage is not None]
    # None named: the inventory was stated anew between two looks without the lock; the claim may simply be repeated.
    return capacity_error(named) if named else Conflict("The inventories changed during the claim.")


def _allocations_create(
    claims: Sequence[Claim], consumer_ids: dict[UUID, int], inventories: dict[InventoryKey, InventoryIds]
) -> None:
    Allocation.objects.bulk_create(
        Allocation(
            consumer_id=consumer_ids[claim.consumer_uuid],
            provider_id=inventories[provider, name][1],
            resource_class_id=inventories[provider, name][2],
            used=amount,
        )
        for claim in claims
        for provider, classes in claim.resources.items()
        for name, amount in classes.items()
    )


def allocations_free(consumer_uuids: Iterable[UUID]) -> int:
    """Give back all that these consumers hold; the number of consumers that held something (or existed at all).

    Freeing twice, at once or later, gives back once: the second finds no consumer. Unknown consumers are no error.
    """
    uuids = set(consumer_uuids)
    return in_transaction(lambda: _free(uuids)) if uuids else 0


def _free(uuids: set[UUID]) -> int:
    consumers = _consumers_lock(uuids)
    if not consumers:
        return 0
    held = Allocation.objects.filter(consumer_id__in=consumers)
    freed = list(held.order_by().values_list("provider_id", "resource_class_id").annotate(Sum("used")))
    providers_touch({provider_id for provider_id, _, _ in freed})
    used_give_back(freed)
    held.delete()
    Consumer.objects.filter(pk__in=consumers).delete()
    return len(consumers)


def _consumers_lock(uuids: set[UUID]) -> list[int]:
    rows = Consumer.objects.filter(uuid__in=uuids).order_by("uuid").select_for_update()
    return list(rows.values_list("pk", flat=True))


def allocations_move(from_consumer: UUID, to_consumer: UUID, *, consumer_type: str = "MIGRATION") -> int:
    """Hand all that one consumer holds to another, which must hold nothing; the number of allocations moved.

    Usage stays as it is. The new consumer has the old one's project and user and the given type; the old one is gone,
    so that it can claim anew. Raises NotFound, or Conflict when the new consumer holds allocations already.
    """
    if from_consumer == to_consumer:
        raise Conflict(f"Consumer {to_consumer} holds these allocations already.", consumer_uuid=to_consumer)
    return in_transaction(lambda: _move(from_consumer, to_consumer, consumer_type))


def _move(from_consumer: UUID, to_consumer: UUID, consumer_type: str) -> int:
    if not _consumers_lock({from_consumer}):
        raise NotFound(f"Consumer {from_consumer} holds no allocations.", consumer_uuid=from_consumer)
    held = Allocation.objects.filter(consumer__uuid=from_consumer)
    providers = set(held.values_list("provider_id", flat=True))
    try:
        # The row stays and takes the new name: the allocations come along, and the unique uuid guards the target.
        Consumer.objects.filter(uuid=from_consumer).update(
            uuid=to_consumer,
            consumer_type=consumer_type,
            generation=F("generation") + 1,
            created_at=Now(),
            updated_at=Now(),
        )
    except IntegrityError as error:
        raise Conflict(f"Consumer {to_consumer} holds allocations already.", consumer_uuid=to_consumer) from error
    providers_touch(providers)
    return Allocation.objects.filter(consumer__uuid=to_consumer).count()
