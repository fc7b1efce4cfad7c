"""The outbox: what happened, sent to whoever subscribed; and the log of every attempt to send it."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed
from controlplane.kernel.texts import gettext_noop


class Priority(models.TextChoices):
    """The priorities of notifications, as Nova names them."""

    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


class Notification(UuidKeyed):
    """One event, written in the transaction of what it reports. `id` is the message's; a receiver knows a repeat by it.

    `payload` is Nova's versioned form: name, namespace, version and data of an object.
    """

    event_type = models.CharField(max_length=100, help_text=_("Such as scheduler.select_destinations.end."))
    publisher_id = models.CharField(max_length=200, help_text=_("Service and host that tell it."))
    priority = models.CharField(max_length=5, choices=Priority, default=Priority.INFO)
    payload = JsonField()
    request_id = models.CharField(max_length=60, blank=True)
    project_id = models.UUIDField(null=True, blank=True)
    happened_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    fanned_out_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When its deliveries were made, one for each webhook that wants it.")
    )

    class Meta:
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["event_type", "created_at"], name="notification_event"),
            models.Index(fields=["request_id"], name="notification_request"),
            # Few among many: what no webhook was offered yet.
            models.Index(fields=["created_at"], condition=Q(fanned_out_at__isnull=True), name="notification_unoffered"),
        ]

    def __str__(self) -> str:
        return f"{self.event_type} {self.id}"


class Webhook(UuidKeyed, Timestamped):
    """A subscriber: its URL, the events that it gets, and the secret that signs what is sent."""

    name = models.CharField(max_length=64, unique=True)
    url = models.CharField(max_length=2000, help_text=_("http:// or https://; each event is posted there as JSON."))
    events = JsonField(
        default=list, help_text=_('Patterns of event types, such as ["scheduler.*", "*.error"]; ["*"] is every event.')
    )
    encrypted_secret = models.TextField(help_text=_("Encrypted; nobody is shown it again."))
    enabled = models.BooleanField(default=True)
    retry_at = models.DateTimeField(
        null=True, blank=True, help_text=_("Nothing is sent before: the receiver failed, and events keep their order.")
    )

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class DeliveryState(models.TextChoices):
    """waiting -> running -> done, or back to waiting until it is failed. An expired lease is still `running`."""

    WAITING = gettext_noop("waiting")
    RUNNING = gettext_noop("running")
    DONE = gettext_noop("done")
    FAILED = gettext_noop("failed")


OPEN_DELIVERIES = (DeliveryState.WAITING, DeliveryState.RUNNING)


class Delivery(UuidKeyed, Timestamped):
    """One event on its way to one webhook. Taking it adds 1 to `attempt`, which fences off whoever had it before."""

    notification = models.ForeignKey(Notification, on_delete=models.CASCADE, related_name="deliveries")
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    state = models.CharField(max_length=8, choices=DeliveryState, default=DeliveryState.WAITING)
    attempt = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField(help_text=_("The attempt after which it is given up."))
    next_at = models.DateTimeField(help_text=_("Not to be tried before; its place in the webhook's queue."))
    deadline_at = models.DateTimeField(help_text=_("Not to be tried after."))
    lease_owner = models.CharField(max_length=200, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    error = models.CharField(max_length=500, blank=True, help_text=_("Why the last attempt failed."))

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(fields=["notification", "webhook"], name="delivery_once"),
        ]
        indexes = [
            models.Index(
                fields=["webhook", "next_at"], condition=Q(state__in=["waiting", "running"]), name="delivery_open"
            ),
            # What the page of a webhook counts and lists.
            models.Index(fields=["webhook", "state", "created_at"], name="delivery_of_webhook"),
        ]

    def __str__(self) -> str:
        return f"{self.notification_id} to {self.webhook_id} ({self.state})"


class DeliveryAttempt(models.Model):
    """What one attempt brought. `status` is the receiver's; without one it could not be reached."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)
    duration_ms = models.PositiveIntegerField()
    status = models.PositiveIntegerField(null=True, blank=True)
    error = models.CharField(max_length=500, blank=True)
    answer = models.CharField(max_length=500, blank=True, help_text=_("The beginning of what the receiver said."))

    class Meta:
        ordering = ["delivery", "number"]

    def __str__(self) -> str:
        return f"attempt {self.number}: {self.status or self.error}"
