"""Trying a webhook: one event to it alone, so that whoever sets it up sees what arrives and what it answers."""

from datetime import UTC, datetime
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import now_plus
from controlplane.infra.request_id import current_request_id
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from controlplane.notifications.conf import notification_options
from controlplane.notifications.models import Delivery, Notification, Webhook
from controlplane.notifications.serializer import publisher
from controlplane.notifications.webhooks import webhook_get, webhook_queue_resume

TRIAL = "webhook.test"
FIRST_OF_ALL = datetime(2000, 1, 1, tzinfo=UTC)
"""Before whatever waits for the webhook: whoever tries it wants to see what it answers now."""


@audited("webhook.try", Webhook, by="webhook_id")
def webhook_try(*, webhook_id: UUID) -> Delivery:
    """Send it an event of the type webhook.test, whatever it wants; signed, tried again and logged as any other.

    Raises NotFound, and Conflict for one that is disabled, to which nothing is sent.
    """
    webhook, options = webhook_get(webhook_id=webhook_id), notification_options()
    if not webhook.enabled:
        raise Conflict(
            _("The webhook {webhook} is disabled: nothing is sent to it.", webhook=webhook.name), field="enabled"
        )
    payload = {
        "nova_object.name": "WebhookTestPayload",
        "nova_object.namespace": "kilonova",
        "nova_object.version": "1.0",
        "nova_object.data": {"webhook": str(webhook.pk), "name": webhook.name, "events": webhook.events},
    }
    with transaction.atomic():
        event = Notification.objects.create(
            event_type=TRIAL,
            publisher_id=publisher("nova-api"),
            payload=payload,
            request_id=current_request_id(),
            happened_at=timezone.now(),
            fanned_out_at=timezone.now(),  # to nobody else
        )
        made = Delivery.objects.create(
            notification=event,
            webhook=webhook,
            max_attempts=options.attempts,
            next_at=FIRST_OF_ALL,
            deadline_at=now_plus(options.deadline_s),
        )
        webhook_queue_resume(webhook_id=webhook.pk)
    return Delivery.objects.select_related("notification", "webhook").get(pk=made.pk)
