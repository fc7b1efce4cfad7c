"""The list of server groups."""

from typing import Any

from controlplane.dashboard.lists.declaration import Column, ListDeclaration, ListFilter
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.catalog.selectors.server_group import member_count, server_groups_visible
from servers.filtersets import ServerGroupFilterSet


def _members(row: Any) -> int:
    return len(row.members.all())


SERVER_GROUPS = ListDeclaration(
    name="server-groups",
    thing="server group",
    section="server-groups",
    cells="dashboard/catalog/server_group_cells.html",
    columns=(
        Column("name", gettext_noop("Group"), lambda row: row.name, natural_order("name"), is_fixed=True, css="name"),
        Column("policy", gettext_noop("Policy"), lambda row: row.policy, ("policy",)),
        Column("members", gettext_noop("Members"), _members, (member_count(),), is_number=True),
        Column(
            "project",
            gettext_noop("Project"),
            lambda row: row.project.name,
            ("project__name",),
            is_for_admins=True,
            hides_small=True,
        ),
        Column("rules", gettext_noop("Rules"), lambda row: row.rules, is_default=False),
        Column("created", gettext_noop("Created"), lambda row: row.created_at, ("created_at",), False, css="nowrap"),
        Column("id", gettext_noop("ID"), lambda row: row.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda caller, _asked: server_groups_visible(caller=caller).select_related("project"),
    filterset=lambda _caller: ServerGroupFilterSet,
    filters=(
        ListFilter("policy", gettext_noop("Policy"), is_first=True),
        ListFilter("member", gettext_noop("Member"), placeholder=gettext_noop("Id of an instance")),
        ListFilter("search", gettext_noop("Name contains")),
    ),
    sort="name",
    search_hint=gettext_noop("Name, policy, instance, id …"),
    head="dashboard/catalog/server_group_list_head.html",
    empty="dashboard/catalog/server_group_list_empty.html",
)
