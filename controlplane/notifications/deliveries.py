"""Deliveries as work: taken for a while, fenced by the attempt's number, tried again later and later, given up.

A webhook's deliveries are a queue, so that a receiver gets events in the order in which they happened. One delivery of
a webhook is under way at a time, whoever sends it. A failure that says something about the receiver (it is away, busy,
or the URL is wrong) stops the whole queue until the first event is tried again; a receiver that refuses one event for
what is in it (EVENT_REFUSED) gets the others meanwhile.

They are no rows of `Work`, which knows neither a time before which nothing is tried, nor an order, and whose end by
deadline is a repair that is recorded; a delivery that is given up is an everyday event with a log of its attempts.
"""

from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, Q, QuerySet
from django.db.models.functions import Now

from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Fenced
from controlplane.kernel.texts import phrase as _
from controlplane.notifications.conf import notification_options
from controlplane.notifications.http_client import WebhookResponse
from controlplane.notifications.models import OPEN_DELIVERIES, Delivery, DeliveryAttempt, DeliveryState, Webhook

FIRST_WAIT_S, MAX_WAIT_S = 5.0, 3600.0
EVENT_REFUSED = frozenset({400, 409, 413, 415, 422})
"""Statuses that say something about one event, and nothing about the next."""


@dataclass(frozen=True, slots=True)
class TakenDelivery:
    """The right to send one event to one webhook; `attempt` is the fencing token."""

    row: Delivery
    attempt: int


def webhooks_due() -> list[UUID]:
    """Enabled webhooks with something to be sent now."""
    rows = _due().filter(_is_open_for_events(), webhook__enabled=True).order_by()
    return list(rows.values_list("webhook_id", flat=True).distinct())


def delivery_take(*, webhook_id: UUID, owner: str) -> TakenDelivery | None:
    """The first of this webhook's queue, ours for long enough to be sent. None when there is none, or it went."""
    of_webhook = Delivery.objects.filter(webhook_id=webhook_id)
    under_way = of_webhook.filter(state=DeliveryState.RUNNING, lease_until__gte=Now())
    rows = _due().filter(~Exists(under_way), webhook_id=webhook_id)
    before = (
        rows.filter(_is_open_for_events())
        .order_by("next_at", "created_at")
        .select_related("notification", "webhook")
        .first()
    )
    if before is None:
        return None
    # The attempt read is in the WHERE: of two takers one wins. Both read the same first one, so no two are under way.
    won = rows.filter(pk=before.pk, attempt=before.attempt).update(
        state=DeliveryState.RUNNING,
        attempt=before.attempt + 1,
        lease_owner=owner,
        lease_until=now_plus(3 * notification_options().timeout_s + 10.0),
        updated_at=Now(),
    )
    return TakenDelivery(before, before.attempt + 1) if won else None


def delivery_finish(*, taken: TakenDelivery, answer: WebhookResponse) -> bool:
    """Write down what an attempt brought; gives whether it was delivered. Raises Fenced if it was taken from us."""
    is_last = taken.attempt >= taken.row.max_attempts
    with transaction.atomic():
        changed = _mine(taken).update(
            **_outcome(taken, answer, is_last=is_last), lease_until=None, lease_owner="", updated_at=Now()
        )
        if changed and not answer.is_accepted and answer.status not in EVENT_REFUSED:
            Webhook.objects.filter(pk=taken.row.webhook_id).update(retry_at=now_plus(_wait_s(taken)))
        DeliveryAttempt.objects.create(
            delivery_id=taken.row.pk,
            number=taken.attempt,
            duration_ms=answer.duration_ms,
            status=answer.status,
            error=answer.problem,
            answer=answer.body_start,
        )
    if not changed:
        raise Fenced(
            _("attempt {attempt} of delivery {pk} is no longer the owner", attempt=taken.attempt, pk=taken.row.pk)
        )
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


def retry_wait_s(attempt: int) -> float:
    """Seconds from a failed attempt to the next: 5, 10, 20 ... an hour."""
    return min(MAX_WAIT_S, FIRST_WAIT_S * 2.0 ** min(attempt - 1, 20))


def _outcome(taken: TakenDelivery, answer: WebhookResponse, *, is_last: bool) -> dict[str, object]:
    if answer.is_accepted:
        return {"state": DeliveryState.DONE, "finished_at": Now(), "error": ""}
    if is_last:
        return {"state": DeliveryState.FAILED, "finished_at": Now(), "error": answer.problem}
    waiting = {"state": DeliveryState.WAITING, "error": answer.problem}
    # Its place stays where the queue is stopped for it; where the others go on, it goes behind them.
    return waiting | ({"next_at": now_plus(_wait_s(taken))} if answer.status in EVENT_REFUSED else {})


def _wait_s(taken: TakenDelivery) -> float:
    tried = taken.attempt - (taken.row.max_attempts - notification_options().attempts)
    return retry_wait_s(max(1, tried))


def _due() -> QuerySet[Delivery]:
    free = Q(state=DeliveryState.WAITING, next_at__lte=Now()) | Q(state=DeliveryState.RUNNING, lease_until__lt=Now())
    return Delivery.objects.filter(free, deadline_at__gt=Now(), attempt__lt=F("max_attempts"))


def _is_open_for_events() -> Q:
    return Q(webhook__retry_at__isnull=True) | Q(webhook__retry_at__lte=Now())


def _mine(taken: TakenDelivery) -> QuerySet[Delivery]:
    return Delivery.objects.filter(
        pk=taken.row.pk, attempt=taken.attempt, state=DeliveryState.RUNNING, lease_until__gt=Now()
    )
