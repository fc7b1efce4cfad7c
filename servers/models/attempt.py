"""Each host that was tried for an instance, and how that ended."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class AttemptRecord(models.Model):
    """`outcome` is empty while the attempt runs; `reason` says why it did not become active."""

    instance_uuid = models.UUIDField()
    number = models.PositiveIntegerField(help_text=_("From 1."))
    host = models.CharField(max_length=255)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(
        max_length=12,
        blank=True,
        choices=[
            ("active", "active"),
            ("rescheduled", "rescheduled"),
            ("failed", "failed"),
            ("cancelled", "cancelled"),
        ],
    )
    reason = models.TextField(blank=True)

    class Meta:
        ordering = ["instance_uuid", "number"]
        constraints = [models.UniqueConstraint(fields=["instance_uuid", "number"], name="attempt_once")]
        # Metrics count what ended lately.
        indexes = [
            models.Index(fields=["finished_at"], condition=Q(finished_at__isnull=False), name="attempt_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.instance_uuid} attempt {self.number} on {self.host}"
