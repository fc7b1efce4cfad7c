"""Providers, their inventories and usages on the wire."""

from rest_framework import serializers

from placement.models import ResourceProvider


class InventoryOutput(serializers.Serializer[object]):
    """One class of one provider. `capacity` = (total - reserved) * allocation_ratio, rounded down; `free` of it."""

    resource_class = serializers.CharField()
    total = serializers.IntegerField()
    reserved = serializers.IntegerField()
    allocation_ratio = serializers.FloatField()
    min_unit = serializers.IntegerField()
    max_unit = serializers.IntegerField()
    step_size = serializers.IntegerField()
    capacity = serializers.IntegerField()
    used = serializers.IntegerField()
    free = serializers.IntegerField()


class ProviderOutput(serializers.ModelSerializer[ResourceProvider]):
    """A provider; `id` is its uuid."""

    id = serializers.UUIDField(source="uuid")
    parent_provider_uuid = serializers.UUIDField(source="parent.uuid", allow_null=True, default=None)
    root_provider_uuid = serializers.UUIDField(source="root.uuid", allow_null=True, default=None)

    class Meta:
        model = ResourceProvider
        fields = [
            "id",
            "name",
            "kind",
            "generation",
            "parent_provider_uuid",
            "root_provider_uuid",
            "created_at",
            "updated_at",
        ]


class ProviderDetailOutput(ProviderOutput):
    """A provider with all that it has."""

    inventories = InventoryOutput(many=True)
    traits = serializers.ListField(child=serializers.CharField())
    aggregates = serializers.ListField(child=serializers.UUIDField())

    class Meta(ProviderOutput.Meta):
        fields = [*ProviderOutput.Meta.fields, "inventories", "traits", "aggregates"]


class InventoriesOutput(serializers.Serializer[object]):
    """All inventories at one generation."""

    generation = serializers.IntegerField()
    inventories = InventoryOutput(many=True)


class UsagesOutput(serializers.Serializer[object]):
    """{class: used} at one generation."""

    generation = serializers.IntegerField()
    usages = serializers.DictField(child=serializers.IntegerField())


class TraitsOutput(serializers.Serializer[object]):
    """Names of traits at one generation."""

    generation = serializers.IntegerField()
    traits = serializers.ListField(child=serializers.CharField())
