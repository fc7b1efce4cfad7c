"""Deliveries as work: taken for a while, fenced by the attempt's number, tried again later and later, given up."""

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Fenced
from controlplane.notifications.conf import notification_options
from controlplane.notifications.http_client import Answer
from controlplane.notifications.models import OPEN_DELIVERIES, Delivery, DeliveryAttempt, DeliveryState

FIRST_WAIT_S, MOST_WAIT_S = 5.0, 3600.0


@dataclass(frozen=True, slots=True)
class TakenDelivery:
    """The right to send one event to one webhook; `attempt` is the fencing token."""

    row: Delivery
    attempt: int


def webhooks_due() -> list[UUID]:
    """Enabled webhooks with something to be sent now."""
    rows = _due().filter(webhook__enabled=True).order_by()
    return list(rows.values_list("webhook_id", flat=True).distinct())


def delivery_take(*, webhook_id: UUID, owner: str) -> TakenDelivery | None:
    """The oldest that is due to this webhook, ours for long enough to be sent. None when there is none, or it went."""
    rows = _due().filter(webhook_id=webhook_id)
    before = rows.order_by("next_at").select_related("notification", "webhook").first()
    if before is None:
        return None
    # The attempt read is in the WHERE: of two takers one wins.
    won = rows.filter(pk=before.pk, attempt=before.attempt).update(
        state=DeliveryState.RUNNING,
        attempt=before.attempt + 1,
        lease_owner=owner,
        lease_until=now_plus(3 * notification_options().timeout_s + 10.0),
        updated_at=Now(),
    )
    return TakenDelivery(before, before.attempt + 1) if won else None


def delivery_finish(*, taken: TakenDelivery, answer: Answer) -> bool:
    """Write down what an attempt brought; gives whether it was delivered. Raises Fenced if it was taken from us."""
    is_last = taken.attempt >= taken.row.max_attempts
    with transaction.atomic():
        changed = _mine(taken).update(
            **_outcome(taken, answer, is_last=is_last), lease_until=None, lease_owner="", updated_at=Now()
        )
        DeliveryAttempt.objects.create(
            delivery_id=taken.row.pk,
            number=taken.attempt,
            duration_ms=answer.duration_ms,
            status=answer.status,
            error=answer.problem,
            answer=answer.beginning,
        )
    if not changed:
        raise Fenced(f"attempt {taken.attempt} of delivery {taken.row.pk} is no longer the owner")
    return answer.is_accepted


def deliveries_expire() -> int:
    """Give up what passed its deadline, or whose sender died in the last attempt; gives how many."""
    spent = Q(attempt__gte=F("max_attempts")) & (
        Q(state=DeliveryState.WAITING) | Q(state=DeliveryState.RUNNING, lease_until__lt=Now())
    )
    rows = Delivery.objects.filter(Q(deadline_at__lte=Now()) | spent, state__in=OPEN_DELIVERIES)
    return rows.update(
        state=DeliveryState.FAILED,
        attempt=F("attempt") + 1,  # fences off whoever still has it
        finished_at=Now(),
        lease_until=None,
        updated_at=Now(),
    )


def wait_s(attempt: int) -> float:
    """Seconds from a failed attempt to the next: 5, 10, 20 ... an hour."""
    return min(MOST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(attempt - 1, 20))


def _outcome(taken: TakenDelivery, answer: Answer, *, is_last: bool) -> dict[str, object]:
    if answer.is_accepted:
        return {"state": DeliveryState.DONE, "finished_at": Now(), "error": ""}
    if is_last:
        return {"state": DeliveryState.FAILED, "finished_at": Now(), "error": answer.problem}
    tried = taken.attempt - (taken.row.max_attempts - notification_options().attempts)
    next_at = now_plus(wait_s(max(1, tried)))
    return {"state": DeliveryState.WAITING, "next_at": next_at, "error": answer.problem}


def _due() -> QuerySet[Delivery]:
    free = Q(state=DeliveryState.WAITING, next_at__lte=Now()) | Q(state=DeliveryState.RUNNING, lease_until__lt=Now())
    return Delivery.objects.filter(free, deadline_at__gt=Now(), attempt__lt=F("max_attempts"))


def _mine(taken: TakenDelivery) -> QuerySet[Delivery]:
    return Delivery.objects.filter(
        pk=taken.row.pk, attempt=taken.attempt, state=DeliveryState.RUNNING, lease_until__gt=Now()
    )
