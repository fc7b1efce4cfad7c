"""The list of resource providers, for admins."""

from collections.abc import Sequence
from typing import Any

from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.identity.domain import Caller
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from placement.filtersets import ProviderFilterSet
from placement.selectors import amount_of
from placement.selectors.provider_pages import (
    ProviderListRow,
    classes_in_use,
    consumer_count,
    provider_rows,
    traits_in_use,
)
from placement.selectors.providers import provider_list, tree_order


def _prepared(_caller: Caller, providers: Sequence[Any], _asked: Asked) -> list[ProviderListRow]:
    return provider_rows(providers)


def _used(key: str, title: str, resource_class: str) -> Column:
    return Column(
        key,
        title,
        lambda row: row.usage[resource_class].used if resource_class in row.usage else None,
        (amount_of("used", resource_class, "uuid"),),
        is_default=False,
        is_number=True,
    )


def _classes(_caller: Caller) -> list[tuple[str, str]]:
    return [(name, name) for name in classes_in_use()]


def _traits(_caller: Caller) -> list[tuple[str, str]]:
    return [(name, name) for name in traits_in_use()]


def _usage(row: ProviderListRow) -> dict[str, list[int]]:
    return {name: [each.used, each.capacity] for name, each in row.usage.items()}


PROVIDERS = ListDeclaration(
    name="providers",
    thing="provider",
    section="providers",
    cells="dashboard/providers/provider_cells.html",
    table_css="providers",
    columns=(
        Column(
            "name", gettext_noop("Provider"), lambda row: row.name, natural_order("name"), is_fixed=True, css="name"
        ),
        Column("kind", gettext_noop("Kind"), lambda row: row.kind.value, ("kind",), hides_small=True),
        Column("usage", gettext_noop("Used"), _usage),
        _used("vcpus", gettext_noop("vCPUs used"), "VCPU"),
        _used("memory", gettext_noop("Memory used (MiB)"), "MEMORY_MB"),
        _used("disk", gettext_noop("Disk used (GiB)"), "DISK_GB"),
        Column(
            "consumers",
            gettext_noop("Consumers"),
            lambda row: row.consumers,
            (consumer_count(),),
            is_number=True,
            hides_small=True,
        ),
        Column("root", gettext_noop("In"), lambda row: row.root_name, natural_order("root__name"), False),
        Column("uuid", gettext_noop("UUID"), lambda row: row.uuid, ("uuid",), False, css="mono"),
    ),
    rows=lambda _caller, _asked: provider_list(),
    prepare=_prepared,
    filterset=lambda _caller: ProviderFilterSet,
    filters=(
        ListFilter("kind", gettext_noop("Kind"), is_first=True),
        ListFilter("resource_class", gettext_noop("Has inventory of"), is_first=True, choices=_classes),
        ListFilter("trait", gettext_noop("Trait"), choices=_traits),
        ListFilter("roots", gettext_noop("Roots only"), choices=lambda _caller: YES_NO),
        ListFilter("in_tree", gettext_noop("In the tree of"), placeholder=gettext_noop("UUID of a provider")),
        ListFilter("aggregate", gettext_noop("In aggregate"), placeholder=gettext_noop("Its UUID")),
        ListFilter("consumer", gettext_noop("Consumer"), placeholder=gettext_noop("Its UUID")),
        ListFilter("search", gettext_noop("Name contains")),
    ),
    sort="name",
    order=lambda _asked: tree_order(),
    search_hint=gettext_noop("Name, kind, trait, class, UUID …"),
    empty="dashboard/providers/provider_list_empty.html",
)
