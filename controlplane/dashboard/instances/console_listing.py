"""The list of console sessions."""

from controlplane.dashboard.lists.declaration import Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from servers.consoles.selectors import console_sessions_visible
from servers.filtersets_instance import ConsoleSessionFilterSet

CONSOLES = ListDeclaration(
    name="consoles",
    thing="session",
    section="consoles",
    cells="dashboard/consoles/session_cells.html",
    table_css="worklist",
    columns=(
        Column(
            "instance",
            gettext_noop("Instance"),
            lambda row: row.instance_name,
            natural_order("instance_name"),
            is_fixed=True,
            css="name what",
        ),
        Column("kind", gettext_noop("Kind"), lambda row: row.kind, ("kind", "is_read_only")),
        Column("user", gettext_noop("User"), lambda row: row.user.username, ("user__username",)),
        Column("address", gettext_noop("From"), lambda row: row.client_address, ("client_address",), css="mono"),
        Column("opened", gettext_noop("Opened"), lambda row: row.opened_at, ("opened_at",), css="nowrap"),
        Column("ended", gettext_noop("Ended"), lambda row: row.ended_at, ("ended_at",), css="nowrap"),
        Column("reason", gettext_noop("Ended because"), lambda row: row.ended_because, is_default=False, css="wrap"),
        Column(
            "host_error",
            gettext_noop("Error on the host"),
            lambda row: row.host_error,
            is_default=False,
            is_for_admins=True,
            css="wrap",
        ),
        Column("host", gettext_noop("Host"), lambda row: row.host, natural_order("host"), False, is_for_admins=True),
        Column("id", gettext_noop("ID"), lambda row: row.pk, ("pk",), False, css="mono"),
        Column("tools", "", lambda _row: None, css="tools", is_tool=True),
    ),
    rows=lambda caller, _asked: console_sessions_visible(caller=caller),
    filterset=lambda _caller: ConsoleSessionFilterSet,
    filters=(
        ListFilter("is_open", gettext_noop("Open now"), is_first=True, choices=lambda _caller: YES_NO),
        ListFilter("kind", gettext_noop("Kind")),
        ListFilter("instance", gettext_noop("Instance"), placeholder=gettext_noop("Its id")),
        ListFilter("user", gettext_noop("User"), placeholder=gettext_noop("Id of a user")),
    ),
    sort="-opened",
    search_hint=gettext_noop("Instance, user, address, why it ended …"),
    before="dashboard/consoles/session_list_before.html",
    empty="dashboard/consoles/session_list_empty.html",
)
