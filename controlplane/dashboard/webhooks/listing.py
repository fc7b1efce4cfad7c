"""The list of webhooks, for admins."""

from controlplane.dashboard.lists.declaration import Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.infra.natural_order import natural_order
from controlplane.kernel.texts import gettext_noop
from controlplane.notifications.filtersets import WebhookFilterSet
from controlplane.notifications.models import Webhook
from controlplane.notifications.selectors import webhooks_listed


def _state(row: Webhook) -> str:
    """Of a row of `webhooks_listed`, which says whether it is held."""
    is_held: bool = row.is_held  # type: ignore[attr-defined]
    return ("held" if is_held else "enabled") if row.enabled else "disabled"


WEBHOOKS = ListDeclaration(
    name="webhooks",
    thing="webhook",
    section="webhooks",
    cells="dashboard/webhooks/webhook_cells.html",
    columns=(
        Column("name", gettext_noop("Webhook"), lambda row: row.name, natural_order("name"), is_fixed=True, css="name"),
        Column("state", gettext_noop("State"), _state, ("enabled", "retry_at")),
        Column("events", gettext_noop("Gets"), lambda row: row.events, css="mono wrap", hides_small=True),
        Column("answer", gettext_noop("Last answer"), lambda row: row.last_status, ("last_status",)),
        Column("answered", gettext_noop("Answered"), lambda row: row.last_at, ("last_at",), False, css="nowrap"),
        Column(
            "open",
            gettext_noop("On the way"),
            lambda row: row.open_count,
            ("open_count",),
            is_number=True,
            hides_small=True,
        ),
        Column("failed", gettext_noop("Given up"), lambda row: row.failed_count, ("failed_count",), is_number=True),
        Column("url", gettext_noop("URL"), lambda row: row.url, ("url",), False, css="mono wrap"),
        Column("created", gettext_noop("Created"), lambda row: row.created_at, ("created_at",), False, css="nowrap"),
        Column("id", gettext_noop("ID"), lambda row: row.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda _caller, _asked: webhooks_listed(),
    filterset=lambda _caller: WebhookFilterSet,
    filters=(
        ListFilter("enabled", gettext_noop("Enabled"), is_first=True, choices=lambda _caller: YES_NO),
        ListFilter("name", gettext_noop("Name"), placeholder=gettext_noop("Exact name")),
    ),
    sort="name",
    search_hint=gettext_noop("Name, URL, pattern, id …"),
    is_live=lambda rows: any(one.open_count for one in rows),
    live_s=5,
    head="dashboard/webhooks/webhook_list_head.html",
    empty="dashboard/webhooks/webhook_list_empty.html",
)
