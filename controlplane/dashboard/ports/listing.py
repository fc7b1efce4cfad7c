"""The list of ports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.dashboard.lists.declaration import Asked, Choices, Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.dashboard.texts import translated
from controlplane.identity.domain import Caller
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.filtersets_network import port_filters
from servers.networks.domain.names import PortOwner
from servers.networks.selectors.networks import networks_visible
from servers.networks.selectors.ports import ports_visible
from servers.networks.selectors.topology import JoinedPort, ports_named

MAX_CHOICES = 500
OWNER_WORDS = {
    PortOwner.NOBODY: gettext_noop("nothing yet"),
    PortOwner.INSTANCE: gettext_noop("an instance"),
    PortOwner.ROUTER_INTERFACE: gettext_noop("a router"),
    PortOwner.ROUTER_GATEWAY: gettext_noop("a router's gateway"),
    PortOwner.FLOATING_IP: gettext_noop("a floating address"),
}
"""What a port is of, in English: pages translate it."""


@dataclass(frozen=True, slots=True)
class PortRow:
    """A port with what it is of."""

    joined: JoinedPort

    @property
    def port(self) -> Any:
        """Its row."""
        return self.joined.port

    @property
    def name(self) -> str:
        """What it is called; its MAC address where it has no name."""
        return str(self.port)

    @property
    def owner_word(self) -> str:
        """The kind of thing that it is of."""
        return OWNER_WORDS[PortOwner(self.port.owner)]

    @property
    def is_of_floating_ip(self) -> bool:
        """Whether it holds a floating address."""
        return bool(self.port.owner == PortOwner.FLOATING_IP)

    @property
    def device(self) -> str:
        """The name of what it is of, or else its kind."""
        router = self.port.router
        return self.joined.instance_name or (router.name if router else "") or self.owner_word


def _prepared(caller: Caller, ports: Sequence[Any], _asked: Asked) -> list[PortRow]:
    return [PortRow(one) for one in ports_named(caller, ports)]


def _networks(caller: Caller) -> Choices:
    rows = networks_visible(caller).order_by("name", "pk").values_list("pk", "name")
    return [(str(pk), name or str(pk)) for pk, name in rows[:MAX_CHOICES]]


def _owners(_caller: Caller) -> Choices:
    return [(owner.value, translated(word)) for owner, word in OWNER_WORDS.items() if owner.value]


PORTS = ListDeclaration(
    name="ports",
    thing="port",
    section="ports",
    cells="dashboard/networks/port_cells.html",
    columns=(
        Column(
            "name", gettext_noop("Port"), lambda row: row.port.name, natural_order("name"), is_fixed=True, css="name"
        ),
        Column("addresses", gettext_noop("Addresses"), lambda row: row.joined.addresses, css="mono"),
        Column("device", gettext_noop("Of"), lambda row: row.device, ("owner",)),
        Column(
            "network",
            gettext_noop("Network"),
            lambda row: row.port.network_name,
            natural_order("network_name"),
            hides_small=True,
        ),
        Column("status", gettext_noop("Status"), lambda row: row.joined.status),
        Column("mac", gettext_noop("MAC address"), lambda row: row.port.mac, ("mac",), False, css="mono"),
        Column(
            "host", gettext_noop("Host"), lambda row: row.port.host, ("host",), is_for_admins=True, hides_small=True
        ),
        Column(
            "project",
            gettext_noop("Project"),
            lambda row: row.port.project.name if row.port.project else "",
            ("project__name",),
            is_for_admins=True,
            hides_small=True,
        ),
        Column(
            "groups",
            gettext_noop("Security groups"),
            lambda row: [one.name for one in row.port.groups.all()],
            is_default=False,
        ),
        Column("security", gettext_noop("Port security"), lambda row: row.port.has_security, ("has_security",), False),
        Column("enabled", gettext_noop("Enabled"), lambda row: row.port.is_enabled, ("is_enabled",), False),
        Column("vnic_type", gettext_noop("VNIC type"), lambda row: row.port.vnic_type, ("vnic_type",), False),
        Column("description", gettext_noop("Description"), lambda row: row.port.description, ("description",), False),
        Column("tags", gettext_noop("Tags"), lambda row: row.port.tags, is_default=False),
        Column(
            "created", gettext_noop("Created"), lambda row: row.port.created_at, ("created_at",), False, css="nowrap"
        ),
        Column("id", gettext_noop("ID"), lambda row: row.port.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda caller, _asked: ports_visible(caller).select_related("router", "project").prefetch_related("groups"),
    prepare=_prepared,
    filterset=lambda caller: port_filters(is_admin=caller.is_admin),
    filters=(
        ListFilter("network", gettext_noop("Network"), is_first=True, choices=_networks),
        ListFilter("status", gettext_noop("Status"), is_first=True),
        ListFilter("owner", gettext_noop("Of"), choices=_owners),
        ListFilter("address", gettext_noop("Address"), placeholder=gettext_noop("The whole address")),
        ListFilter("instance", gettext_noop("Instance"), placeholder=gettext_noop("Its id")),
        ListFilter("security_group", gettext_noop("Security group"), placeholder=gettext_noop("Its id")),
        ListFilter("has_security", gettext_noop("Port security"), choices=lambda _caller: YES_NO),
        ListFilter("is_enabled", gettext_noop("Enabled"), choices=lambda _caller: YES_NO),
        ListFilter("host", gettext_noop("Host"), is_for_admins=True, placeholder=gettext_noop("Exact name")),
        ListFilter("tag", gettext_noop("Tag")),
        ListFilter("search", gettext_noop("Name contains")),
    ),
    sort="-created",
    search_hint=gettext_noop("Name, address, MAC, instance, router, network, tag, id …"),
    head="dashboard/networks/port_list_head.html",
    empty="dashboard/networks/port_list_empty.html",
)
