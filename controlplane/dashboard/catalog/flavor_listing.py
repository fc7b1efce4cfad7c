"""The list of flavors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.identity.domain import Caller
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.catalog.selectors.flavor import flavors_visible
from servers.filtersets import FlavorFilterSet
from servers.instances.selectors.flavor_use import instances_by_flavor


@dataclass(frozen=True, slots=True)
class FlavorListRow:
    """A flavor, and for admins how many instances were made of it."""

    flavor: Any
    used: int


def _prepared(caller: Caller, flavors: Sequence[Any], _asked: Asked) -> list[FlavorListRow]:
    used = instances_by_flavor([one.pk for one in flavors]) if caller.is_admin else {}
    return [FlavorListRow(one, used.get(one.pk, 0)) for one in flavors]


FLAVORS = ListDeclaration(
    name="flavors",
    thing="flavor",
    section="flavors",
    cells="dashboard/catalog/flavor_cells.html",
    columns=(
        Column(
            "name",
            gettext_noop("Flavor"),
            lambda row: row.flavor.name,
            natural_order("name"),
            is_fixed=True,
            css="name",
        ),
        Column("vcpus", gettext_noop("vCPUs"), lambda row: row.flavor.vcpus, ("vcpus",), is_number=True),
        Column("memory", gettext_noop("Memory"), lambda row: row.flavor.memory_mib, ("memory_mib",), is_number=True),
        Column("root", gettext_noop("Root disk"), lambda row: row.flavor.root_gib, ("root_gib",), is_number=True),
        Column(
            "ephemeral",
            gettext_noop("Ephemeral"),
            lambda row: row.flavor.ephemeral_gib,
            ("ephemeral_gib",),
            is_number=True,
            hides_small=True,
        ),
        Column(
            "swap",
            gettext_noop("Swap"),
            lambda row: row.flavor.swap_mib,
            ("swap_mib",),
            is_number=True,
            hides_small=True,
        ),
        Column(
            "specs", gettext_noop("Extra specs"), lambda row: row.flavor.extra_specs, is_number=True, hides_small=True
        ),
        Column(
            "used",
            gettext_noop("Instances"),
            lambda row: row.used,
            is_number=True,
            is_for_admins=True,
            hides_small=True,
        ),
        Column("description", gettext_noop("Description"), lambda row: row.flavor.description, ("description",), False),
        Column(
            "public",
            gettext_noop("Public"),
            lambda row: row.flavor.is_public,
            ("is_public",),
            False,
            is_for_admins=True,
        ),
        Column(
            "disabled",
            gettext_noop("Disabled"),
            lambda row: row.flavor.disabled,
            ("disabled",),
            False,
            is_for_admins=True,
        ),
        Column(
            "created", gettext_noop("Created"), lambda row: row.flavor.created_at, ("created_at",), False, css="nowrap"
        ),
        Column("id", gettext_noop("ID"), lambda row: row.flavor.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda caller, _asked: flavors_visible(caller=caller),
    prepare=_prepared,
    filterset=lambda _caller: FlavorFilterSet,
    filters=(
        ListFilter("is_public", gettext_noop("Public"), is_for_admins=True, choices=lambda _caller: YES_NO),
        ListFilter("disabled", gettext_noop("Disabled"), is_for_admins=True, choices=lambda _caller: YES_NO),
        ListFilter("vcpus_min", gettext_noop("vCPUs at least"), is_first=True),
        ListFilter("memory_mib_min", gettext_noop("Memory (MiB) at least"), is_first=True),
        ListFilter("root_gib_min", gettext_noop("Root disk (GiB) at least")),
        ListFilter("search", gettext_noop("Name contains")),
    ),
    sort="vcpus",
    order=lambda _asked: ("vcpus", "memory_mib", *natural_order("name")),
    search_hint=gettext_noop("Name, description, extra spec, id …"),
    head="dashboard/catalog/flavor_list_head.html",
    empty="dashboard/catalog/flavor_list_empty.html",
)
