"""The reconciler: sends the wake-up again for what stands still, and ends what passed its deadline or ran out of
attempts.
"""

import logging
import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from controlplane.infra.database_errors import is_unforeseen
from controlplane.infra.db import db_now, later_sql, later_value, now_plus, now_sql
from controlplane.infra.request_id import request_id_scope
from controlplane.kernel.log_context import log_scope
from controlplane.kernel.texts import phrase as _
from controlplane.work.heals import OVERDUE_WORK, heal_record
from controlplane.work.jobs import KINDS, PERIODIC_TASKS, RECONCILE_LEASE, PeriodicTask, worker_name
from controlplane.work.models import Work, WorkState
from controlplane.work.models.work import OPEN_STATES
from controlplane.work.named_leases import lease_renew, leases_held
from controlplane.work.wakeups import wakeups_send
from controlplane.work.work import work_history

log = logging.getLogger(__name__)
RESEND_AFTER_S = 3.0
BATCH = 200
_OPEN = "state IN ('waiting', 'running')"  # as the index of open work says it
# The rules are those of `wakeups_resend` and `end_overdue`, which look again, and of the leases of the periodic tasks.
_ROUND_SQL = """
UPDATE work_namedlease SET owner = %s, until = {later} WHERE name = %s AND (owner = %s OR until < {now})
RETURNING EXISTS (SELECT 1 FROM work_work
                   WHERE {open} AND (state = 'waiting' OR lease_until < {now}) AND attempt < max_attempts
                     AND deadline_at > {now} AND (woken_at IS NULL OR woken_at < {later})),
          EXISTS (SELECT 1 FROM work_work
                   WHERE {open} AND (deadline_at <= {now} OR (attempt >= max_attempts
                     AND (state = 'waiting' OR lease_until < {now})))),
          {tasks}
"""
_HELD = "EXISTS (SELECT 1 FROM work_namedlease AS task WHERE task.name = %s AND task.until > {now})"


def reconcile_round(*, owner: str, seconds: float) -> None:
    """One turn of a process that reconciles while it holds the lease, for `seconds` from now, and only what is due.

    Most turns find nothing to do: they cost one statement, which renews the lease and looks at all of it.
    """
    due = round_due(owner, seconds)
    if due is None and lease_renew(name=RECONCILE_LEASE, owner=owner, seconds=seconds):
        due = Due(True, True, tuple(PERIODIC_TASKS.values()))
    if due is None:
        return
    if due.wakeup:
        wakeups_resend()
    if due.end:
        end_overdue()
    if due.tasks:
        periodic_tasks_run(due.tasks)


class Due(NamedTuple):
    """What a turn has to do. `tasks`: those that may have something to do."""

    wakeup: bool
    end: bool
    tasks: tuple[PeriodicTask, ...]


def round_due(owner: str, seconds: float) -> Due | None:
    """What is due, for whoever holds the lease from now on; None when that is somebody else, or nobody ever did.

    Instead of the plain rounds it saves 73 % of the CPU of a turn that finds nothing to do, and three statements of
    four (`python -m bench.fast_ways --only "round in one statement"`).
    """
    tasks = list(PERIODIC_TASKS.values())
    held = _HELD.format(now=now_sql())
    asked = ", ".join(f"(({task.asks or '1 = 1'}) AND NOT {held})" for task in tasks)
    text = _ROUND_SQL.strip().format(now=now_sql(), later=later_sql(), open=_OPEN, tasks=asked or "NULL")
    names = [task.lease for task in tasks]
    with connection.cursor() as cursor:
        cursor.execute(
            text, [owner, later_value(seconds), RECONCILE_LEASE, owner, later_value(-RESEND_AFTER_S), *names]
        )
        row = cursor.fetchone()
    if row is None:
        return None
    due = tuple(task for task, is_due in zip(tasks, row[2:], strict=False) if is_due)
    return Due(bool(row[0]), bool(row[1]), due)


def reconcile_once() -> tuple[int, int]:
    """One round: (woken again, ended). Safe to run in many processes at once."""
    return wakeups_resend(), end_overdue()


