"""The list of users, for admins."""

from controlplane.dashboard.lists.declaration import Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.identity.filtersets import UserFilterSet
from controlplane.identity.selectors.people import users_listed
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop

USERS = ListDeclaration(
    name="users",
    thing="user",
    section="users",
    cells="dashboard/identity/user_cells.html",
    columns=(
        Column(
            "name", gettext_noop("User"), lambda row: row.username, natural_order("username"), is_fixed=True, css="name"
        ),
        Column("roles", gettext_noop("Roles"), lambda row: row.roles, ("roles",), is_number=True),
        Column("email", gettext_noop("Address"), lambda row: row.email, ("email",), is_default=False),
        Column("active", gettext_noop("Active"), lambda row: row.is_active, ("is_active",), is_default=False),
        Column(
            "superuser", gettext_noop("Superuser"), lambda row: row.is_superuser, ("is_superuser",), is_default=False
        ),
        Column("staff", gettext_noop("Django admin"), lambda row: row.is_staff, ("is_staff",), is_default=False),
        Column(
            "last_login",
            gettext_noop("Last login to the pages"),
            lambda row: row.last_login,
            ("last_login",),
            css="nowrap",
            hides_small=True,
        ),
        Column(
            "created",
            gettext_noop("Created"),
            lambda row: row.created_at,
            ("created_at",),
            is_default=False,
            css="nowrap",
        ),
        Column("id", gettext_noop("ID"), lambda row: row.pk, ("pk",), is_default=False, css="mono"),
    ),
    rows=lambda _caller, _asked: users_listed(),
    filterset=lambda _caller: UserFilterSet,
    filters=(
        ListFilter("is_active", gettext_noop("Active"), is_first=True, choices=lambda _caller: YES_NO),
        ListFilter("is_superuser", gettext_noop("Superuser"), choices=lambda _caller: YES_NO),
        ListFilter("username__icontains", gettext_noop("Name contains")),
    ),
    sort="name",
    search_hint=gettext_noop("Name, address, project, role, id …"),
    head="dashboard/identity/user_list_head.html",
    empty="dashboard/identity/user_list_empty.html",
)
