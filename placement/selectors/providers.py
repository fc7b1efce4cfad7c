"""Resource providers, their traits and aggregates."""

from collections import defaultdict
from collections.abc import Collection
from uuid import UUID

from django.db.models import QuerySet

from controlplane.kernel.errors import NotFound
from placement.domain import ProviderKind, ProviderView, TraitOwner
from placement.models import ProviderAggregate, ProviderTrait, ResourceProvider

_VIEW = ("uuid", "name", "kind", "generation", "parent__uuid", "root__uuid")


def provider_list() -> QuerySet[ResourceProvider]:
    """All providers with parent and root, by name."""
    return ResourceProvider.objects.select_related("parent", "root").order_by("name")


def provider_views(provider_uuids: Collection[UUID] | None = None) -> list[ProviderView]:
    """These providers, or all, by name. One query."""
    rows = ResourceProvider.objects.order_by("name")
    if provider_uuids is not None:
        rows = rows.filter(uuid__in=provider_uuids)
    return [
        ProviderView(uuid, name, ProviderKind(kind), generation, parent, root or uuid)
        for uuid, name, kind, generation, parent, root in rows.values_list(*_VIEW)
    ]


def provider_find(provider_uuid: UUID) -> ProviderView | None:
    """The provider, or None."""
    return next(iter(provider_views([provider_uuid])), None)


def provider_get(provider_uuid: UUID) -> ProviderView:
    """The provider; raises NotFound."""
    provider = provider_find(provider_uuid)
    if provider is None:
        raise NotFound(f"There is no resource provider {provider_uuid}.", provider_uuid=provider_uuid)
    return provider


def trait_owners(provider_uuid: UUID) -> dict[str, TraitOwner]:
    """The traits of one provider, with who put each there."""
    rows = ProviderTrait.objects.filter(provider__uuid=provider_uuid).values_list("trait__name", "owner")
    return {name: TraitOwner(owner) for name, owner in rows}


def aggregate_uuids_of(provider_uuid: UUID) -> frozenset[UUID]:
    """The aggregates of one provider."""
    rows = ProviderAggregate.objects.filter(provider__uuid=provider_uuid)
    return frozenset(rows.values_list("aggregate__uuid", flat=True))


def provider_traits_by_uuid(provider_uuids: Collection[UUID] | None = None) -> dict[UUID, frozenset[str]]:
    """{provider: its traits}. Providers without any are left out. One query."""
    rows = ProviderTrait.objects.all()
    if provider_uuids is not None:
        rows = rows.filter(provider__uuid__in=provider_uuids)
    found: defaultdict[UUID, set[str]] = defaultdict(set)
    for uuid, name in rows.values_list("provider__uuid", "trait__name"):
        found[uuid].add(name)
    return {uuid: frozenset(names) for uuid, names in found.items()}


def provider_aggregates_by_uuid(provider_uuids: Collection[UUID] | None = None) -> dict[UUID, frozenset[UUID]]:
    """{provider: its aggregates}. Providers without any are left out. One query."""
    rows = ProviderAggregate.objects.all()
    if provider_uuids is not None:
        rows = rows.filter(provider__uuid__in=provider_uuids)
    found: defaultdict[UUID, set[UUID]] = defaultdict(set)
    for uuid, aggregate in rows.values_list("provider__uuid", "aggregate__uuid"):
        found[uuid].add(aggregate)
    return {uuid: frozenset(aggregates) for uuid, aggregates in found.items()}
