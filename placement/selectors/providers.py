"""Resource providers, their traits and aggregates."""

from collections import defaultdict
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Coalesce

from controlplane.infra.db import uuid_of, uuid_value
from controlplane.infra.natural_order import natural_order
from controlplane.infra.prepared import PreparedStatement
from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from placement.domain import ProviderKind, ProviderView, TraitOwner
from placement.models import ProviderAggregate, ProviderTrait, ResourceProvider

_VIEW = ("uuid", "name", "kind", "generation", "parent__uuid", "root__uuid")


_ROW = ("uuid", "name", "generation", "parent__uuid", "root__uuid", "updated_at")
_ONE_TEXT = """
SELECT provider.uuid, provider.name, provider.generation, parent.uuid, root.uuid, provider.updated_at
  FROM placement_resourceprovider AS provider
  LEFT JOIN placement_resourceprovider AS parent ON parent.id = provider.parent_id
  LEFT JOIN placement_resourceprovider AS root ON root.id = provider.root_id
 WHERE provider.uuid = %s
"""
_ONE_ROW = PreparedStatement("placement_provider_row", lambda: _ONE_TEXT, types=["uuid"])


class ProviderRow(NamedTuple):
    """A provider as Placement's clients see it. A named tuple, because lists of it are long."""

    uuid: UUID
    name: str
    generation: int
    parent_uuid: UUID | None
    root_uuid: UUID
    updated_at: datetime


class ProviderTraits(NamedTuple):
    """The traits of a provider, by name, with the generation they were read at."""

    generation: int
    updated_at: datetime
    traits: list[str]


class ProviderAggregates(NamedTuple):
    """The aggregates of a provider with the generation they were read at."""

    generation: int
    updated_at: datetime
    aggregates: list[UUID]


def provider_list() -> QuerySet[ResourceProvider]:
    """All providers with parent and root, tree by tree, by name: hv-2 comes before hv-10, after what is below hv-1."""
    return ResourceProvider.objects.select_related("parent", "root").order_by(*tree_order())


def tree_order() -> tuple[Any, ...]:
    """What to order providers by so that a tree stands together."""
    return (*natural_order(Coalesce("root__name", "name")), "name")


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
        raise NotFound(
            _("There is no resource provider {provider_uuid}.", provider_uuid=provider_uuid),
            provider_uuid=provider_uuid,
        )
    return provider


def provider_rows(*, uuid: UUID | None = None, name: str | None = None) -> list[ProviderRow]:
    """All providers, or those with this uuid and this name, in the order in which they were made. One query."""
    rows = ResourceProvider.objects.order_by("pk")
    if uuid is not None:
        rows = rows.filter(uuid=uuid)
    if name is not None:
        rows = rows.filter(name=name)
    return [ProviderRow(*row) for row in rows.values_list(*_ROW)]


def provider_row(provider_uuid: UUID) -> ProviderRow | None:
    """The provider, or None. One query, which the ORM would take longer to write than the database to answer."""
    found = _ONE_ROW.rows([uuid_value(provider_uuid)])
    if not found:
        return None
    uuid, name, generation, parent, root, updated_at = found[0]
    # SQLite keeps no time zone: what is read there is UTC.
    moment = updated_at if updated_at.tzinfo is not None else updated_at.replace(tzinfo=UTC)
    return ProviderRow(
        uuid_of(uuid), name, generation, None if parent is None else uuid_of(parent), uuid_of(root or uuid), moment
    )


def provider_traits(provider_uuid: UUID) -> ProviderTraits | None:
    """The provider's traits; None when there is no such provider. One query."""
    rows = ResourceProvider.objects.filter(uuid=provider_uuid).order_by("trait_rows__trait__name")
    # No traits at all are one row without a name.
    found: list[Any] = list(rows.values_list("generation", "updated_at", "trait_rows__trait__name"))
    if not found:
        return None
    generation, updated_at, _ = found[0]
    return ProviderTraits(generation, updated_at, [name for *_, name in found if name is not None])


def provider_aggregates(provider_uuid: UUID) -> ProviderAggregates | None:
    """The provider's aggregates; None when there is no such provider. One query."""
    rows = ResourceProvider.objects.filter(uuid=provider_uuid).order_by("aggregate_rows__pk")
    found: list[Any] = list(rows.values_list("generation", "updated_at", "aggregate_rows__aggregate__uuid"))
    if not found:
        return None
    generation, updated_at, _ = found[0]
    return ProviderAggregates(generation, updated_at, [uuid for *_, uuid in found if uuid is not None])


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
