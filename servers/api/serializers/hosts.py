"""What stands in the way of removing a host, and what went with it."""

from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput


class HostRemoveInput(StrictInput):
    """In the query, since a DELETE has no body."""

    force = serializers.BooleanField(default=False, help_text="Of a host that is forced down, with instances on it.")


class InstanceLeftOutput(serializers.Serializer[Any]):
    """An instance that is on the host."""

    id = serializers.UUIDField()
    name = serializers.CharField()


class RemovalObstacleOutput(serializers.Serializer[Any]):
    """One reason why the host stays, with its number and some names."""

    reason = serializers.CharField()
    message = serializers.CharField()
    count = serializers.IntegerField()
    names = serializers.ListField(child=serializers.CharField())


class HostRemovalOutput(serializers.Serializer[Any]):
    """What would become of a removal now."""

    host = serializers.CharField()
    obstacles = RemovalObstacleOutput(many=True, help_text="Of a removal; empty: it may go.")
    obstacles_to_force = RemovalObstacleOutput(many=True, help_text="Of a removal with force.")
    left_behind = serializers.ListField(child=serializers.CharField(), help_text="What force would leave or end.")
    instances = InstanceLeftOutput(many=True)
    work = serializers.DictField(child=serializers.IntegerField(), help_text="Open work by kind.")
    aggregates = serializers.ListField(child=serializers.CharField())


class HostRemovedOutput(serializers.Serializer[Any]):
    """What went with the host, and what a forced removal left."""

    host = serializers.CharField()
    providers = serializers.IntegerField(help_text="Resource providers that went, with inventories and traits.")
    aggregates = serializers.ListField(child=serializers.CharField())
    instances_left = InstanceLeftOutput(many=True)
    allocations_freed = serializers.IntegerField(help_text="Instances that held some of it.")
    work_ended = serializers.IntegerField()
    deletions = serializers.IntegerField(help_text="Of the work that ended: deletions, which are complete.")
