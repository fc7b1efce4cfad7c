"""Webhooks, notifications and deliveries on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from controlplane.notifications.models import Delivery, DeliveryAttempt, Notification, Webhook
from controlplane.notifications.serializer import message


class WebhookInput(StrictInput):
    """A new webhook, or with PATCH what changes. The secret is written and never read."""

    name = serializers.CharField(trim_whitespace=False, help_text="1 to 64 characters; it cannot change later.")
    url = serializers.CharField(trim_whitespace=False, help_text="http:// or https://, without user and password.")
    events = serializers.ListField(
        child=serializers.CharField(trim_whitespace=False),
        help_text='Patterns of event types, such as ["instance.*", "*.error"]; ["*"] is every event.',
    )
    secret = serializers.CharField(
        trim_whitespace=False,
        write_only=True,
        help_text="Signs what is sent; 16 to 200 characters. Nobody is shown it again.",
    )
    enabled = serializers.BooleanField(required=False, default=True)


class WebhookChange(WebhookInput):
    """What may change of a webhook."""

    name = None  # type: ignore[assignment]  # the framework's way of taking a field away
    enabled = serializers.BooleanField(required=False)


class WebhookOutput(serializers.ModelSerializer[Webhook]):
    """A webhook: who gets which events. Its secret is not among the fields."""

    class Meta:
        model = Webhook
        fields = ["id", "name", "url", "events", "enabled", "retry_at", "created_at", "updated_at"]


class DeliveryAttemptOutput(serializers.ModelSerializer[DeliveryAttempt]):
    """What one attempt brought."""

    class Meta:
        model = DeliveryAttempt
        fields = ["number", "created_at", "duration_ms", "status", "error", "answer"]


class DeliveryOutput(serializers.ModelSerializer[Delivery]):
    """One event on its way to one webhook."""

    event_type = serializers.CharField(source="notification.event_type", read_only=True)
    webhook_name = serializers.CharField(source="webhook.name", read_only=True)

    class Meta:
        model = Delivery
        fields = [
            "id",
            "notification",
            "event_type",
            "webhook",
            "webhook_name",
            "state",
            "attempt",
            "max_attempts",
            "next_at",
            "deadline_at",
            "finished_at",
            "error",
            "created_at",
        ]


class DeliveryDetailOutput(DeliveryOutput):
    """The same with every attempt."""

    attempts = DeliveryAttemptOutput(many=True, read_only=True)

    class Meta(DeliveryOutput.Meta):
        fields = [*DeliveryOutput.Meta.fields, "attempts"]


class NotificationOutput(serializers.ModelSerializer[Notification]):
    """An event of the outbox, without its payload."""

    class Meta:
        model = Notification
        fields = ["id", "event_type", "priority", "publisher_id", "request_id", "project_id", "happened_at"]


class NotificationDetailOutput(NotificationOutput):
    """The same with what receivers are sent."""

    message = serializers.SerializerMethodField()

    class Meta(NotificationOutput.Meta):
        fields = [*NotificationOutput.Meta.fields, "message"]

    def get_message(self, row: Notification) -> dict[str, Any]:
        """The body of the POST."""
        return message(row)


class ResentOutput(serializers.Serializer[Any]):
    """To how many webhooks an event is sent again."""

    webhooks = serializers.IntegerField()
