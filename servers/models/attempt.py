"""Each host that was tried for an instance, and how that ended."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from servers.instances.domain.host_blame import AttemptBlame


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
    failure_class = models.CharField(
        max_length=12, blank=True, help_text=_("Whose fault it was that it failed: host, user, network or policy.")
    )
    host_blame = models.CharField(
        max_length=10,
        blank=True,
        choices=[(blame.value, blame.value) for blame in AttemptBlame if blame],
        help_text=_("Whether it counts among the host's failed builds, or will once the instance is built elsewhere."),
    )

    class Meta:
        ordering = ["instance_uuid", "number"]
        constraints = [models.UniqueConstraint(fields=["instance_uuid", "number"], name="attempt_once")]
        # Metrics count what ended lately.
        indexes = [
            models.Index(fields=["finished_at"], condition=Q(finished_at__isnull=False), name="attempt_ended"),
            models.Index(fields=["host", "-finished_at"], condition=~Q(host_blame=""), name="attempt_blamed"),
        ]

    def __str__(self) -> str:
        return f"{self.instance_uuid} attempt {self.number} on {self.host}"
