"""What a change of an aggregate would do, on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from scheduling.fleet.services.aggregates import MAX_HOSTS_AT_ONCE


def _hosts() -> serializers.ListField:
    return serializers.ListField(
        child=serializers.CharField(max_length=255), default=list, max_length=MAX_HOSTS_AT_ONCE
    )


class AggregateDraftInput(StrictInput):
    """What an aggregate shall be: its name, its whole metadata, and which hosts come and go."""

    name = serializers.CharField(max_length=10_000)
    metadata = serializers.DictField(child=serializers.CharField(allow_blank=True), default=dict)
    hosts_added = _hosts()
    hosts_removed = _hosts()


class AggregateTrialInput(AggregateDraftInput):
    """The same, and whether the room of each flavor shall be counted before and after."""

    room = serializers.BooleanField(default=False)


class AggregateSaveInput(AggregateDraftInput):
    """The same, to be saved."""

    unchanged_since = serializers.DateTimeField(
        required=False, default=None, help_text="Its updated_at as it was read: 409 if it was changed since."
    )


class ZoneMoveOutput(serializers.Serializer[Any]):
    """Hosts that leave one zone for another, and the instances on them."""

    before = serializers.CharField()
    after = serializers.CharField()
    hosts = serializers.ListField(child=serializers.CharField(), help_text="The first 50.")
    host_count = serializers.IntegerField()
    instances = serializers.IntegerField()
    instances_that_asked = serializers.IntegerField(help_text="Those that named the zone that they would leave.")


class ZoneClashOutput(serializers.Serializer[Any]):
    """A host that would be in two zones."""

    host = serializers.CharField()
    aggregate = serializers.CharField()
    zone = serializers.CharField()


class KeyReaderOutput(serializers.Serializer[Any]):
    """What reads a key of the metadata."""

    kind = serializers.CharField()
    name = serializers.CharField()
    effect = serializers.CharField()
    is_on = serializers.BooleanField(help_text="Whether the active policy has it.")


class MetadataEffectOutput(serializers.Serializer[Any]):
    """One key of the metadata, before and after."""

    key = serializers.CharField()
    before = serializers.CharField(allow_null=True)
    after = serializers.CharField(allow_null=True)
    change = serializers.CharField()
    readers = KeyReaderOutput(many=True)


class RoomChangeOutput(serializers.Serializer[Any]):
    """How many more of a flavor fit, before and after."""

    flavor = serializers.CharField()
    before = serializers.IntegerField(allow_null=True)
    after = serializers.IntegerField(allow_null=True)


class AggregateTrialOutput(serializers.Serializer[Any]):
    """What a change of an aggregate would do."""

    members = serializers.IntegerField()
    added = serializers.IntegerField()
    removed = serializers.IntegerField()
    moves = ZoneMoveOutput(many=True)
    clashes = ZoneClashOutput(many=True)
    clash_count = serializers.IntegerField()
    metadata = MetadataEffectOutput(many=True)
    room = RoomChangeOutput(many=True, allow_null=True)
