"""Decisions on the wire. Tenants get counts of reasons; names of hosts, scores and the seed are for operators."""

from typing import Any

from rest_framework import serializers

from scheduling.decisions.selectors.replay import ReplayState
from scheduling.decisions.selectors.report import decision_report
from scheduling.models import DecisionInstance, DecisionReason, SchedulingDecision


class DecisionInstanceOutput(serializers.ModelSerializer[DecisionInstance]):
    """An instance of the batch and the host it was given."""

    class Meta:
        model = DecisionInstance
        fields = ["position", "instance_uuid", "host", "compute_node_uuid"]


class DecisionReasonOutput(serializers.ModelSerializer[DecisionReason]):
    """How many hosts a stage refused for a reason."""

    class Meta:
        model = DecisionReason
        fields = ["stage", "reason", "hosts"]


class DecisionOutput(serializers.ModelSerializer[SchedulingDecision]):
    """A decision in a list. `context["shows_hosts"]` says whether the caller may see hosts."""

    verdict = serializers.SerializerMethodField()
    instances = serializers.SerializerMethodField()
    refusals = DecisionReasonOutput(source="reasons", many=True, read_only=True)

    class Meta:
        model = SchedulingDecision
        fields = [
            "id",
            "created_at",
            "request_id",
            "subject",
            "project_id",
            "outcome",
            "verdict",
            "policy_version",
            "seed",
            "host_count",
            "instance_count",
            "instances",
            "refusals",
            "timings_us",
            "duration_us",
        ]
        extra_kwargs = {"seed": {"required": False, "help_text": "For operators."}}

    def to_representation(self, instance: SchedulingDecision) -> dict[str, Any]:
        """The columns. The seed goes with the scores: whoever may not see these has no use for it."""
        shown: dict[str, Any] = super().to_representation(instance)
        if not self.context.get("shows_hosts"):
            del shown["seed"]
        return shown

    def get_verdict(self, decision: SchedulingDecision) -> str:
        """The verdict as one sentence, which names no host unless the caller may see hosts."""
        return decision.verdict if self.context.get("shows_hosts") else decision.verdict_redacted

    def get_instances(self, decision: SchedulingDecision) -> list[dict[str, Any]]:
        """In the order of the batch; without hosts for tenants."""
        rows = DecisionInstanceOutput(decision.instances.all(), many=True).data
        hidden = () if self.context.get("shows_hosts") else ("host", "compute_node_uuid")
        return [{name: value for name, value in row.items() if name not in hidden} for row in rows]


class DecisionDetailOutput(DecisionOutput):
    """A decision whole: request, reasons, rounds with their stages; for operators also hosts, scores, selections."""

    def to_representation(self, instance: SchedulingDecision) -> dict[str, Any]:
        """The columns, and what the trace says."""
        shown = super().to_representation(instance)
        report = decision_report(
            decision=instance,
            redacted=not self.context.get("shows_hosts"),
            round_number=self.context.get("round", 1),
        )
        return {**shown, **report}


class DifferenceOutput(serializers.Serializer[Any]):
    """Where a replay parts from what is stored."""

    path = serializers.CharField()
    stored = serializers.CharField()
    replayed = serializers.CharField()


class ReplayOutput(serializers.Serializer[Any]):
    """The answer of a replay; `same` is null where nothing could be compared, and `sentence` says why."""

    decision_id = serializers.UUIDField()
    state = serializers.ChoiceField(choices=[each.value for each in ReplayState])
    same = serializers.BooleanField(allow_null=True)
    sentence = serializers.CharField()
    difference = DifferenceOutput(allow_null=True)
