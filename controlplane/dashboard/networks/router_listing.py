"""The list of routers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.identity.domain import Caller
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.filtersets_network import router_filters
from servers.networks.selectors.routers import gateway_of, leg_count, legs_of, routers_visible


@dataclass(frozen=True, slots=True)
class RouterRow:
    """A router with its addresses outside, and the names of the networks that it joins."""

    router: Any
    outside: tuple[str, ...]
    joined: int

    @property
    def leads_out_by(self) -> str:
        """The network of its gateway."""
        return self.router.external_network.name if self.router.external_network else ""


def _prepared(_caller: Caller, routers: Sequence[Any], _asked: Asked) -> list[RouterRow]:
    return [_row(one) for one in routers]


def _row(router: Any) -> RouterRow:
    gateway = gateway_of(router)
    return RouterRow(router, tuple(gateway.addresses) if gateway else (), len(legs_of(router)))


ROUTERS = ListDeclaration(
    name="routers",
    thing="router",
    section="routers",
    cells="dashboard/networks/router_cells.html",
    columns=(
        Column(
            "name",
            gettext_noop("Router"),
            lambda row: row.router.name,
            natural_order("name"),
            is_fixed=True,
            css="name",
        ),
        Column("outside", gettext_noop("Leads out by"), lambda row: row.leads_out_by, ("external_network__name",)),
        Column("addresses", gettext_noop("Addresses outside"), lambda row: row.outside, is_default=False, css="mono"),
        Column("networks", gettext_noop("Networks"), lambda row: row.joined, (leg_count(),), is_number=True),
        Column(
            "host", gettext_noop("Host"), lambda row: row.router.host, ("host",), is_for_admins=True, hides_small=True
        ),
        Column(
            "problem", gettext_noop("Problem"), lambda row: row.router.problem, ("problem",), False, is_for_admins=True
        ),
        Column(
            "project",
            gettext_noop("Project"),
            lambda row: row.router.project.name,
            ("project__name",),
            is_for_admins=True,
            hides_small=True,
        ),
        Column("enabled", gettext_noop("Enabled"), lambda row: row.router.is_enabled, ("is_enabled",), False),
        Column("snat", gettext_noop("Source NAT"), lambda row: row.router.has_snat, ("has_snat",), False),
        Column("description", gettext_noop("Description"), lambda row: row.router.description, ("description",), False),
        Column("tags", gettext_noop("Tags"), lambda row: row.router.tags, is_default=False),
        Column(
            "created", gettext_noop("Created"), lambda row: row.router.created_at, ("created_at",), False, css="nowrap"
        ),
        Column("id", gettext_noop("ID"), lambda row: row.router.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda caller, _asked: routers_visible(caller=caller).select_related("project", "external_network"),
    prepare=_prepared,
    filterset=lambda caller: router_filters(is_admin=caller.is_admin),
    filters=(
        ListFilter("is_enabled", gettext_noop("Enabled"), is_first=True, choices=lambda _caller: YES_NO),
        ListFilter("host", gettext_noop("Host"), is_for_admins=True, placeholder=gettext_noop("Exact name")),
        ListFilter("tag", gettext_noop("Tag")),
        ListFilter("search", gettext_noop("Name contains")),
    ),
    sort="name",
    search_hint=gettext_noop("Name, network, address, tag, description, id …"),
    head="dashboard/networks/router_list_head.html",
    empty="dashboard/networks/router_list_empty.html",
)
