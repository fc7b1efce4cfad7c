"""What lists of decisions are searched by, so that no blob has to be read for it."""

from django.db import models

from scheduling.models.decision import SchedulingDecision


class DecisionReason(models.Model):
    """API scope. How many hosts one stage of a decision refused for one reason (of a batch: over all rounds)."""

    decision = models.ForeignKey(SchedulingDecision, on_delete=models.CASCADE, related_name="reasons")
    stage = models.CharField(max_length=128)
    reason = models.CharField(max_length=64)
    hosts = models.PositiveIntegerField()

    class Meta:
        ordering = ["-hosts", "reason", "stage"]
        constraints = [
            models.UniqueConstraint(fields=["decision", "stage", "reason"], name="decision_reason_once"),
        ]
        indexes = [
            models.Index(fields=["reason", "decision"], name="decision_reason_index"),
            models.Index(fields=["stage", "decision"], name="decision_stage_index"),
        ]

    def __str__(self) -> str:
        return f"{self.hosts} {self.reason} by {self.stage}"


class DecisionRefusedHosts(models.Model):
    """API scope. A bit for each row of the decision's table of host names, the highest of each byte first: set where
    refused.
    """

    decision = models.OneToOneField(
        SchedulingDecision, on_delete=models.CASCADE, primary_key=True, related_name="refused_hosts"
    )
    bits = models.BinaryField()

    def __str__(self) -> str:
        return f"refused hosts of {self.decision_id}"
