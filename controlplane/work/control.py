"""What an operator sees of work and may do with it: wake again at once, or cancel with all that follows."""

import logging
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import db_now
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.work.filtersets import lapsed, overdue
from controlplane.work.jobs import KINDS
from controlplane.work.models import Work, WorkState
from controlplane.work.models.work import OPEN_STATES
from controlplane.work.wakeups import wakeups_send
from controlplane.work.work import compute_queue, work_history

log = logging.getLogger(__name__)
RETRY, CANCEL = "retry", "cancel"
CHANGED = _("It changed at this very moment. Look again.")


@dataclass(frozen=True, slots=True)
class Operator:
    """Who asks; doors have checked that they may."""

    user_id: uuid.UUID
    name: str


@dataclass(frozen=True, slots=True)
class WorkStatus:
    """How a piece of work stands at one moment. `no_retry` and `no_cancel` say why not; empty where it is possible."""

    is_overdue: bool
    is_lapsed: bool
    no_retry: str
    no_cancel: str

    @property
    def actions(self) -> list[str]:
        """What is possible now."""
        return [name for name, refused in ((RETRY, self.no_retry), (CANCEL, self.no_cancel)) if not refused]


@dataclass(frozen=True, slots=True)
class WorkCounts:
    """How many open pieces of work there are. One that is overdue or retried also waits or runs."""

    waiting: int
    running: int
    retried: int
    lapsed: int
    overdue: int


def works() -> QuerySet[Work]:
    """All of it, the newest first."""
    return Work.objects.order_by("-created_at", "id")


def host_of(work: Work) -> str:
    """Whose agent does it; empty for what conductors do."""
    prefix = compute_queue("")
    return work.queue.removeprefix(prefix) if work.queue.startswith(prefix) else ""


def work_get(*, work_id: uuid.UUID) -> Work:
    """One piece. Raises NotFound."""
    work = Work.objects.filter(pk=work_id).first()
    if work is None:
        raise NotFound(_("There is no work {work_id}.", work_id=work_id))
    return work


def work_counts() -> WorkCounts:
    """Of open rows, which are few among many. One query."""
    found = Work.objects.filter(state__in=OPEN_STATES).aggregate(
        waiting=Count("id", filter=Q(state=WorkState.WAITING)),
        running=Count("id", filter=Q(state=WorkState.RUNNING)),
        retried=Count("id", filter=Q(attempt__gt=1)),
        lapsed=Count("id", filter=lapsed()),
        overdue=Count("id", filter=overdue()),
    )
    return WorkCounts(**found)


def work_statuses(works: Iterable[Work]) -> dict[uuid.UUID, WorkStatus]:
    """Of each, by the database's clock. One query."""
    now = db_now()
    return {work.pk: work_status(work, now) for work in works}


def work_status(work: Work, now: datetime) -> WorkStatus:
    """How it stands at `now`, a time of the database's clock."""
    is_open = work.state in OPEN_STATES
    is_lapsed = work.state == WorkState.RUNNING and work.lease_until is not None and work.lease_until < now
    is_overdue = is_open and work.deadline_at <= now
    return WorkStatus(
        is_overdue=is_overdue,
        is_lapsed=is_lapsed,
        no_retry=_no_retry(work, is_free=is_lapsed or work.state == WorkState.WAITING, is_overdue=is_overdue),
        no_cancel=_no_cancel(work),
    )


def _no_retry(work: Work, *, is_free: bool, is_overdue: bool) -> str:
    """The rule of whoever takes work: a wake-up for what nobody may take would promise something that cannot come."""
    if work.state not in OPEN_STATES:
        return _(
            "It is {state}, and what follows from that is done. Begin anew where it was asked for.", state=work.state
        )
    if is_overdue:
        return _("It passed its deadline, so nobody may take it any more; it is about to be ended as failed.")
    if not is_free:
        return _(
            "{lease_owner} is at attempt {attempt}, and its lease is valid. Cancel it, or wait.",
            lease_owner=work.lease_owner,
            attempt=work.attempt,
        )
    if work.attempt >= work.max_attempts:
        return _(
            "All {max_attempts} attempts are used up; it is about to be ended as failed.",
            max_attempts=work.max_attempts,
        )
    return ""


def _no_cancel(work: Work) -> str:
    if work.state not in OPEN_STATES:
        return _("It is {state} already.", state=work.state)
    if work.kind not in KINDS:
        return _("Nothing here knows what has to follow when work of the kind {kind} ends.", kind=work.kind)
    return ""


