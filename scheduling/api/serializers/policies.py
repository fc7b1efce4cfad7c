"""Policies on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from scheduling.models import SchedulerPolicy, ShadowResult
from scheduling.policies.selectors.preview import MAX_DECISIONS


class PolicyOutput(serializers.ModelSerializer[SchedulerPolicy]):
    """One version. `body` lists filters, and weighers with multipliers, in their order."""

    label = serializers.CharField(read_only=True)  # type: ignore[assignment]  # the wire's name
    body = serializers.DictField()

    class Meta:
        model = SchedulerPolicy
        fields = [
            "id",
            "label",
            "name",
            "version",
            "state",
            "revision",
            "immutable",
            "shadow",
            "shadow_share",
            "comment",
            "author",
            "body",
            "created_at",
            "updated_at",
            "activated_at",
            "retired_at",
        ]


class PolicyInput(StrictInput):
    """A new draft: the body as given, or that of an older version (`copy_of`)."""

    name = serializers.CharField(default="default", max_length=64)
    body = serializers.JSONField(required=False)
    copy_of = serializers.UUIDField(required=False, help_text="Take the body of this version.")
    comment = serializers.CharField(default="", allow_blank=True, max_length=1000)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """One source of the body."""
        if "body" in attrs and "copy_of" in attrs:
            raise serializers.ValidationError({"copy_of": ["Give a body or copy_of, not both."]})
        return attrs


class PolicyChange(StrictInput):
    """Changes of a draft. With `revision` only if nobody changed it since."""

    body = serializers.JSONField(required=False)
    comment = serializers.CharField(required=False, allow_blank=True, max_length=1000)
    revision = serializers.IntegerField(required=False, min_value=1)


class ReplacesInput(StrictInput):
    """Compare and set: `replaces` is the version that shall be active until now, null: none."""

    replaces = serializers.UUIDField(required=False, allow_null=True)


class ShareInput(StrictInput):
    """How much a shadow sees."""

    share = serializers.FloatField(min_value=0.0, max_value=1.0, help_text="Part of the requests.")


class PreviewInput(StrictInput):
    """How many decisions to replay."""

    last = serializers.IntegerField(default=50, min_value=1, max_value=MAX_DECISIONS)


class PolicyProblemOutput(serializers.Serializer[Any]):
    """One thing that is wrong."""

    field = serializers.CharField()
    code = serializers.CharField()
    message = serializers.CharField()


class PolicyVerdictOutput(serializers.Serializer[Any]):
    """The result of a validation: whether the version is valid, its state then, and every problem."""

    valid = serializers.BooleanField()
    state = serializers.CharField()
    problems = PolicyProblemOutput(many=True)


class PreviewCaseOutput(serializers.Serializer[Any]):
    """One stored decision under the policy in question, against what was decided (or would be now, see `basis`)."""

    decision_id = serializers.UUIDField()
    request_id = serializers.CharField()
    created_at = serializers.DateTimeField()
    stored_outcome = serializers.CharField()
    basis = serializers.CharField(allow_blank=True)
    against = serializers.CharField(allow_blank=True)
    agreement = serializers.CharField()
    moved = serializers.IntegerField()
    decided_hosts = serializers.ListField(child=serializers.CharField())
    preview_hosts = serializers.ListField(child=serializers.CharField())
    verdict = serializers.CharField()
    score_difference = serializers.FloatField(allow_null=True)
    error = serializers.CharField()


class ReplaySumOutput(serializers.Serializer[Any]):
    """All replayed decisions of one side together; `busiest` is the host chosen most, with how often."""

    policy = serializers.CharField()
    placed = serializers.IntegerField()
    failed = serializers.IntegerField()
    hosts = serializers.IntegerField()
    busiest = serializers.ListField(allow_null=True)


class PreviewOutput(serializers.Serializer[Any]):
    """How the last decisions would have gone."""

    policy = serializers.CharField()
    basis = serializers.CharField()
    note = serializers.CharField()
    decisions = serializers.IntegerField()
    counts = serializers.DictField(child=serializers.IntegerField())
    cases = PreviewCaseOutput(many=True)
    decided = ReplaySumOutput()
    previewed = ReplaySumOutput()


class ShadowMoveOutput(serializers.Serializer[Any]):
    """A pair of hosts and how often the shadow would have taken the second for the first."""

    decided_host = serializers.CharField()
    shadow_host = serializers.CharField()
    count = serializers.IntegerField()


class ShadowReportOutput(serializers.Serializer[Any]):
    """What a shadow found so far."""

    policy = serializers.CharField()
    shadow = serializers.BooleanField()
    share = serializers.FloatField()
    runs = serializers.IntegerField()
    outcomes = serializers.DictField(child=serializers.IntegerField())
    agreement = serializers.FloatField(allow_null=True)
    instances = serializers.IntegerField()
    moved_instances = serializers.IntegerField()
    score_difference = serializers.FloatField(allow_null=True)
    decided_fragmentation = serializers.FloatField(allow_null=True)
    shadow_fragmentation = serializers.FloatField(allow_null=True)
    moves = ShadowMoveOutput(many=True)
    duration_us = serializers.FloatField(allow_null=True)
    first_at = serializers.DateTimeField(allow_null=True)
    last_at = serializers.DateTimeField(allow_null=True)


class ShadowResultOutput(serializers.ModelSerializer[ShadowResult]):
    """One run of a shadow beside one decision."""

    class Meta:
        model = ShadowResult
        fields = [
            "id",
            "decision",
            "live_version",
            "outcome",
            "instance_count",
            "moved_count",
            "decided_host",
            "shadow_host",
            "score_difference",
            "decided_fragmentation",
            "shadow_fragmentation",
            "error",
            "duration_us",
            "created_at",
        ]
