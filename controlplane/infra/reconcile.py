"""The reconciler: rings again for what stands still, and ends what passed its deadline or ran out of attempts."""

import logging
import uuid
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from controlplane.infra.db import db_now, now_plus
from controlplane.infra.doorbells import doorbells_ring
from controlplane.infra.heals import OVERDUE_WORK, heal_record
from controlplane.infra.jobs import CHORES, KINDS, Chore, worker_name
from controlplane.infra.models import Work, WorkState
from controlplane.infra.models.work import OPEN_STATES
from controlplane.infra.request_id import request_id_scope
from controlplane.infra.solo import lease_renew, leases_held
from controlplane.kernel.log_context import log_scope

log = logging.getLogger(__name__)
RING_AGAIN_S = 3.0
BATCH = 200


def reconcile_once() -> tuple[int, int]:
    """One round: (rung again, ended). Safe to run in many processes at once."""
    return ring_again(), end_overdue()


def chores_run() -> list[str]:
    """Run the clean-ups that are due; a failing one is logged and does not stop the others. Returns their names."""
    ran = []
    # Asked for all at once: nearly every round finds nearly every chore done, and each try to take a lease writes.
    held = leases_held(_lease_name(chore) for chore in CHORES.values())
    due = [chore for chore in CHORES.values() if _lease_name(chore) not in held]
    for chore in due:
        if lease_renew(name=_lease_name(chore), owner=f"{worker_name()} {uuid.uuid4()}", seconds=chore.every_s):
            ran.append(chore.name)
            try:
                chore.run()
            except Exception:
                log.exception("%s failed; it runs again in %s s", chore.name, chore.every_s)
    return ran


def _lease_name(chore: Chore) -> str:
    return f"chore-{chore.name}"


def ring_again() -> int:
    """Ring for open work that nobody holds and whose last ring is older than RING_AGAIN_S."""
    free = Q(state=WorkState.WAITING) | Q(state=WorkState.RUNNING, lease_until__lt=Now())
    quiet = Q(rung_at__isnull=True) | Q(rung_at__lt=now_plus(-RING_AGAIN_S))
    rows = Work.objects.filter(free, quiet, attempt__lt=F("max_attempts"), deadline_at__gt=Now())
    still = list(rows.order_by("rung_at").values_list("id", "queue", "kind")[:BATCH])
    if still:
        with transaction.atomic():
            Work.objects.filter(pk__in=[pk for pk, _, _ in still]).update(rung_at=Now())
            doorbells_ring((queue, kind, str(pk)) for pk, queue, kind in still)
    return len(still)


def end_overdue() -> int:
    """End as failed what passed its deadline, and what nobody may take any more."""
    spent = Q(attempt__gte=F("max_attempts")) & (
        Q(state=WorkState.WAITING) | Q(state=WorkState.RUNNING, lease_until__lt=Now())
    )
    rows = Work.objects.filter(Q(deadline_at__lte=Now()) | spent, state__in=OPEN_STATES)
    return sum(_end(work) for work in rows.order_by("deadline_at")[:BATCH])


def _end(work: Work) -> bool:
    """Fail one row together with its consequence; a bad one is logged and does not stop the others."""
    with request_id_scope(work.request_id), log_scope(work_id=work.pk, subject=work.subject):
        try:
            with transaction.atomic():
                return _end_in_transaction(work)
        except Exception:
            log.exception("could not end %s", work)
            return False


def _end_in_transaction(work: Work) -> bool:
    reason = _reason(work)
    won = Work.objects.filter(pk=work.pk, attempt=work.attempt, state=work.state).update(
        state=WorkState.FAILED,
        attempt=F("attempt") + 1,  # fences off whoever still runs it
        finished_at=Now(),
        lease_until=None,
        outcome={"error": reason},
    )
    if won and work.kind in KINDS:
        KINDS[work.kind].overdue(work, reason)
    if won:
        heal_record(
            kind=OVERDUE_WORK,
            subject=work.subject,
            found=reason,
            done="The work was ended as failed, with its consequence.",
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
    step = f" in step {work.step}" if work.step else ""
    last = work.outcome.get("error", "")
    if work.attempt >= work.max_attempts:
        return f"{work.kind} gave up after {work.attempt} attempts{step}" + (f": {last}" if last else "")
    return f"{work.kind} passed its deadline{step}; last held by {work.lease_owner or 'nobody'}"
