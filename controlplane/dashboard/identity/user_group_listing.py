"""The list of groups of users, for admins."""

from controlplane.dashboard.lists.declaration import Column, ListDeclaration, ListFilter
from controlplane.identity.filtersets import GroupFilterSet
from controlplane.identity.selectors.groups import groups_listed
from controlplane.infra.natural_order import natural_order

USER_GROUPS = ListDeclaration(
    name="user-groups",
    thing="group",
    section="user-groups",
    cells="dashboard/identity/user_group_cells.html",
    columns=(
        Column("name", "Group", lambda row: row.name, natural_order("name"), is_fixed=True, css="name"),
        Column("people", "Members", lambda row: row.people, ("people",), is_number=True),
        Column("roles", "Roles", lambda row: row.grants, ("grants",), is_number=True),
        Column("description", "Description", lambda row: row.description, ("description",), hides_small=True),
        Column("created", "Created", lambda row: row.created_at, ("created_at",), is_default=False, css="nowrap"),
        Column("id", "ID", lambda row: row.pk, ("pk",), is_default=False, css="mono"),
    ),
    rows=lambda _caller, _asked: groups_listed(),
    filterset=lambda _caller: GroupFilterSet,
    filters=(ListFilter("name__icontains", "Name contains"),),
    sort="name",
    search_hint="Name, member, project, role, id …",
    head="dashboard/identity/user_group_list_head.html",
    empty="dashboard/identity/user_group_list_empty.html",
)
