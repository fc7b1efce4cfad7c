"""The lock of everything below a provider is its own row. Several are always locked in the order of their ids."""

from collections.abc import Collection
from uuid import UUID

from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from controlplane.kernel.errors import Conflict, NotFound
from placement.models import ChangeStamp, ResourceProvider


def provider_lock(provider_uuid: UUID, *, expected_generation: int | None = None) -> ResourceProvider:
    """The provider, locked until the transaction ends.

    Raises NotFound; Conflict when its generation is not the one that the caller has seen.
    """
    provider = ResourceProvider.objects.select_for_update(no_key=True).filter(uuid=provider_uuid).first()
    if provider is None:
        raise NotFound(f"There is no resource provider {provider_uuid}.", provider_uuid=provider_uuid)
    if expected_generation is not None and provider.generation != expected_generation:
        raise Conflict(
            f"Resource provider {provider_uuid} is at generation {provider.generation}, not {expected_generation}.",
            provider_uuid=provider_uuid,
            generation=provider.generation,
        )
    return provider


def providers_touch(provider_ids: Collection[int]) -> None:
    """Lock these providers and say that they changed: generation + 1, and a new change stamp.

    One UPDATE of many rows locks them in any order it likes, so on PostgreSQL an ordered lock comes first.
    """
    rows = ResourceProvider.objects.filter(pk__in=provider_ids)
    if len(provider_ids) > 1 and connection.features.has_select_for_update:
        list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk"))
    rows.update(generation=F("generation") + 1, changed=ChangeStamp(), updated_at=Now())


def providers_stamp(provider_ids: Collection[int]) -> None:
    """A change of name or place in the tree: readers see it, the generation stays, as in Placement."""
    ResourceProvider.objects.filter(pk__in=provider_ids).update(changed=ChangeStamp(), updated_at=Now())
