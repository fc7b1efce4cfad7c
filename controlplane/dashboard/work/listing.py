"""The list of work, for admins."""

from collections.abc import Sequence
from typing import Any

from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter, SortTerms
from controlplane.dashboard.lists.query import YES_NO
from controlplane.dashboard.work.rows import WorkRow, kind_label, kinds_on_offer, work_rows
from controlplane.identity.domain import Caller
from controlplane.kernel.texts import gettext_noop
from controlplane.work.control import works
from controlplane.work.filtersets import OPEN
from controlplane.work.models.work import OPEN_STATES
from servers.filtersets_instance import InstanceWorkFilterSet


def _prepared(_caller: Caller, found: Sequence[Any], _asked: Asked) -> list[WorkRow]:
    return work_rows(found)


def _order(asked: Asked) -> SortTerms:
    """Open work with the nearest deadline first, so that what is overdue comes first; ended work newest first."""
    return ("deadline_at",) if asked.get("state") in {OPEN, *OPEN_STATES} else ("-created_at",)


def _row_state(row: WorkRow) -> str:
    return f"{row.work.state}, {row.result}" if row.result else str(row.work.state)


WORK = ListDeclaration(
    name="work",
    thing="row",
    section="work",
    cells="dashboard/work/work_cells.html",
    table_css="worklist",
    columns=(
        Column(
            "what",
            gettext_noop("Work"),
            lambda row: kind_label(row.work.kind),
            ("kind",),
            is_fixed=True,
            css="name what",
        ),
        Column("subject", gettext_noop("Instance"), lambda row: row.name or str(row.work.subject), is_default=False),
        Column("state", gettext_noop("State"), _row_state, ("state",)),
        Column("attempt", gettext_noop("Attempt"), lambda row: row.work.attempt, ("attempt",), is_number=True),
        Column(
            "owner", gettext_noop("Owner"), lambda row: row.work.lease_owner or row.host or row.work.queue, ("queue",)
        ),
        Column("by", gettext_noop("Asked by"), lambda row: row.by, hides_small=True),
        Column("age", gettext_noop("Age"), lambda row: row.work.created_at, ("created_at",), css="nowrap"),
        Column(
            "deadline",
            gettext_noop("Deadline"),
            lambda row: row.work.finished_at or row.work.deadline_at,
            ("deadline_at",),
            css="nowrap",
        ),
        Column("error", gettext_noop("Error"), lambda row: row.error, is_default=False, css="wrap"),
        Column("request", gettext_noop("Request"), lambda row: row.work.request_id, ("request_id",), False, css="mono"),
        Column("id", gettext_noop("ID"), lambda row: row.work.pk, ("pk",), False, css="mono"),
        Column("tools", "", lambda _row: None, css="tools", is_tool=True),
    ),
    rows=lambda _caller, _asked: works(),
    prepare=_prepared,
    filterset=lambda _caller: InstanceWorkFilterSet,
    filters=(
        ListFilter("state", gettext_noop("State"), is_first=True),
        ListFilter("kind", gettext_noop("Kind"), is_first=True, choices=lambda _caller: kinds_on_offer()),
        ListFilter("host", gettext_noop("Host"), placeholder=gettext_noop("Exact name")),
        ListFilter("subject", gettext_noop("Instance"), placeholder=gettext_noop("Its or a batch's id")),
        ListFilter("request_id", gettext_noop("Request"), placeholder="req-…"),
        ListFilter("overdue", gettext_noop("Overdue"), choices=lambda _caller: YES_NO),
        ListFilter("lapsed", gettext_noop("Lease expired"), choices=lambda _caller: YES_NO),
        ListFilter("retried", gettext_noop("Retried"), choices=lambda _caller: YES_NO),
    ),
    defaults={"state": OPEN},
    sort="-age",
    order=_order,
    search_hint=gettext_noop("Instance, kind, step, owner, request …"),
    is_live=lambda rows: any(one.finished_at is None for one in rows),
    live_s=5,
    watch="watch=work",
    top="dashboard/work/work_counts.html",
    empty="dashboard/work/work_list_empty.html",
)
