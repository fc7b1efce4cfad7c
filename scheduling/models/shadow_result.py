"""What a shadow policy would have done."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.models import UuidKeyed
from scheduling.models.decision import SchedulingDecision
from scheduling.models.policy import SchedulerPolicy
from scheduling.policies.domain.comparison import Agreement

SHADOW_ERROR = "error"
OUTCOMES = [*((each.value, each.name.replace("_", " ").title()) for each in Agreement), (SHADOW_ERROR, "Error")]


class ShadowResult(UuidKeyed):
    """API scope. One run of a shadow beside one decision; goes with that decision when it is pruned.

    `decided_host` and `shadow_host` are those of the first instance whose host differs, else of the first one.
    """

    policy = models.ForeignKey(SchedulerPolicy, on_delete=models.CASCADE, related_name="shadow_results")
    decision = models.ForeignKey(SchedulingDecision, on_delete=models.CASCADE, related_name="shadow_results")
    live_version = models.CharField(max_length=80, help_text=_("The version that decided."))
    outcome = models.CharField(max_length=16, choices=OUTCOMES)
    instance_count = models.PositiveIntegerField()
    moved_count = models.PositiveIntegerField(default=0, help_text=_("Instances that would have another host."))
    decided_host = models.CharField(max_length=255, blank=True)
    shadow_host = models.CharField(max_length=255, blank=True)
    score_difference = models.FloatField(
        null=True, blank=True, help_text=_("The shadow's points for its own choice minus those for what was decided.")
    )
    decided_fragmentation = models.FloatField(
        null=True, blank=True, help_text=_("Part (0 to 1) of the room left that larger instances could not use.")
    )
    shadow_fragmentation = models.FloatField(null=True, blank=True, help_text=_("The same under the shadow's choice."))
    error = models.TextField(blank=True, help_text=_("Why the shadow could not run."))
    duration_us = models.PositiveBigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [models.UniqueConstraint(fields=["policy", "decision"], name="shadow_result_once")]
        indexes = [models.Index(fields=["policy", "-created_at"], name="shadow_result_by_policy")]

    def __str__(self) -> str:
        return f"{self.outcome}: {self.shadow_host or 'no host'} instead of {self.decided_host or 'no host'}"
