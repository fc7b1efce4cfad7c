"""The list of bulk jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.dashboard.lists.declaration import Asked, Column, ListDeclaration, ListFilter
from controlplane.dashboard.lists.query import YES_NO
from controlplane.identity.domain import Caller
from controlplane.kernel.texts import gettext_noop
from servers.bulk.selectors import BulkProgress, bulk_jobs_visible, bulk_progress, item_count_in
from servers.filtersets_bulk import BulkJobFilterSet


@dataclass(frozen=True, slots=True)
class BulkJobRow:
    """A job in words, and how far it is."""

    job: Any
    progress: BulkProgress


def _prepared(_caller: Caller, jobs: Sequence[Any], _asked: Asked) -> list[BulkJobRow]:
    progress = bulk_progress([job.pk for job in jobs])
    return [BulkJobRow(job, progress[job.pk]) for job in jobs]


BULK_JOBS = ListDeclaration(
    name="bulk-jobs",
    thing="job",
    section="bulk-jobs",
    cells="dashboard/bulk_jobs/cells.html",
    columns=(
        Column("job", gettext_noop("Job"), lambda row: row.job.title, ("kind", "action"), is_fixed=True, css="name"),
        Column("kind", gettext_noop("Kind"), lambda row: row.job.kind, ("kind",), is_default=False),
        Column("action", gettext_noop("Action"), lambda row: row.job.action, ("action",), is_default=False),
        Column("state", gettext_noop("State"), lambda row: row.progress.state, ("finished_at",)),
        Column("items", gettext_noop("Items"), lambda row: row.job.item_count, ("item_count",), False, is_number=True),
        Column("done", gettext_noop("Done"), lambda row: row.progress.done, (item_count_in("done"),), is_number=True),
        Column(
            "failed",
            gettext_noop("Failed"),
            lambda row: row.progress.failed,
            (item_count_in("failed"),),
            is_number=True,
        ),
        Column("user", gettext_noop("By"), lambda row: row.job.user_name, ("user_name",), hides_small=True),
        Column("created", gettext_noop("Asked for"), lambda row: row.job.created_at, ("created_at",), css="nowrap"),
        Column("ended", gettext_noop("Ended"), lambda row: row.job.finished_at, ("finished_at",), False, css="nowrap"),
        Column("request", gettext_noop("Request"), lambda row: row.job.request_id, ("request_id",), False, css="mono"),
        Column("id", gettext_noop("ID"), lambda row: row.job.pk, ("pk",), False, css="mono"),
    ),
    rows=lambda caller, _asked: bulk_jobs_visible(caller=caller),
    prepare=_prepared,
    filterset=lambda _caller: BulkJobFilterSet,
    filters=(
        ListFilter("kind", gettext_noop("Kind"), is_first=True),
        ListFilter("is_open", gettext_noop("Under way"), is_first=True, choices=lambda _caller: YES_NO),
        ListFilter("has_failed", gettext_noop("With failures"), choices=lambda _caller: YES_NO),
        ListFilter("action", gettext_noop("Action"), placeholder=gettext_noop("Exact name")),
        ListFilter("request_id", gettext_noop("Request"), placeholder="req-…"),
    ),
    sort="-created",
    search_hint=gettext_noop("Action, name of an item, who asked, request …"),
    is_live=lambda rows: any(one.finished_at is None for one in rows),
    watch="watch=work",
    watch_rule="work:read",
    empty="dashboard/bulk_jobs/empty.html",
)