@audited("work.retry", Work, by="work_id")
def work_retry(*, work_id: uuid.UUID, operator: Operator) -> Work:
    """Wake it at once, when it waits or its owner's lease ran out. Nothing else changes.

    Raises NotFound, or Conflict with the reason: what has ended is never begun again, because its consequence
    (an instance in ERROR, a claim given back) is written already.
    """
    with transaction.atomic():
        work = work_get(work_id=work_id)
        if refused := work_status(work, db_now()).no_retry:
            raise Conflict(refused)
        free = Q(state=WorkState.WAITING) | lapsed()
        rows = Work.objects.filter(free, pk=work.pk, attempt=work.attempt, deadline_at__gt=Now())
        if not rows.filter(attempt__lt=F("max_attempts")).update(woken_at=Now(), updated_at=Now()):
            raise Conflict(CHANGED)
        wakeups_send([(work.queue, work.kind, str(work.pk))])
        _write_down(
            work,
            operator,
            _("Woken again by {operator}, after attempt {attempt}.", operator=operator.name, attempt=work.attempt),
        )
    return work_get(work_id=work_id)


@audited("work.cancel", Work, by="work_id")
def work_cancel_one(*, work_id: uuid.UUID, operator: Operator) -> Work:
    """End it as cancelled, with the consequence that passing its deadline would have, in one transaction.

    Whoever runs it is fenced off: its next write finds another attempt. Raises NotFound, or Conflict when it has ended.
    """
    with transaction.atomic():
        work = work_get(work_id=work_id)
        if refused := work_status(work, db_now()).no_cancel:
            raise Conflict(refused)
        reason, history = _reason(work, operator), work_history(work)
        words = f"{reason}; {history}" if history else reason
        won = Work.objects.filter(pk=work.pk, attempt=work.attempt, state=work.state).update(
            state=WorkState.CANCELLED,
            attempt=F("attempt") + 1,
            finished_at=Now(),
            lease_until=None,
            outcome={"error": words},
            updated_at=Now(),
        )
        if not won:
            raise Conflict(CHANGED)
        KINDS[work.kind].overdue(work, reason)
        _write_down(work, operator, f"{words}.")
    return work_get(work_id=work_id)


def queue_end(*, queue: str, reason: str, but: Collection[str] = ()) -> list[Work]:
    """End all open work of a queue that nobody serves any more, in the caller's transaction: as cancelled, with the
    consequence that passing its deadline would have. Of kinds in `but` the caller writes the consequence.
    """
    rows = Work.objects.select_for_update().filter(queue=queue, state__in=OPEN_STATES)
    ended = list(rows.order_by("pk"))
    for work in ended:
        Work.objects.filter(pk=work.pk).update(
            state=WorkState.CANCELLED,
            attempt=F("attempt") + 1,
            finished_at=Now(),
            lease_until=None,
            outcome={"error": reason},
            updated_at=Now(),
        )
        if work.kind in KINDS and work.kind not in but:
            KINDS[work.kind].overdue(work, reason)
    return ended


def untaken_end(*, queue: str, kind: str, reason: str) -> list[Work]:
    """End the work of this kind that nobody ever took, in the caller's transaction, which writes the consequence: there
    is nothing to undo. Who takes a piece at this moment either has it before, or finds it ended.
    """
    rows = Work.objects.select_for_update().filter(queue=queue, kind=kind, state=WorkState.WAITING, attempt=0)
    ended = list(rows.order_by("pk"))
    Work.objects.filter(pk__in=[work.pk for work in ended]).update(
        state=WorkState.CANCELLED,
        attempt=F("attempt") + 1,
        finished_at=Now(),
        outcome={"error": reason},
        updated_at=Now(),
    )
    return ended


def hosts_with_untaken(*, kind: str) -> set[str]:
    """The hosts for which work of this kind waits that nobody ever took."""
    rows = Work.objects.filter(kind=kind, state=WorkState.WAITING, attempt=0, queue__startswith=compute_queue(""))
    return {host_of(work) for work in rows.only("queue")}


def _reason(work: Work, operator: Operator) -> str:
    """For owners of the subject too, so it names no machine: `work_history` does."""
    step = _(" in step {step}", step=work.step) if work.step else ""
    return _("{kind} was cancelled by {operator}{step}", kind=work.kind, operator=operator.name, step=step)


def _write_down(work: Work, operator: Operator, text: str) -> None:
    """In the admin's history of the row and, with both request ids, in the log."""
    LogEntry.objects.create(
        user_id=operator.user_id,
        content_type=ContentType.objects.get_for_model(Work),
        object_id=str(work.pk),
        object_repr=str(work)[:200],
        action_flag=CHANGE,
        change_message=text,
    )
    log.warning("work %s of request %s: %s", work, work.request_id or "-", text)
