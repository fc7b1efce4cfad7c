"""Webhooks with what became of their deliveries, for pages. Admins only, which the doors see to."""

from uuid import UUID

from django.db.models import Count, Exists, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, Now

from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.notifications.models import OPEN_DELIVERIES, Delivery, DeliveryAttempt, DeliveryState, Webhook


def webhooks_listed() -> QuerySet[Webhook]:
    """All of them by name, each with `open_count` and `failed_count` of its deliveries, `is_held` (nothing is sent
    now, as the receiver failed), and the last answer: `last_status`, `last_error`, `last_at`. One query.
    """
    # By the key, so that the newest is found from its end: attempts are many.
    latest = DeliveryAttempt.objects.filter(delivery__webhook=OuterRef("pk")).order_by("-pk")
    return Webhook.objects.annotate(
        open_count=_count(state__in=OPEN_DELIVERIES),
        failed_count=_count(state=DeliveryState.FAILED),
        is_held=Exists(Webhook.objects.filter(pk=OuterRef("pk"), retry_at__gt=Now())),
        last_status=Subquery(latest.values("status")[:1]),
        last_error=Subquery(latest.values("error")[:1]),
        last_at=Subquery(latest.values("created_at")[:1]),
    )


def webhook_shown(*, webhook_id: UUID) -> Webhook:
    """One of them, with the same. Raises NotFound."""
    row = webhooks_listed().filter(pk=webhook_id).first()
    if row is None:
        raise NotFound(_("There is no webhook {webhook_id}.", webhook_id=webhook_id))
    return row


def deliveries_listed(*, webhook_id: UUID, state: str = "") -> QuerySet[Delivery]:
    """What went to it, the newest first, each with its event and what the last attempt brought: `last_status`,
    `last_answer`, `last_at`. A state that there is not finds none. One query.
    """
    latest = DeliveryAttempt.objects.filter(delivery=OuterRef("pk")).order_by("-number", "-pk")
    rows = Delivery.objects.filter(webhook_id=webhook_id).select_related("notification").order_by("-created_at", "pk")
    shown = rows.annotate(
        last_status=Subquery(latest.values("status")[:1]),
        last_answer=Subquery(latest.values("answer")[:1]),
        last_at=Subquery(latest.values("created_at")[:1]),
    )
    return shown.filter(state=state) if state else shown


def delivery_shown(*, delivery_id: UUID) -> Delivery:
    """One with its event, its webhook and its attempts. Raises NotFound."""
    rows = Delivery.objects.select_related("notification", "webhook").prefetch_related("attempts")
    row = rows.filter(pk=delivery_id).first()
    if row is None:
        raise NotFound(_("There is no delivery {delivery_id}.", delivery_id=delivery_id))
    return row


def deliveries_counted(*, webhook_id: UUID) -> dict[str, int]:
    """How many of its deliveries are in each state. One query."""
    rows = Delivery.objects.filter(webhook_id=webhook_id).order_by().values("state").annotate(many=Count("pk"))
    found = {row["state"]: row["many"] for row in rows}
    return {state.value: found.get(state.value, 0) for state in DeliveryState}


def _count(**lookup: object) -> Coalesce:
    rows = Delivery.objects.filter(Q(**lookup), webhook=OuterRef("pk")).order_by().values("webhook")
    return Coalesce(Subquery(rows.annotate(many=Count("pk")).values("many"), output_field=IntegerField()), 0)
