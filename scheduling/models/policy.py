"""Versions of the scheduler's policy."""

from django.db import models
from django.db.models import Q

from controlplane.infra.models import Timestamped, UuidKeyed


class SchedulerPolicy(UuidKeyed, Timestamped):
    """API scope. A version is never changed once made; at most one is active, none means the defaults."""

    name = models.CharField(max_length=64, default="default")
    version = models.PositiveIntegerField()
    body = models.JSONField(help_text="Filters in their order, weighers with multipliers, subset size.")
    active = models.BooleanField(default=False)

    class Meta:
        ordering = ["name", "-version"]
        verbose_name_plural = "scheduler policies"
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="scheduler_policy_version_once"),
            models.UniqueConstraint(
                fields=["active"],
                condition=Q(active=True),
                name="scheduler_policy_one_active",
                violation_error_message="Another policy version is active.",
            ),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        """How decisions name this version: `default-v3`."""
        return f"{self.name}-v{self.version}"
