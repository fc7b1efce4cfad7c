"""The list of networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.identity.domain import Caller
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.filtersets_network import NetworkFilterSet
from servers.networks.selectors.networks import networks_visible
from servers.networks.selectors.subnets import subnets_visible
from servers.networks.selectors.topology import port_counts


@dataclass(frozen=True, slots=True)
class NetworkRow:
    """A network with the ranges of its subnets and the number of its ports."""

    network: Any
    ranges: tuple[str, ...]
    ports: int

    @property
    def project(self) -> str:
        """Whose it is."""
        return self.network.project.name if self.network.project else ""


def _prepared(caller: Caller, networks: Sequence[Any], _asked: Asked) -> list[NetworkRow]:
    ids = [one.pk for one in networks]
    ranges: dict[Any, list[str]] = {pk: [] for pk in ids}
    for subnet in subnets_visible(caller).filter(network__in=ids).order_by("created_at", "pk"):
        ranges[subnet.network_id].append(subnet.cidr)
    ports = port_counts(caller, ids)
    return [NetworkRow(one, tuple(ranges[one.pk]), ports.get(one.pk, 0)) for one in networks]


NETWORKS = ListDeclaration(
    name="networks",
    thing="network",
    section="networks",
    cells="dashboard/networks/network_cells.html",
    columns=(
        Column(
            "name",
            gettext_noop("Network"),
            lambda row: row.network.name,
            natural_order("name"),
            is_fixed=True,
            css="name",
        ),
        Column("ranges", gettext_noop("Addresses"), lambda row: row.ranges, css="mono"),
        Column("ports", gettext_noop("Ports"), lambda row: row.ports, is_number=True),
        Column(
            "kind",
            gettext_noop("Carried by"),
            lambda row: row.network.kind,
            ("kind",),
            is_for_admins=True,
            hides_small=True,
        ),
        Column(
            "project",
            gettext_noop("Project"),
            lambda row: row.project,
            ("project__name",),
            is_for_admins=True,
            hides_small=True,
        ),
        Column(
            "segment",
            gettext_noop("Segment"),
            lambda row: row.network.segment,
            ("segment",),
            False,
            is_number=True,
            is_for_admins=True,
        ),
        Column("mtu", gettext_noop("MTU"), lambda row: row.network.mtu, ("mtu",), False, is_number=True),
        Column("external", gettext_noop("External"), lambda row: row.network.is_external, ("is_external",), False),
        Column("shared", gettext_noop("Shared"), lambda row: row.network.is_shared, ("is_shared",), False),
        Column("enabled", gettext_noop("Enabled"), lambda row: row.network.is_enabled, ("is_enabled",), False),
        Column(
            "description", gettext_noop("Description"), lambda row: row.network.description, ("description",), False
        ),
        Column("tags", gettext_noop("Tags"), lambda row: row.network.tags, is_default=False),
        Column(
            "created", gettext_noop("Created"), lambda row: row.network.created_at, ("created_at",), False, css="nowrap"
        ),
        Column("id", gettext_noop("ID"), lambda row: row.network.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda caller, _asked: networks_visible(caller).select_related("project"),
    prepare=_prepared,
    filterset=lambda _caller: NetworkFilterSet,
    filters=(
        ListFilter("kind", gettext_noop("Carried by"), is_for_admins=True),
        ListFilter("is_external", gettext_noop("External"), is_first=True, choices=lambda _caller: YES_NO),
        ListFilter("is_shared", gettext_noop("Shared"), choices=lambda _caller: YES_NO),
        ListFilter("is_enabled", gettext_noop("Enabled"), choices=lambda _caller: YES_NO),
        ListFilter("tag", gettext_noop("Tag")),
        ListFilter("search", gettext_noop("Name contains")),
    ),
    sort="name",
    order=lambda _asked: ("-is_default", *natural_order("name")),
    search_hint=gettext_noop("Name, range, tag, description, id …"),
    head="dashboard/networks/network_list_head.html",
    empty="dashboard/networks/network_list_empty.html",
)
