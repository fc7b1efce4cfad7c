"""Versions of the scheduler's policy."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed
from scheduling.policies.domain.states import PolicyState


class SchedulerPolicy(UuidKeyed, Timestamped):
    """API scope. At most one version is active, none means the defaults; at most one runs as shadow.

    Once `immutable` a version never changes: decisions or shadow results name it.
    """

    name = models.CharField(max_length=64, default="default")
    version = models.PositiveIntegerField()
    body = JsonField(help_text=_("Filters in their order, weighers with multipliers, subset size."))
    state = models.CharField(
        max_length=16,
        choices=[(each.value, each.name.title()) for each in PolicyState],
        default=PolicyState.DRAFT.value,
    )
    comment = models.CharField(max_length=1000, blank=True, help_text=_("What this version is for."))
    author = models.CharField(max_length=150, blank=True, help_text=_("Who made it."))
    revision = models.PositiveIntegerField(default=1, help_text=_("Goes up with each change of a draft."))
    immutable = models.BooleanField(default=False, help_text=_("Decided or ran as shadow, so it never changes again."))
    shadow = models.BooleanField(default=False, help_text=_("Runs beside the active version and claims nothing."))
    shadow_share = models.FloatField(default=0.0, help_text=_("Part of the requests (0 to 1) that the shadow sees."))
    activated_at = models.DateTimeField(null=True, blank=True, help_text=_("When it last became the active one."))
    retired_at = models.DateTimeField(null=True, blank=True, help_text=_("When it last ceased to be the active one."))

    class Meta:
        ordering = ["name", "-version"]
        verbose_name_plural = "scheduler policies"
        constraints = [
            models.UniqueConstraint(fields=["name", "version"], name="scheduler_policy_version_once"),
            models.UniqueConstraint(
                fields=["state"],
                condition=Q(state=PolicyState.ACTIVE.value),
                name="scheduler_policy_one_active",
                violation_error_message="Another policy version is active.",
            ),
            models.UniqueConstraint(
                fields=["shadow"],
                condition=Q(shadow=True),
                name="scheduler_policy_one_shadow",
                violation_error_message="Another policy version is the shadow.",
            ),
            models.CheckConstraint(
                condition=Q(shadow_share__gte=0.0, shadow_share__lte=1.0),
                name="scheduler_policy_share",
                violation_error_message="A share is a number from 0 to 1.",
            ),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        """How decisions name this version: `default-v3`."""
        return f"{self.name}-v{self.version}"

    @property
    def active(self) -> bool:
        """Whether the scheduler follows it."""
        return self.state == PolicyState.ACTIVE
