"""Aggregates on the wire."""

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from scheduling.models import Aggregate


class AggregateOutput(serializers.ModelSerializer[Aggregate]):
    """An aggregate with its hosts."""

    availability_zone = serializers.CharField(allow_null=True, read_only=True)
    metadata = serializers.DictField(child=serializers.CharField())
    hosts = serializers.SerializerMethodField()

    class Meta:
        model = Aggregate
        fields = ["id", "name", "availability_zone", "metadata", "hosts", "created_at", "updated_at"]

    def get_hosts(self, aggregate: Aggregate) -> list[str]:
        """Host names in order."""
        return sorted(member.host for member in aggregate.members.all())


class AggregateInput(StrictInput):
    """A new aggregate. Lengths and the zone's rules are checked by the service."""

    name = serializers.CharField(max_length=10_000)
    availability_zone = serializers.CharField(required=False, allow_null=True, default=None)
    metadata = serializers.DictField(child=serializers.CharField(allow_blank=True), required=False, default=dict)


class AggregateChange(StrictInput):
    """Changes of an aggregate; metadata is merged, null removes a key."""

    name = serializers.CharField(required=False, max_length=10_000)
    metadata = serializers.DictField(child=serializers.CharField(allow_null=True, allow_blank=True), required=False)


class AggregateMetadataInput(StrictInput):
    """Metadata to merge; null removes a key."""

    metadata = serializers.DictField(child=serializers.CharField(allow_null=True, allow_blank=True))


class AggregateHostInput(StrictInput):
    """A host by its service host name."""

    host = serializers.CharField(max_length=255)
