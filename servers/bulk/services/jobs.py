"""Asking for a bulk job, trying again what failed, cancelling what has not begun."""

import uuid
from collections.abc import Sequence

from django.db import transaction
from django.db.models.functions import Now

from controlplane.audit_log.recording.actor_scope import actor_scope_now
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.infra.request_id import current_request_id
from controlplane.infra.retention import rows_prune
from controlplane.kernel.errors import Conflict, Forbidden, Invalid
from controlplane.kernel.ids import new_request_id
from controlplane.kernel.texts import phrase as _
from controlplane.work.conf import work_options
from controlplane.work.work import CONDUCTOR_QUEUE, NewWork, open_work_of_kind, work_create
from servers.bulk.domain import (
    BULK_RULES,
    NOUNS,
    OPEN_ITEMS,
    BulkItemState,
    BulkKind,
    BulkNoun,
    BulkRule,
    confirm_problem,
)
from servers.bulk.selectors import bulk_job_get
from servers.bulk.services.notifications import emit_bulk_job_ends
from servers.bulk.things.table import THINGS
from servers.catalog.services.quota import quota_lock
from servers.conf import server_options
from servers.instances.work_kinds import BULK_ACT
from servers.models import BulkJob, BulkJobItem

DEADLINE_S = 6 * 3600.0
NOTE_MAX = 255
MAX_ATTEMPTS = 100
"""Of one piece of a job's work. An item that fails ends by itself, so an attempt is only lost with its process."""


def bulk_kind_of(name: str) -> BulkKind:
    """Raises Invalid for what no job is about."""
    if name not in set(BulkKind):
        raise Invalid(
            _(
                "There are no bulk jobs of '{name:.40}'; there are: {bulkkind}.",
                name=name,
                bulkkind=", ".join(BulkKind),
            ),
            field="kind",
        )
    return BulkKind(name)


def bulk_action_of(name: str, kind: BulkKind = BulkKind.INSTANCE) -> BulkRule:
    """The action's rule. Raises Invalid for one that is not for many."""
    rule = BULK_RULES[kind].get(name)
    if rule is None:
        there = ", ".join(BULK_RULES[kind])
        raise Invalid(
            _(
                "'{name:.40}' cannot be done to many {plural}; there are: {there}.",
                name=name,
                plural=NOUNS[kind].plural,
                there=there,
            ),
            field="action",
        )
    return rule


@audited("bulk_job.create", BulkJob)
def bulk_job_create(
    *,
    caller: Caller,
    action: str,
    ids: Sequence[uuid.UUID],
    kind: BulkKind = BulkKind.INSTANCE,
    confirmed: int | None = None,
    note: str = "",
) -> BulkJob:
    """Write the job with an item for each of the things; the conductor does the rest.

    Each item is judged when its turn comes, as if the caller had asked for it alone. `confirmed`: for what destroys or
    interrupts, how many things the caller says it concerns. `note` goes with actions that take one. Raises Invalid,
    Forbidden, and Conflict while the project has as many open jobs as it may.
    """
    rule = bulk_action_of(action, kind)
    _own_roles_require(caller)
    require(caller, "bulk_jobs:write")
    require(caller, rule.policy)
    ids = list(dict.fromkeys(ids))
    size_require(rule.noun, len(ids))
    _note_require(rule, note)
    if problem := confirm_problem(rule, count=len(ids), confirmed=confirmed):
        raise Invalid(problem, field="confirm")
    names = THINGS[kind].names(caller, ids)
    scope = actor_scope_now()
    with transaction.atomic():
        _open_jobs_require(caller)
        request_id = current_request_id()
        job = BulkJob.objects.create(
            kind=kind.value,
            action=rule.name,
            note=note.strip(),
            user_id=caller.user_id,
            user_name=caller.username,
            project_id=caller.project_id,
            request_id=request_id if len(request_id) > 1 else new_request_id(),
            address=scope.address if scope else "",
            item_count=len(ids),
        )
        BulkJobItem.objects.bulk_create(
            [
                BulkJobItem(job=job, position=position, subject=one, name=names.get(one, "")[:255])
                for position, one in enumerate(ids, 1)
            ],
            batch_size=200,
        )
        work_begin(job)
    return job


def size_require(noun: BulkNoun, count: int) -> None:
    """Raises Invalid for a job of nothing, and for one of more than BULK_JOB_MAX_ITEMS."""
    limit = server_options().bulk_job_max_items
    if not count:
        raise Invalid(_("Choose at least one {singular}.", singular=noun.singular), field="ids")
    if count > limit:
        raise Invalid(
            _(
                "A job has at most {limit} {plural}, and more were chosen. Choose fewer.",
                limit=limit,
                plural=noun.plural,
            ),
            field="ids",
        )


