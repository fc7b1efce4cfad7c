"""Providers as pages show them: filtered, with usage; one with its tree, traits, aggregates and consumers.

Every function takes a constant number of queries.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db.models import Count, F, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from placement.domain import InventoryUsage, ProviderKind, TraitOwner, is_custom
from placement.models import Allocation, Consumer, Inventory, ProviderTrait, ResourceClass, ResourceProvider, Trait
from placement.selectors.providers import aggregate_uuids_of, provider_list
from placement.selectors.usage import fleet_usage


@dataclass(frozen=True, slots=True)
class ProviderListRow:
    """One provider of a list. `root_name` is empty for a root."""

    uuid: UUID
    name: str
    kind: ProviderKind
    root_uuid: UUID
    root_name: str
    usage: dict[str, InventoryUsage]
    consumers: int


@dataclass(frozen=True, slots=True)
class TraitShown:
    """A trait of a provider and who put it there."""

    name: str
    owner: TraitOwner
    is_custom: bool


@dataclass(frozen=True, slots=True)
class InventoryShown:
    """One class of a provider. `pk` is the row's key in the admin."""

    pk: int
    resource_class: str
    usage: InventoryUsage

    @property
    def overcommitted_by(self) -> int:
        """How much more is used than may be."""
        return max(0, self.usage.used - self.usage.capacity)


