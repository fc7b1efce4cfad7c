"""One piece of long work, as a row. The queue only wakes somebody up; this row says what is to be done."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed


class WorkState(models.TextChoices):
    """waiting -> running -> done | failed; waiting or running -> cancelled. An expired lease is still `running`."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN_STATES = (WorkState.WAITING, WorkState.RUNNING)


class Work(UuidKeyed, Timestamped):
    """What is to be done (`kind`) to whom (`subject`), by whoever serves `queue`.

    Taking it adds 1 to `attempt`, the fencing token: every later write of that attempt says
    `WHERE attempt = mine AND lease_until > now()` by the database's clock, and looks at the row count.
    """

    queue = models.CharField(max_length=100)
    kind = models.CharField(max_length=40)
    subject = models.UUIDField(help_text=_("The instance, or the reservation of a batch."))
    state = models.CharField(max_length=12, choices=WorkState, default=WorkState.WAITING)
    attempt = models.PositiveIntegerField(default=0)
    max_attempts = models.PositiveIntegerField(default=5, help_text=_("Takes after which it ends as failed."))
    lease_owner = models.CharField(max_length=200, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    deadline_at = models.DateTimeField(help_text=_("When it ends as failed, whoever holds it."))
    woken_at = models.DateTimeField(null=True, blank=True, help_text=_("When its wake-up was last sent."))
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    step = models.CharField(max_length=60, blank=True, help_text=_("What it was doing when last heard of."))
    request_id = models.CharField(max_length=60, blank=True)
    arguments = JsonField(default=dict, blank=True)
    outcome = JsonField(default=dict, blank=True)

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "work"
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "subject"],
                condition=Q(state__in=["waiting", "running"]),
                name="work_one_open_per_kind_and_subject",
                violation_error_message="The same work is already under way.",
            ),
        ]
        indexes = [
            models.Index(fields=["queue", "state"], name="work_queue_state"),
            # The reconciler looks only at open rows, which are few among many.
            models.Index(fields=["deadline_at"], condition=Q(state__in=["waiting", "running"]), name="work_open"),
            models.Index(fields=["subject"], name="work_subject"),
            # Metrics count what ended lately.
            models.Index(fields=["finished_at"], condition=Q(finished_at__isnull=False), name="work_ended"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject} ({self.state})"