def _note_require(rule: BulkRule, note: str) -> None:
    if note and not rule.takes_note:
        raise Invalid(_("{title} takes no note.", title=rule.title), field="note")
    if len(note) > NOTE_MAX or not (note.isprintable() or not note):
        raise Invalid(_("A note has at most {note_max} printable characters.", note_max=NOTE_MAX), field="note")


def _own_roles_require(caller: Caller) -> None:
    """A job goes on with all roles of its user, when whoever asked is gone."""
    if caller.is_by_credential:
        raise Forbidden(
            _(
                "An application credential starts no bulk jobs: a job acts with all roles of its "
                "user, and the credential may have less. Ask for each thing."
            )
        )


def _open_jobs_require(caller: Caller) -> None:
    """The lock is the project's: of two at once, the second counts the first."""
    quota_lock(caller.project_id)
    limit = server_options().bulk_jobs_max_open
    if BulkJob.objects.filter(project_id=caller.project_id, finished_at__isnull=True).count() >= limit:
        raise Conflict(
            _(
                "Project {project_name} has {limit} bulk jobs under way. Wait until one has ended.",
                project_name=caller.project_name,
                limit=limit,
            )
        )


def work_begin(job: BulkJob) -> None:
    """Write the work of a job, in the caller's transaction. What is open already does it."""
    if open_work_of_kind(subject=job.pk, kind=BULK_ACT) is None:
        new = NewWork(CONDUCTOR_QUEUE, BULK_ACT, job.pk, DEADLINE_S, {}, MAX_ATTEMPTS, job.request_id)
        work_create(new)


@audited("bulk_job.retry", BulkJob, by="job_id")
def bulk_job_retry(*, caller: Caller, job_id: uuid.UUID) -> BulkJob:
    """Try again what failed, in the name of who asked for the job, so he alone may.

    Raises NotFound, Forbidden, and Conflict where nothing failed or too many jobs are open.
    """
    _own_roles_require(caller)
    require(caller, "bulk_jobs:write")
    job = bulk_job_get(caller=caller, job_id=job_id)
    if job.user_id != caller.user_id or job.project_id != caller.own_project_id:
        raise Forbidden(
            _(
                "{user_name} asked for this job, and it acts in that name. Ask for one of your own.",
                user_name=job.user_name,
            )
        )
    with transaction.atomic():
        BulkJob.objects.select_for_update().get(pk=job.pk)
        if job.finished_at is not None:
            _open_jobs_require(caller)
        failed = BulkJobItem.objects.filter(job=job, state=BulkItemState.FAILED)
        if not failed.update(state=BulkItemState.WAITING, reason="", finished_at=None):
            raise Conflict(_("No item of this job failed."))
        BulkJob.objects.filter(pk=job.pk).update(finished_at=None, cancelled_at=None, updated_at=Now())
        work_begin(job)
    job.refresh_from_db()
    return job


@audited("bulk_job.cancel", BulkJob, by="job_id")
def bulk_job_cancel(*, caller: Caller, job_id: uuid.UUID) -> BulkJob:
    """Begin none of the items that still wait; what runs goes on. Raises NotFound, and Conflict where none waits."""
    require(caller, "bulk_jobs:write")
    job = bulk_job_get(caller=caller, job_id=job_id)
    with transaction.atomic():
        BulkJob.objects.select_for_update().get(pk=job.pk)
        waiting = BulkJobItem.objects.filter(job=job, state=BulkItemState.WAITING)
        reason = _("Cancelled by {username} before it began.", username=caller.username)
        if not waiting.update(state=BulkItemState.CANCELLED, reason=reason, finished_at=Now()):
            raise Conflict(_("No item of this job waits any more."))
        BulkJob.objects.filter(pk=job.pk).update(cancelled_at=Now(), updated_at=Now())
    jobs_finish([job.pk])
    job.refresh_from_db()
    return job


def jobs_finish(job_ids: Sequence[uuid.UUID]) -> int:
    """End those of which no item waits or runs, and tell of each once. Returns how many."""
    still = BulkJobItem.objects.filter(job__in=job_ids, state__in=OPEN_ITEMS).values("job")
    over = BulkJob.objects.filter(pk__in=job_ids, finished_at__isnull=True).exclude(pk__in=still)
    with transaction.atomic():
        # Whoever lets items wait again holds this lock too, and of two who end a job one finds it ended.
        held = list(over.select_for_update().order_by("pk").values_list("pk", flat=True))
        ended = [pk for pk in held if over.filter(pk=pk).update(finished_at=Now(), updated_at=Now())]
        emit_bulk_job_ends(ended)
    return len(ended)


def bulk_jobs_prune() -> int:
    """Remove jobs that ended more than WORK_RETENTION_DAYS ago (0: none). Returns how many."""
    return rows_prune(BulkJob, by="finished_at", days=work_options().work_retention_days)
