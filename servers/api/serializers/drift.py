"""Drift and heals as the API shows them."""

from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from controlplane.work.models import Heal
from servers.repair.domain.drift import DriftKind

KEY_MAX_CHARS = 400


class DriftOutput(serializers.Serializer[Any]):
    """One thing out of step. Either `heal` says what would be done, or `obstacle` why nothing can be."""

    key = serializers.CharField(help_text="Names it for as long as it lasts.")
    kind = serializers.ChoiceField(choices=[kind.value for kind in DriftKind])
    subject = serializers.CharField()
    found = serializers.CharField()
    evidence = serializers.DictField(help_text="The facts that were compared.")
    heal = serializers.CharField(help_text="What would be done about it.")
    obstacle = serializers.CharField(help_text="Why nothing can be done from here; empty where something can.")
    instance_id = serializers.UUIDField(allow_null=True)
    host = serializers.CharField()
    since = serializers.DateTimeField(allow_null=True, help_text="When it was first noticed; null: only just now.")
    heals_at = serializers.DateTimeField(allow_null=True, help_text="When it is put right by itself; null: never.")
    asked_by = serializers.CharField(help_text="Who asked for the heal that is under way.")
    can_heal = serializers.BooleanField(help_text="Whether asking for the heal now would do something.")


class DriftHealInput(StrictInput):
    """Which drift is to be put right."""

    key = serializers.CharField(max_length=KEY_MAX_CHARS)


class DriftHealOutput(serializers.Serializer[Any]):
    """What became of it. `is_done` false: it had gone by itself, and nothing was done."""

    is_done = serializers.BooleanField()
    message = serializers.CharField()
    drift = DriftOutput()


class DriftCheckResultOutput(serializers.Serializer[Any]):
    """The last check of guests, or of allocations."""

    name = serializers.CharField()
    began_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField()
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="How many of each kind were found.")
    is_cut = serializers.BooleanField(help_text="It stopped at DRIFT_MAX_FINDINGS: there is more.")


class DriftCheckOutput(serializers.Serializer[Any]):
    """The answer to a request for a check. `is_new` false: one was asked for already and has not ended."""

    is_new = serializers.BooleanField()


class HealOutput(serializers.ModelSerializer[Heal]):
    """Something that was put right: what was found, what was done, and the facts behind it."""

    class Meta:
        model = Heal
        fields = ["id", "kind", "subject", "found", "done", "evidence", "request_id", "created_at"]
