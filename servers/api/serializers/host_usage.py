"""What a host has and how busy it was, on the wire."""

from datetime import UTC, datetime
from typing import Any

from rest_framework import serializers


class HostRealityOutput(serializers.Serializer[Any]):
    """One resource: promised, counted, and what is really there."""

    resource = serializers.CharField()
    unit = serializers.CharField()
    total = serializers.IntegerField()
    promised = serializers.IntegerField(help_text="By Placement.")
    counted = serializers.IntegerField(help_text="By its agent: what its instances asked for, off or running.")
    running = serializers.FloatField(allow_null=True, help_text="What running guests have, by the hypervisor.")
    left = serializers.FloatField(allow_null=True, help_text="What the machine has left, by its operating system.")
    doubts = serializers.ListField(child=serializers.CharField(), help_text="What does not agree, in sentences.")


class HostUsageSampleOutput(serializers.Serializer[Any]):
    """The last report of one step."""

    at = serializers.SerializerMethodField()
    cpu_percent = serializers.FloatField(allow_null=True)
    memory_percent = serializers.FloatField(allow_null=True)
    disk_percent = serializers.FloatField(allow_null=True)
    vcpus_used = serializers.IntegerField()
    memory_used_mib = serializers.IntegerField()
    disk_used_gib = serializers.IntegerField()
    running_guests = serializers.IntegerField()

    def get_at(self, sample: Any) -> str:
        """By the database's clock."""
        return datetime.fromtimestamp(sample.at_s, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class HostUsageOutput(serializers.Serializer[Any]):
    """Promised against real, and the history."""

    reality = HostRealityOutput(many=True)
    span = serializers.CharField()
    step_s = serializers.IntegerField()
    samples = HostUsageSampleOutput(many=True)
