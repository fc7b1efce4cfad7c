"""The list of security groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from computeagent.protocol.networks import Direction
from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.identity.domain import Caller
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.filtersets_network import SecurityGroupFilterSet
from servers.networks.selectors.group_ports import group_port_counts, port_count, rule_count
from servers.networks.selectors.groups import groups_with_rules


@dataclass(frozen=True, slots=True)
class SecurityGroupRow:
    """A group, and how many ports are in it."""

    group: Any
    ports: int

    def rules(self, direction: Direction) -> int:
        """How many of its rules are for one direction."""
        return sum(rule.direction == direction for rule in self.group.rules.all())

    @property
    def ingress(self) -> int:
        """Rules for what comes in."""
        return self.rules(Direction.INGRESS)

    @property
    def egress(self) -> int:
        """Rules for what goes out."""
        return self.rules(Direction.EGRESS)


def _prepared(_caller: Caller, groups: Sequence[Any], _asked: Asked) -> list[SecurityGroupRow]:
    ports = group_port_counts([one.pk for one in groups])
    return [SecurityGroupRow(one, ports.get(one.pk, 0)) for one in groups]


SECURITY_GROUPS = ListDeclaration(
    name="security-groups",
    thing="security group",
    section="security-groups",
    cells="dashboard/networks/security_group_cells.html",
    columns=(
        Column(
            "name", gettext_noop("Group"), lambda row: row.group.name, natural_order("name"), is_fixed=True, css="name"
        ),
        Column(
            "ingress",
            gettext_noop("Rules in"),
            lambda row: row.ingress,
            (rule_count(Direction.INGRESS),),
            is_number=True,
        ),
        Column(
            "egress", gettext_noop("Rules out"), lambda row: row.egress, (rule_count(Direction.EGRESS),), is_number=True
        ),
        Column("ports", gettext_noop("Ports"), lambda row: row.ports, (port_count(),), is_number=True),
        Column(
            "project",
            gettext_noop("Project"),
            lambda row: row.group.project.name,
            ("project__name",),
            is_for_admins=True,
            hides_small=True,
        ),
        Column("default", gettext_noop("Default"), lambda row: row.group.is_default, ("is_default",), False),
        Column("description", gettext_noop("Description"), lambda row: row.group.description, ("description",), False),
        Column("tags", gettext_noop("Tags"), lambda row: row.group.tags, is_default=False),
        Column(
            "created", gettext_noop("Created"), lambda row: row.group.created_at, ("created_at",), False, css="nowrap"
        ),
        Column("id", gettext_noop("ID"), lambda row: row.group.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda caller, _asked: groups_with_rules(caller=caller).select_related("project"),
    prepare=_prepared,
    filterset=lambda _caller: SecurityGroupFilterSet,
    filters=(
        ListFilter("is_default", gettext_noop("Default"), is_first=True, choices=lambda _caller: YES_NO),
        ListFilter("instance", gettext_noop("Instance that is in it"), placeholder=gettext_noop("Its id")),
        ListFilter("tag", gettext_noop("Tag")),
        ListFilter("search", gettext_noop("Name contains")),
    ),
    sort="name",
    order=lambda _asked: ("-is_default", *natural_order("name")),
    search_hint=gettext_noop("Name, tag, description, range or protocol of a rule, id …"),
    head="dashboard/networks/security_group_list_head.html",
    empty="dashboard/networks/security_group_list_empty.html",
)
