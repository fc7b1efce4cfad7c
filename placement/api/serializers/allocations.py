"""Allocations on the wire."""

from rest_framework import serializers

from placement.models import Allocation


class AllocationOutput(serializers.ModelSerializer[Allocation]):
    """So much of one class of one provider, held by one consumer."""

    consumer = serializers.UUIDField(source="consumer.uuid")
    consumer_type = serializers.CharField(source="consumer.consumer_type")
    project_id = serializers.CharField(source="consumer.project_id")
    user_id = serializers.CharField(source="consumer.user_id")
    provider = serializers.UUIDField(source="provider.uuid")
    provider_name = serializers.CharField(source="provider.name")
    resource_class = serializers.CharField(source="resource_class.name")

    class Meta:
        model = Allocation
        fields = [
            "consumer",
            "consumer_type",
            "project_id",
            "user_id",
            "provider",
            "provider_name",
            "resource_class",
            "used",
        ]
