"""Reading bulk jobs."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, QuerySet
from django.db.models.functions import Coalesce

from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.infra.related_count import related_count
from controlplane.kernel.errors import InvalidFields, NotFound
from controlplane.kernel.texts import phrase as _
from servers.bulk.domain import BULK_RULES, BulkItemState, BulkKind, BulkRule
from servers.models import BulkJob, BulkJobItem


@dataclass(frozen=True, slots=True)
class BulkProgress:
    """How many items of a job are in which state."""

    waiting: int = 0
    running: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0

    @property
    def total(self) -> int:
        return self.waiting + self.running + self.done + self.failed + self.cancelled

    @property
    def ended(self) -> int:
        return self.done + self.failed + self.cancelled

    @property
    def is_open(self) -> bool:
        return self.waiting + self.running > 0

    @property
    def state(self) -> str:
        """In one word: running, done, partly failed, failed or cancelled."""
        if self.is_open:
            return "running"
        if self.failed:
            return "failed" if not self.done else "partly failed"
        return "cancelled" if self.cancelled else "done"


def bulk_offers(caller: Caller, kind: BulkKind = BulkKind.INSTANCE) -> list[BulkRule]:
    """The actions for many that the caller's role allows, for the bar of a list."""
    if not allows(caller, "bulk_jobs:write"):
        return []
    return [rule for rule in BULK_RULES[kind].values() if allows(caller, rule.policy)]


def bulk_jobs_visible(*, caller: Caller) -> QuerySet[BulkJob]:
    """The caller's own, of administrators all, the newest first: a job names instances of any project that its asker
    could act on.
    """
    rows = BulkJob.objects.order_by("-created_at", "id")
    return rows if caller.sees_all else rows.filter(user_id=caller.user_id)


def bulk_job_get(*, caller: Caller, job_id: uuid.UUID) -> BulkJob:
    """One of those. Raises NotFound."""
    job = bulk_jobs_visible(caller=caller).filter(pk=job_id).first()
    if job is None:
        raise NotFound(_("There is no bulk job {job_id}.", job_id=job_id))
    return job


def bulk_progress(job_ids: Collection[uuid.UUID]) -> dict[uuid.UUID, BulkProgress]:
    """Of each job. One query."""
    rows = BulkJobItem.objects.filter(job__in=list(job_ids)).order_by()
    counts: dict[uuid.UUID, dict[str, int]] = {pk: {} for pk in job_ids}
    for pk, state, many in rows.values_list("job", "state").annotate(Count("pk")):
        counts[pk][state] = many
    return {pk: BulkProgress(**found) for pk, found in counts.items()}


def bulk_items(*, job: BulkJob, state: str = "") -> QuerySet[BulkJobItem]:
    """The items of a job in their order. Raises InvalidFields for a state that is none."""
    if state and state not in set(BulkItemState):
        raise InvalidFields(
            {
                "state": [
                    _(
                        "There is no state '{state:.20}'; there are: {bulkitemstate}.",
                        state=state,
                        bulkitemstate=", ".join(BulkItemState),
                    )
                ]
            }
        )
    rows = BulkJobItem.objects.filter(job=job).order_by("position")
    return rows.filter(state=state) if state else rows


def item_count_in(state: str) -> Coalesce:
    """Of the items of each job in one state; to sort jobs by."""
    return related_count(BulkJobItem.objects.filter(state=state), "job")
