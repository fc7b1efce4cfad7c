"""Scheduling decisions: what was asked, what was answered, and why, host by host."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import UuidKeyed


class DecisionOutcome(models.TextChoices):
    """How a decision ended. `error`: the scheduler itself failed, for instance all its claims were lost to others."""

    SELECTED = "selected"
    NO_VALID_HOST = "no_valid_host"
    ERROR = "error"


class SchedulingDecision(UuidKeyed):
    """API scope. Written once, never changed. `trace` is a blob of `decisions.ledger`.

    `host_names` and `snapshot` are digests without a foreign key: a snapshot may be pruned before its decisions.
    """

    request_id = models.CharField(max_length=60, blank=True, db_index=True)
    subject = models.UUIDField(db_index=True, help_text=_("The reservation of the batch, or the instance."))
    project_id = models.UUIDField()
    outcome = models.CharField(max_length=16, choices=DecisionOutcome)
    verdict = models.TextField(help_text=_("One sentence for operators; names hosts where that helps."))
    verdict_redacted = models.TextField(help_text=_("The same for tenants: counts and reasons, no host names."))
    policy_version = models.CharField(max_length=80)
    seed = models.BigIntegerField()
    host_count = models.PositiveIntegerField(help_text=_("Hosts that were looked at."))
    instance_count = models.PositiveIntegerField()
    trace = models.BinaryField()
    trace_digest = models.CharField(
        max_length=40, blank=True, help_text=_("Equal for runs that decide alike to the bit.")
    )
    host_names = models.CharField(max_length=40, blank=True, help_text=_("The names of the hosts that were looked at."))
    snapshot = models.CharField(
        max_length=40, blank=True, db_index=True, help_text=_("The fleet as it was seen; empty where none was kept.")
    )
    stored_bytes = models.PositiveIntegerField(default=0, help_text=_("Size of the trace."))
    timings_us = JsonField(default=dict, help_text=_("Microseconds by stage."))
    duration_us = models.PositiveBigIntegerField()
    claims_lost = models.PositiveIntegerField(
        default=0, help_text=_("Shortages that its claims met because others took the room first.")
    )
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["-created_at", "id"]
        indexes = [
            models.Index(fields=["project_id", "-created_at"], name="decision_by_project"),
            models.Index(fields=["outcome", "-created_at"], name="decision_by_outcome"),
            models.Index(fields=["policy_version", "-created_at"], name="decision_by_policy"),
            models.Index(fields=["host_names"], name="decision_by_host_names"),
        ]

    def __str__(self) -> str:
        return self.verdict


class DecisionInstance(models.Model):
    """API scope. An instance that a decision was about, and the host it was given, if any."""

    decision = models.ForeignKey(SchedulingDecision, on_delete=models.CASCADE, related_name="instances")
    position = models.PositiveIntegerField(help_text=_("Place in the batch, from 0."))
    instance_uuid = models.UUIDField(db_index=True)
    host = models.CharField(max_length=255, blank=True, db_index=True)
    compute_node_uuid = models.UUIDField(null=True, blank=True)

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["decision", "instance_uuid"], name="decision_instance_once")]

    def __str__(self) -> str:
        return f"{self.instance_uuid} on {self.host or 'no host'}"
