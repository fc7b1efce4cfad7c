"""What the control plane put right by itself: found, done, and the numbers that prove it."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import UuidKeyed


class Heal(UuidKeyed):
    """One heal, written in the transaction of what was done, and never changed.

    `found` and `done` are sentences for people; `evidence` has the facts that were read, durations in seconds.
    """

    kind = models.CharField(
        max_length=40, help_text=_("What went wrong: overdue_work, overdue_task, orphan_claims ...")
    )
    subject = models.UUIDField(null=True, blank=True, help_text=_("The instance, reservation or consumer."))
    found = models.TextField()
    done = models.TextField()
    evidence = JsonField(default=dict, blank=True)
    request_id = models.CharField(max_length=60, blank=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["-created_at", "id"]
        indexes = [models.Index(fields=["subject", "-created_at"], name="heal_subject")]

    def __str__(self) -> str:
        return f"{self.kind} {self.subject or ''}".strip()
