"""Scheduling again on the wire: what is asked for otherwise, and what would help."""

from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from servers.instances.domain.request_changes import RequestChanges
from servers.trials.next_steps import StepKind


class AgainInput(StrictInput):
    """Everything may be left out: then it is asked for as it was."""

    flavor = serializers.CharField(required=False, max_length=255, help_text="Id or name of another flavor.")
    availability_zone = serializers.CharField(
        required=False, allow_blank=True, max_length=255, help_text="Another zone; empty for any."
    )
    without_hints = serializers.ListField(
        child=serializers.CharField(max_length=255),
        required=False,
        max_length=50,
        help_text="Names of scheduler hints to drop.",
    )
    generation = serializers.IntegerField(
        required=False, min_value=0, help_text="As the answer of next-steps has it: refused where it is another by now."
    )

    @property
    def changes(self) -> RequestChanges:
        """As the service takes them."""
        data: dict[str, Any] = dict(self.validated_data)
        return RequestChanges(**{**data, "without_hints": tuple(data.get("without_hints", ()))})


class ChangesOutput(serializers.Serializer[Any]):
    """What to say to schedule-again."""

    flavor = serializers.CharField()
    availability_zone = serializers.CharField(allow_null=True)
    without_hints = serializers.ListField(child=serializers.CharField())


class NextStepOutput(serializers.Serializer[Any]):
    """One way out. `changes` is for schedule-again, `host` is to be enabled; advice is for somebody's hands."""

    kind = serializers.ChoiceField(choices=[one.value for one in StepKind])
    sentence = serializers.CharField()
    changes = ChangesOutput(allow_null=True)
    host = serializers.CharField()
    verdict = serializers.CharField()


class NextStepsOutput(serializers.Serializer[Any]):
    """What can be done about an instance that found no host."""

    fits = serializers.BooleanField(help_text="The same request would find a host now.")
    verdict = serializers.CharField()
    decided_at = serializers.DateTimeField(allow_null=True)
    generation = serializers.IntegerField()
    steps = NextStepOutput(many=True)
    policy_version = serializers.CharField()
    host_count = serializers.IntegerField()
    duration_us = serializers.IntegerField()
