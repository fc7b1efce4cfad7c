"""The list of floating addresses."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.identity.domain import Caller
from controlplane.kernel.texts import gettext_noop
from servers.filtersets_network import FloatingIPFilterSet
from servers.networks.selectors.floating_ips import floating_ips_visible
from servers.networks.selectors.topology import instance_names


@dataclass(frozen=True, slots=True)
class FloatingIPRow:
    """A floating address, and the name of the instance that it leads to; empty where it leads to none."""

    floating: Any
    instance_name: str

    @property
    def instance_id(self) -> uuid.UUID | None:
        """The instance that it leads to."""
        return self.floating.port.instance_uuid if self.floating.port else None

    @property
    def id(self) -> uuid.UUID:
        """Its id."""
        return uuid.UUID(str(self.floating.pk))

    @property
    def name(self) -> str:
        """What it is called where it is chosen."""
        return str(self.floating.address)


def _prepared(_caller: Caller, rows: Sequence[Any], _asked: Asked) -> list[FloatingIPRow]:
    names = instance_names([one.port.instance_uuid for one in rows if one.port and one.port.instance_uuid])
    return [FloatingIPRow(one, names.get(one.port.instance_uuid, "") if one.port else "") for one in rows]


FLOATING_IPS = ListDeclaration(
    name="floating-ips",
    thing="floating address",
    ending="es",
    section="floating-ips",
    cells="dashboard/networks/floating_ip_cells.html",
    table_css="worklist",
    columns=(
        Column(
            "address",
            gettext_noop("Address"),
            lambda row: row.floating.address,
            ("address_port__allocations__address_key",),
            is_fixed=True,
            css="name what mono",
        ),
        Column("instance", gettext_noop("Leads to"), lambda row: row.instance_name),
        Column(
            "fixed",
            gettext_noop("Fixed address"),
            lambda row: row.floating.fixed_address,
            ("fixed_address",),
            False,
            css="mono",
        ),
        Column("status", gettext_noop("State"), lambda row: row.floating.status, ("status",), is_default=False),
        Column(
            "network",
            gettext_noop("Of network"),
            lambda row: row.floating.network.name,
            ("network__name",),
            hides_small=True,
        ),
        Column(
            "router",
            gettext_noop("By router"),
            lambda row: row.floating.router.name if row.floating.router else None,
            ("router__name",),
            hides_small=True,
        ),
        Column(
            "project",
            gettext_noop("Project"),
            lambda row: row.floating.project.name,
            ("project__name",),
            is_for_admins=True,
            hides_small=True,
        ),
        Column(
            "description", gettext_noop("Description"), lambda row: row.floating.description, ("description",), False
        ),
        Column("tags", gettext_noop("Tags"), lambda row: row.floating.tags, is_default=False),
        Column(
            "created", gettext_noop("Taken"), lambda row: row.floating.created_at, ("created_at",), False, css="nowrap"
        ),
        Column("id", gettext_noop("ID"), lambda row: row.floating.pk, ("pk",), False, css="mono"),
        Column.tools(),
    ),
    rows=lambda caller, _asked: floating_ips_visible(caller=caller).select_related("project"),
    prepare=_prepared,
    filterset=lambda _caller: FloatingIPFilterSet,
    filters=(
        ListFilter("is_free", gettext_noop("Leads nowhere"), is_first=True, choices=lambda _caller: YES_NO),
        ListFilter("status", gettext_noop("State")),
        ListFilter("tag", gettext_noop("Tag")),
    ),
    sort="created",
    search_hint=gettext_noop("Address, instance, network, tag, description, id …"),
    before="dashboard/networks/floating_ip_take.html",
    empty="dashboard/networks/floating_ip_list_empty.html",
)