@dataclass(frozen=True, slots=True)
class TreeNode:
    """A provider in its tree, with all below it."""

    uuid: UUID
    name: str
    is_current: bool
    children: list["TreeNode"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ProviderShown:
    """One provider with all that hangs on it but its consumers. `pk` is the row's key in the admin."""

    pk: int
    uuid: UUID
    name: str
    kind: ProviderKind
    generation: int
    created_at: datetime
    updated_at: datetime
    parent_uuid: UUID | None
    root_uuid: UUID
    inventories: list[InventoryShown]
    traits: list[TraitShown]
    aggregates: list[UUID]
    tree: TreeNode


@dataclass(frozen=True, slots=True)
class Holding:
    """What one consumer holds of one provider."""

    consumer_uuid: UUID
    consumer_type: str
    project_id: str
    created_at: datetime
    amounts: dict[str, int]


def provider_rows(providers: Iterable[ResourceProvider]) -> list[ProviderListRow]:
    """These providers with usage and number of consumers."""
    shown = list(providers)
    usage = fleet_usage([row.uuid for row in shown])
    held = Allocation.objects.filter(provider__in=shown).order_by()
    counts = dict(held.values_list("provider_id").annotate(Count("consumer", distinct=True)))
    return [
        ProviderListRow(
            uuid=row.uuid,
            name=row.name,
            kind=ProviderKind(row.kind),
            root_uuid=row.root.uuid if row.root else row.uuid,
            root_name=row.root.name if row.root and row.parent_id else "",
            usage=dict(sorted(usage.get(row.uuid, {}).items(), key=lambda item: _place(item[0]))),
            consumers=counts.get(row.pk, 0),
        )
        for row in shown
    ]


def consumer_count() -> Coalesce:
    """Of those who hold something of each provider; to sort providers by."""
    held = Allocation.objects.filter(provider=OuterRef("pk")).order_by().values("provider")
    counted = held.annotate(found=Count("consumer", distinct=True)).values("found")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


def traits_in_use() -> list[str]:
    """Traits that some provider has."""
    used = ProviderTrait.objects.values("trait_id")
    return list(Trait.objects.filter(pk__in=used).order_by("name").values_list("name", flat=True))


def classes_in_use() -> list[str]:
    """Resource classes of which some provider has an inventory."""
    used = Inventory.objects.values("resource_class_id")
    return list(ResourceClass.objects.filter(pk__in=used).order_by("name").values_list("name", flat=True))


def provider_generation(provider_uuid: UUID) -> int | None:
    """The generation, by which a page sees whether anything changed; None when the provider is gone. One query."""
    rows = ResourceProvider.objects.filter(uuid=provider_uuid)
    return rows.values_list("generation", flat=True).first()


def provider_shown(provider_uuid: UUID) -> ProviderShown:
    """One provider. Raises NotFound."""
    row = provider_list().filter(uuid=provider_uuid).first()
    if row is None:
        raise NotFound(
            _("There is no resource provider {provider_uuid}.", provider_uuid=provider_uuid),
            provider_uuid=provider_uuid,
        )
    return ProviderShown(
        pk=row.pk,
        uuid=row.uuid,
        name=row.name,
        kind=ProviderKind(row.kind),
        generation=row.generation,
        created_at=row.created_at,
        updated_at=row.updated_at,
        parent_uuid=row.parent.uuid if row.parent else None,
        root_uuid=row.root.uuid if row.root else row.uuid,
        inventories=_inventories(row),
        traits=_traits(row),
        aggregates=sorted(aggregate_uuids_of(row.uuid)),
        tree=_tree(row),
    )


def _inventories(provider: ResourceProvider) -> list[InventoryShown]:
    pks = dict(Inventory.objects.filter(provider=provider).values_list("resource_class__name", "pk"))
    usages = fleet_usage([provider.uuid]).get(provider.uuid, {})
    names = sorted(usages.keys() & pks.keys(), key=_place)
    return [InventoryShown(pks[name], name, usages[name]) for name in names]


def _place(resource_class: str) -> tuple[int, str]:
    """The three that every host has come first."""
    first = ("VCPU", "MEMORY_MB", "DISK_GB")
    return (first.index(resource_class) if resource_class in first else len(first), resource_class)


def _traits(provider: ResourceProvider) -> list[TraitShown]:
    rows = ProviderTrait.objects.filter(provider=provider).order_by("trait__name")
    return [
        TraitShown(name, TraitOwner(owner), is_custom(name)) for name, owner in rows.values_list("trait__name", "owner")
    ]


def _tree(provider: ResourceProvider) -> TreeNode:
    """The whole tree that the provider is in. A row whose root pointer is wrong is shown as a tree of its own."""
    rows = ResourceProvider.objects.filter(root_id=provider.root_id or provider.pk).order_by("name")
    nodes: dict[int, TreeNode] = {}
    parents: dict[int, int | None] = {}
    for pk, parent_id, uuid, name in rows.values_list("pk", "parent_id", "uuid", "name"):
        nodes[pk], parents[pk] = TreeNode(uuid, name, is_current=pk == provider.pk), parent_id
    for pk, above in parents.items():
        if above in nodes:
            nodes[above].children.append(nodes[pk])
    alone = TreeNode(provider.uuid, provider.name, is_current=True)
    root = nodes.get(provider.root_id or provider.pk)
    return root if root is not None and provider.pk in nodes else alone


def consumers_of(provider_uuid: UUID) -> QuerySet[Consumer]:
    """Whoever holds something of a provider, newest first; to be paged before `holdings`."""
    held = Allocation.objects.filter(provider__uuid=provider_uuid).values("consumer_id")
    return Consumer.objects.filter(pk__in=held).order_by("-created_at", "-pk")


def holdings(provider_uuid: UUID, consumers: Sequence[Consumer]) -> list[Holding]:
    """What these consumers hold of the provider. One query."""
    rows = Allocation.objects.filter(provider__uuid=provider_uuid, consumer__in=consumers).order_by()
    amounts: dict[int, dict[str, int]] = {}
    for consumer_id, name, used in rows.values_list("consumer_id", "resource_class__name", F("used")):
        amounts.setdefault(consumer_id, {})[name] = used
    return [
        Holding(
            consumer_uuid=one.uuid,
            consumer_type=one.consumer_type or "",
            project_id=one.project_id,
            created_at=one.created_at,
            amounts=dict(sorted(amounts.get(one.pk, {}).items(), key=lambda item: _place(item[0]))),
        )
        for one in consumers
    ]
