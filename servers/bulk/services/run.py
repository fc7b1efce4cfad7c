"""Doing a bulk job: item after item, each in one transaction with what it does; then following them to their end."""

import logging
import time
from collections import defaultdict
from collections.abc import Sequence

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from controlplane.audit_log.recording.actor_scope import BULK, Actor, ActorScope, actor_scope
from controlplane.audit_log.recording.record import refusals_write
from controlplane.identity.policy import require
from controlplane.identity.selectors import caller_for_user
from controlplane.identity.selectors.people import user_get
from controlplane.infra.db import in_transaction, pages_by_key
from controlplane.kernel.errors import Fenced, KilonovaError
from controlplane.kernel.texts import phrase as _
from controlplane.work.conf import work_options
from controlplane.work.models import Work
from controlplane.work.work import WorkLease, work_fence, work_finish
from servers.bulk.domain import BulkItemState, BulkKind
from servers.bulk.services.jobs import bulk_action_of, jobs_finish, work_begin
from servers.bulk.things.table import THINGS
from servers.models import BulkJob, BulkJobItem

log = logging.getLogger(__name__)
MAX_ITEMS_AT_ONCE = 50
"""Then the job goes to the end of the queue: a thousand deletions keep no build waiting."""
REASON_MAX = 1000
RUNNING_PAGE = 500
BULK_JOBS_OPEN = "EXISTS (SELECT 1 FROM servers_bulkjob WHERE finished_at IS NULL)"
NOT_OURS = _("It failed here; the log has more under the request id.")


def bulk_act(work: Work, lease: WorkLease) -> None:
    """Kind `bulk_act`, subject a job. Killed anywhere, the next attempt goes on with the first item that waits: an item
    and what it does are committed together.
    """
    job = BulkJob.objects.filter(pk=work.subject).first()
    if job is None:
        work_finish(lease=lease, outcome={"note": "the job is gone"})
        return
    until, done = time.monotonic() + work_options().lease_s / 3, 0
    while done < MAX_ITEMS_AT_ONCE and time.monotonic() < until:
        if not _item_do(job, lease):
            break
        done += 1
    with transaction.atomic():
        # Whoever lets items wait again holds this lock too: either sees what the other did.
        BulkJob.objects.select_for_update().filter(pk=job.pk).first()
        work_finish(lease=lease, outcome={"items": done})
        if BulkJobItem.objects.filter(job=job, state=BulkItemState.WAITING).exists():
            work_begin(job)
    jobs_finish([job.pk])


def _item_do(job: BulkJob, lease: WorkLease) -> bool:
    """Do the next item that waits; False where none does. Raises Fenced."""
    scope = ActorScope(BULK, job.address, Actor(job.user_name, job.user_id, job.project_id))

    def work() -> bool:
        scope.refusals.clear()
        work_fence(lease=lease, step="act")
        item = BulkJobItem.objects.select_for_update().filter(job=job, state=BulkItemState.WAITING).first()
        if item is None:
            return False
        state, reason, action_id = _outcome(job, item)
        is_over = state is not BulkItemState.RUNNING
        BulkJobItem.objects.filter(pk=item.pk).update(
            state=state.value,
            reason=reason[:REASON_MAX],
            tries=item.tries + 1,
            action_id=action_id,
            finished_at=Now() if is_over else None,
        )
        return True

    with actor_scope(scope):
        found = in_transaction(work)
        refusals_write()
    return found


def _outcome(job: BulkJob, item: BulkJobItem) -> tuple[BulkItemState, str, int | None]:
    """Ask for it in the name of who asked for the job, with the roles that he has now: state, reason, action."""
    kind = BulkKind(job.kind)
    try:
        with transaction.atomic():
            caller = caller_for_user(user=user_get(user_id=job.user_id), project_id=job.project_id)
            require(caller, bulk_action_of(job.action, kind).policy)
            followed = THINGS[kind].ask(job, item, caller)
    except (Fenced, OperationalError, InterfaceError):
        raise
    except KilonovaError as error:
        return BulkItemState.FAILED, error.message, item.action_id
    except Exception:
        # One item whose thing brings out a mistake of ours must not keep the others from their turn.
        log.exception("bulk job %s: %s of %s %s failed", job.pk, job.action, job.kind, item.subject)
        return BulkItemState.FAILED, NOT_OURS, item.action_id
    item.job, item.action_id = job, followed
    return (*THINGS[kind].ends([item])[item.pk], followed)


def bulk_act_overdue(work: Work, reason: str) -> None:
    """Nobody does it any more: what waits ends as failed, and may be tried again."""
    waiting = BulkJobItem.objects.filter(job=work.subject, state=BulkItemState.WAITING)
    waiting.update(state=BulkItemState.FAILED, reason=f"It was not begun: {reason}."[:REASON_MAX], finished_at=Now())
    jobs_finish([work.subject])


def bulk_items_follow() -> int:
    """Write down of running items that have ended how they ended, and end jobs. Returns how many items."""
    ended = 0
    for page in pages_by_key(_running(), RUNNING_PAGE):
        ended += _page_follow(page)
    jobs_finish(list(BulkJob.objects.filter(finished_at__isnull=True).values_list("pk", flat=True)))
    return ended


def _running() -> "QuerySet[BulkJobItem]":
    return BulkJobItem.objects.filter(state=BulkItemState.RUNNING).select_related("job")


def _page_follow(items: Sequence[BulkJobItem]) -> int:
    """Of each kind in as many queries, however many items."""
    by_kind: dict[BulkKind, list[BulkJobItem]] = defaultdict(list)
    for item in items:
        by_kind[BulkKind(item.job.kind)].append(item)
    ended = 0
    for kind, its in by_kind.items():
        for key, (state, reason) in THINGS[kind].ends(its).items():
            if state is not BulkItemState.RUNNING:
                rows = BulkJobItem.objects.filter(pk=key, state=BulkItemState.RUNNING)
                ended += rows.update(state=state.value, reason=reason[:REASON_MAX], finished_at=Now())
    return ended
