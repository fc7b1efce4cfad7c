"""Inventories with what is used of them."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Count, OuterRef, QuerySet, Subquery, Sum

from placement.domain import InventoryUsage, ProviderKind
from placement.models import Allocation, Inventory, ResourceClass, ResourceProvider

# In the order of InventoryUsage's fields.
_NUMBERS = (
    "total",
    "reserved",
    "allocation_ratio",
    "used",
    "capacity",
    "min_unit",
    "max_unit",
    "step_size",
)


def fleet_usage(provider_uuids: Collection[UUID] | None = None) -> dict[UUID, dict[str, InventoryUsage]]:
    """{provider: {resource class: inventory and usage}} of these providers, or of all.

    Three queries, whatever the size of the fleet: names and uuids are read once each, not once per inventory. A
    provider without inventory is there with an empty dict.
    """
    providers = ResourceProvider.objects.all()
    inventories = Inventory.objects.order_by()
    if provider_uuids is not None:
        providers = providers.filter(uuid__in=provider_uuids)
        inventories = inventories.filter(provider__uuid__in=provider_uuids)
    uuids = dict(providers.order_by().values_list("pk", "uuid"))
    names = dict(ResourceClass.objects.order_by().values_list("pk", "name"))
    found: dict[UUID, dict[str, InventoryUsage]] = {uuid: {} for uuid in uuids.values()}
    for provider_id, class_id, *numbers in inventories.values_list("provider_id", "resource_class_id", *_NUMBERS):
        # A provider or class made between two queries is left for the next read.
        if provider_id in uuids and class_id in names:
            found[uuids[provider_id]][names[class_id]] = InventoryUsage(*numbers)
    return found


def usage_of_class(resource_class: str) -> dict[UUID, tuple[int, int]]:
    """{root provider: (used, capacity)} of one class. One query."""
    rows = Inventory.objects.filter(resource_class__name=resource_class, provider__parent=None).order_by()
    return {uuid: (used, capacity) for uuid, used, capacity in rows.values_list("provider__uuid", "used", "capacity")}


def inventory_row_ids(*, providers: Collection[str], resource_class: str) -> dict[str, int]:
    """{name of provider: key of its inventory's row}, for those of these providers that have the class. One query."""
    rows = Inventory.objects.filter(provider__name__in=list(providers), resource_class__name=resource_class)
    return dict(rows.order_by("provider__name").values_list("provider__name", "pk"))


def amount_of(column: str, resource_class: str, provider_uuid: str) -> Subquery:
    """`used` or `capacity` of one class, for rows that name their provider in the field `provider_uuid`: to sort by."""
    rows = Inventory.objects.filter(provider__uuid=OuterRef(provider_uuid), resource_class__name=resource_class)
    return Subquery(rows.order_by().values(column)[:1])


class ProviderInventories(NamedTuple):
    """The inventories of a provider, by class in the order they were stated, with the generation they were read at."""

    generation: int
    updated_at: datetime
    inventories: dict[str, InventoryUsage]


def provider_inventories(provider_uuid: UUID) -> ProviderInventories | None:
    """The provider's inventories; None when there is no such provider. One query."""
    rows = ResourceProvider.objects.filter(uuid=provider_uuid).order_by("inventories__pk")
    numbers = [f"inventories__{name}" for name in _NUMBERS]
    found = list(rows.values_list("generation", "updated_at", "inventories__resource_class__name", *numbers))
    if not found:
        return None
    generation, updated_at = found[0][:2]
    return ProviderInventories(
        generation,
        updated_at,
        {name: InventoryUsage(*rest) for _, _, name, *rest in found if name is not None},
    )


ALL_TYPES, UNKNOWN_TYPE = "all", "unknown"


@dataclass(frozen=True, slots=True)
class TypeUsage:
    """What the consumers of one type hold together: how many they are, and the sum of each class."""

    consumers: int
    used: dict[str, int]


def usage_of_project(project_id: str, user_id: str | None = None) -> dict[str, int]:
    """{class: sum held by the consumers of this project, of this user if given}. One query."""
    rows = _held(project_id, user_id).values_list("resource_class__name")
    return dict(rows.annotate(total=Sum("used")).order_by("resource_class__name"))


def usage_by_type(
    project_id: str, user_id: str | None = None, consumer_type: str | None = None
) -> dict[str, TypeUsage]:
    """{consumer type: usage} in this project. Two queries.

    `consumer_type` narrows it to one; UNKNOWN_TYPE are the consumers without a type, ALL_TYPES puts all under one key.
    """
    rows = _held(project_id, user_id)
    if consumer_type == UNKNOWN_TYPE:
        rows = rows.filter(consumer__consumer_type=None)
    elif consumer_type not in (None, ALL_TYPES):
        rows = rows.filter(consumer__consumer_type=consumer_type)
    used: defaultdict[str, dict[str, int]] = defaultdict(dict)
    counts: defaultdict[str, int] = defaultdict(int)
    for name, count in rows.values_list("consumer__consumer_type").annotate(Count("consumer", distinct=True)):
        counts[_key(name, consumer_type)] += count
    sums = rows.values_list("consumer__consumer_type", "resource_class__name").annotate(Sum("used"))
    for name, resource_class, total in sums:
        of_type = used[_key(name, consumer_type)]
        of_type[resource_class] = of_type.get(resource_class, 0) + total
    return {key: TypeUsage(counts[key], classes) for key, classes in used.items()}


def _key(name: str | None, asked: str | None) -> str:
    return ALL_TYPES if asked == ALL_TYPES else name or UNKNOWN_TYPE


def _held(project_id: str, user_id: str | None) -> QuerySet[Allocation]:
    rows = Allocation.objects.filter(consumer__project_id=project_id).order_by()
    return rows if user_id is None else rows.filter(consumer__user_id=user_id)


class ResourceSum(NamedTuple):
    """One class over many providers: what there is, what may be allocated of it, and what is."""

    total: int
    capacity: int
    used: int

    @property
    def ratio(self) -> float:
        """How many units may be allocated for each that there is."""
        return self.capacity / self.total if self.total else 0.0

    @property
    def free(self) -> int:
        """Units that may still be allocated; never negative."""
        return max(0, self.capacity - self.used)


def usage_by_aggregate(
    aggregate_uuids: Collection[UUID], *, without: Collection[UUID] = ()
) -> dict[UUID, dict[str, ResourceSum]]:
    """{aggregate: {resource class: sum}} over the compute nodes of each, but for the providers `without`. One query."""
    rows = _of_compute_nodes(without).filter(provider__aggregate_rows__aggregate__uuid__in=aggregate_uuids)
    found: dict[UUID, dict[str, ResourceSum]] = {uuid: {} for uuid in aggregate_uuids}
    for uuid, name, *sums in _summed(rows, "provider__aggregate_rows__aggregate__uuid", "resource_class__name"):
        found[uuid][name] = ResourceSum(*sums)
    return found


def usage_of_compute_nodes(*, without: Collection[UUID] = ()) -> dict[str, ResourceSum]:
    """{resource class: sum} over all compute nodes, but for the providers `without`. One query."""
    return {name: ResourceSum(*sums) for name, *sums in _summed(_of_compute_nodes(without), "resource_class__name")}


def _of_compute_nodes(without: Collection[UUID]) -> QuerySet[Inventory]:
    rows = Inventory.objects.filter(provider__kind=ProviderKind.COMPUTE.value).order_by()
    return rows.exclude(provider__uuid__in=without) if without else rows


def _summed(rows: QuerySet[Inventory], *by: str) -> Iterable[tuple[Any, ...]]:
    return rows.values_list(*by).annotate(Sum("total"), Sum("capacity"), Sum("used"))
