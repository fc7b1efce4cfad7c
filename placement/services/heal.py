"""Heals for what the audit finds, one finding at a time.

Each service is one transaction that locks, reads again, and writes only while the finding still holds: healing beside
running claims is safe, and healing twice does nothing the second time. Each returns True when it put something right,
and False when there was nothing to do any more. What cannot be put right raises a KilonovaError that says why.
"""

from collections.abc import Callable
from uuid import UUID

from django.db.models import F, Sum
from django.db.models.functions import Greatest

from controlplane.infra.db import in_transaction
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from placement.domain.findings import root_of
from placement.models import Allocation, Consumer, Inventory, ResourceProvider
from placement.services.claims import allocations_free
from placement.services.locks import provider_lock, providers_stamp, providers_touch
from placement.services.providers import provider_tree_delete


def inventory_used_recount(provider_uuid: UUID, resource_class: str) -> bool:
    """Make `used` the sum of the allocations. Where that is above the capacity, usage may only fall from there.

    Raises NotFound when the provider is gone.
    """
    return in_transaction(lambda: _recount(provider_uuid, resource_class))


def _recount(provider_uuid: UUID, resource_class: str) -> bool:
    provider = provider_lock(provider_uuid)
    rows = Inventory.objects.filter(provider=provider, resource_class__name=resource_class)
    row = rows.select_for_update(of=("self",)).first()
    if row is None:
        return False
    held = Allocation.objects.filter(provider=provider, resource_class_id=row.resource_class_id)
    allocated = held.aggregate(sum=Sum("used", default=0))["sum"]
    if row.used == allocated:
        return False
    is_over = allocated > row.capacity
    stated = Greatest(F("used_when_set"), allocated) if is_over else F("used_when_set")
    Inventory.objects.filter(pk=row.pk).update(used=allocated, used_when_set=stated)
    providers_touch([provider.pk])
    return True


def consumer_end_if_empty(consumer_uuid: UUID) -> bool:
    """Remove a consumer that holds nothing."""

    def work() -> bool:
        row = Consumer.objects.select_for_update().filter(uuid=consumer_uuid).first()
        if row is None or Allocation.objects.filter(consumer=row).exists():
            return False
        return bool(allocations_free([consumer_uuid]))  # nothing to give back, but it may still count somewhere

    return in_transaction(work)


def consumer_free_if(consumer_uuid: UUID, *, generation: int, still: Callable[[], bool]) -> bool:
    """Free all that a consumer holds, if it is as it was seen (`generation`) and `still`, asked under its lock, agrees.

    With the consumer locked nobody can claim, move or free for it, so what `still` reads about its owner counts.
    """

    def work() -> bool:
        row = Consumer.objects.select_for_update().filter(uuid=consumer_uuid).first()
        if row is None or row.generation != generation or not still():
            return False
        return bool(allocations_free([consumer_uuid]))

    return in_transaction(work)


def provider_root_restore(provider_uuid: UUID) -> bool:
    """Let the root pointer say where the parents lead. Raises NotFound, and Conflict when they go in a circle."""
    return in_transaction(lambda: _root_restore(provider_uuid))


def _root_restore(provider_uuid: UUID) -> bool:
    row = provider_lock(provider_uuid)
    parents = dict(ResourceProvider.objects.values_list("uuid", "parent__uuid"))
    root = root_of(provider_uuid, parents)
    if root is None:
        raise Conflict(_("Its parents go in a circle: state which of them has none, then its tree can be put right."))
    root_id = ResourceProvider.objects.values_list("pk", flat=True).get(uuid=root)
    if row.root_id == root_id:
        return False
    ResourceProvider.objects.filter(pk=row.pk).update(root_id=root_id)
    providers_stamp([row.pk])
    return True


def provider_restamp(provider_uuid: UUID, *, is_ahead: Callable[[], bool]) -> bool:
    """Stamp a provider as changed now. `is_ahead`, asked under its lock, says whether that is still needed."""

    def work() -> bool:
        row = provider_lock(provider_uuid)
        if not is_ahead():
            return False
        providers_stamp([row.pk])
        return True

    return in_transaction(work)


def provider_generation_restore(provider_uuid: UUID) -> bool:
    """A generation below 0 starts again at 0, and the change is stamped. Raises NotFound."""

    def work() -> bool:
        row = provider_lock(provider_uuid)
        if row.generation >= 0:
            return False
        ResourceProvider.objects.filter(pk=row.pk).update(generation=0)
        providers_stamp([row.pk])
        return True

    return in_transaction(work)


def consumer_generation_restore(consumer_uuid: UUID) -> bool:
    """A generation below 0 starts again at 1, as that of a new consumer."""
    rows = Consumer.objects.filter(uuid=consumer_uuid, generation__lt=0)
    return in_transaction(lambda: bool(rows.update(generation=1)))


def provider_tree_remove_if(provider_uuid: UUID, *, still: Callable[[], bool]) -> bool:
    """Delete a root provider and all below it, if `still`, asked under its lock, agrees.

    Raises Conflict while anybody holds allocations of one of them: then all stay.
    """

    def work() -> bool:
        row = ResourceProvider.objects.select_for_update(no_key=True).filter(uuid=provider_uuid).first()
        if row is None or not still():
            return False
        provider_tree_delete(provider_uuid)
        return True

    return in_transaction(work)
