"""From events to deliveries: one for each webhook that wants the event."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import DateTimeField, Value
from django.db.models.functions import Least, Now

from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.notifications.conf import notification_options
from controlplane.notifications.models import Delivery, Notification, Webhook
from controlplane.notifications.webhooks import is_wanted, webhook_queue_resume, webhooks_enabled

BATCH = 500


def events_fan_out() -> int:
    """Make the deliveries of events that were not offered yet; gives how many events. Safe in many processes at once.

    A webhook gets what happened since it was made, nothing older.
    """
    with transaction.atomic():
        rows = list(Notification.objects.filter(fanned_out_at__isnull=True).order_by("created_at")[:BATCH])
        if not rows:
            return 0
        _deliveries_make(rows, list(webhooks_enabled()))
        Notification.objects.filter(pk__in=[row.pk for row in rows]).update(fanned_out_at=Now())
    return len(rows)


@audited("notification.resend", Notification, by="notification_id")
def event_resend(*, notification_id: UUID) -> int:
    """Send an event again to every webhook that wants it now; gives to how many. Raises NotFound, Conflict."""
    row = Notification.objects.filter(pk=notification_id).first()
    if row is None:
        raise NotFound(_("There is no notification {notification_id}.", notification_id=notification_id))
    wanting = [each for each in webhooks_enabled() if is_wanted(row.event_type, each.events)]
    if not wanting:
        raise Conflict(_("No webhook wants {event_type}.", event_type=row.event_type))
    options = notification_options()
    with transaction.atomic():
        made = _deliveries_make([row], wanting, also_older=True)
        old = Delivery.objects.filter(notification=row, webhook__in=wanting).exclude(pk__in=[one.pk for one in made])
        for one in old:
            delivery_reopen(one, attempts=options.attempts, deadline_s=options.deadline_s)
    return len(wanting)


@audited("delivery.resend", Delivery, by="delivery_id")
def delivery_resend(*, delivery_id: UUID) -> None:
    """Send one event again to one webhook, with as many attempts as a new one has.

    Raises NotFound, and Conflict when somebody took it at this very moment.
    """
    options = notification_options()
    row = Delivery.objects.filter(pk=delivery_id).first()
    if row is None:
        raise NotFound(_("There is no delivery {delivery_id}.", delivery_id=delivery_id))
    if not delivery_reopen(row, attempts=options.attempts, deadline_s=options.deadline_s):
        raise Conflict(_("It is being sent at this very moment. Look again."))


def delivery_reopen(row: Delivery, *, attempts: int, deadline_s: float) -> bool:
    """Back to waiting; whoever has it now is fenced off, and may have sent it as well. False: it changed meanwhile.

    Somebody asked for it, so a queue that was stopped goes on at once.
    """
    changed = Delivery.objects.filter(pk=row.pk, attempt=row.attempt).update(
        state="waiting",
        attempt=row.attempt + 1,
        max_attempts=row.attempt + 1 + attempts,
        next_at=Now(),
        deadline_at=now_plus(deadline_s),
        lease_owner="",
        lease_until=None,
        finished_at=None,
        updated_at=Now(),
    )
    if changed:
        webhook_queue_resume(webhook_id=row.webhook_id)
    return bool(changed)


def _deliveries_make(
    rows: Sequence[Notification], webhooks: Sequence[Webhook], *, also_older: bool = False
) -> list[Delivery]:
    """Those that are not there yet; a second process that makes the same ones makes none."""
    options = notification_options()
    made = [
        Delivery(
            notification=row,
            webhook=webhook,
            max_attempts=options.attempts,
            # Of what is due, the oldest goes first: events are sent in the order in which they happened.
            next_at=Least(Now(), Value(row.happened_at, output_field=DateTimeField())),
            deadline_at=now_plus(options.deadline_s),
        )
        for row, webhook in _pairs(rows, webhooks, also_older)
    ]
    return Delivery.objects.bulk_create(made, ignore_conflicts=True)


def _pairs(
    rows: Sequence[Notification], webhooks: Sequence[Webhook], also_older: bool
) -> Iterator[tuple[Notification, Webhook]]:
    for row in rows:
        for webhook in webhooks:
            is_in_time = also_older or row.created_at >= webhook.created_at
            if is_in_time and is_wanted(row.event_type, webhook.events):
                yield row, webhook