def periodic_tasks_run(tasks: Sequence[PeriodicTask] | None = None) -> list[str]:
    """Run those of the clean-ups (all, where none are named) that are due. Returns their names.

    A failing one is logged and does not stop the others.
    """
    tasks = list(PERIODIC_TASKS.values()) if tasks is None else tasks
    ran = []
    # Asked for all at once: nearly every round finds nearly every periodic task done, and each try to take a lease
    # writes.
    held = leases_held(task.lease for task in tasks)
    due = [task for task in tasks if task.lease not in held]
    for task in due:
        if lease_renew(name=task.lease, owner=f"{worker_name()} {uuid.uuid4()}", seconds=task.every_s):
            ran.append(task.name)
            try:
                task.run()
            except Exception as error:
                is_traced = is_unforeseen(error)
                log.error("%s failed; it runs again in %s s: %s", task.name, task.every_s, error, exc_info=is_traced)
    return ran


def wakeups_resend() -> int:
    """Wake open work that nobody holds and whose last ring is older than RESEND_AFTER_S."""
    free = Q(state=WorkState.WAITING) | Q(state=WorkState.RUNNING, lease_until__lt=Now())
    quiet = Q(woken_at__isnull=True) | Q(woken_at__lt=now_plus(-RESEND_AFTER_S))
    rows = Work.objects.filter(free, quiet, attempt__lt=F("max_attempts"), deadline_at__gt=Now())
    still = list(rows.order_by("woken_at").values_list("id", "queue", "kind")[:BATCH])
    if still:
        with transaction.atomic():
            Work.objects.filter(pk__in=[pk for pk, _, _ in still]).update(woken_at=Now())
            wakeups_send((queue, kind, str(pk)) for pk, queue, kind in still)
    return len(still)


def end_overdue() -> int:
    """End as failed what passed its deadline, and what nobody may take any more.

    What could not be ended goes behind the others, so that it keeps nobody else's turn.
    """
    spent = Q(attempt__gte=F("max_attempts")) & (
        Q(state=WorkState.WAITING) | Q(state=WorkState.RUNNING, lease_until__lt=Now())
    )
    rows = Work.objects.filter(Q(deadline_at__lte=Now()) | spent, state__in=OPEN_STATES)
    return sum(_end(work) for work in rows.order_by("updated_at", "deadline_at")[:BATCH])


def _end(work: Work) -> bool:
    """Fail one row together with its consequence; a bad one is logged and does not stop the others."""
    with request_id_scope(work.request_id), log_scope(work_id=work.pk, subject=work.subject):
        try:
            with transaction.atomic():
                return _end_in_transaction(work)
        except Exception:
            log.exception("could not end %s", work)
            Work.objects.filter(pk=work.pk, attempt=work.attempt, state=work.state).update(updated_at=Now())
            return False


def _end_in_transaction(work: Work) -> bool:
    reason, history = _reason(work), work_history(work)
    words = f"{reason}; {history}" if history else reason
    won = Work.objects.filter(pk=work.pk, attempt=work.attempt, state=work.state).update(
        state=WorkState.FAILED,
        attempt=F("attempt") + 1,  # fences off whoever still runs it
        finished_at=Now(),
        lease_until=None,
        outcome={"error": words},
    )
    if won and work.kind in KINDS:
        KINDS[work.kind].overdue(work, reason)
    if won:
        heal_record(
            kind=OVERDUE_WORK,
            subject=work.subject,
            found=words,
            done=_("The work was ended as failed, with its consequence."),
            evidence=_evidence(work),
        )
    return bool(won)


def _evidence(work: Work) -> dict[str, Any]:
    now = db_now()
    return {
        "work": str(work.pk),
        "kind": work.kind,
        "queue": work.queue,
        "state": work.state,
        "step": work.step,
        "attempt": work.attempt,
        "max_attempts": work.max_attempts,
        "lease_owner": work.lease_owner,
        "age_s": round((now - work.created_at).total_seconds(), 1),
        "past_deadline_s": round((now - work.deadline_at).total_seconds(), 1),
        "last_error": str(work.outcome.get("error", ""))[:500],
    }


def _reason(work: Work) -> str:
    """For owners of the subject too, so it names no machine: `work_history` does."""
    step = _(" in step {step}", step=work.step) if work.step else ""
    if work.attempt >= work.max_attempts:
        return _("{kind} gave up after {attempt} attempts{step}", kind=work.kind, attempt=work.attempt, step=step)
    return _("{kind} passed its deadline{step}", kind=work.kind, step=step)
