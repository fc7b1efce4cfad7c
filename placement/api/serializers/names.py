"""Resource classes and traits on the wire."""

from rest_framework import serializers

from placement.models import ResourceClass, Trait


class ResourceClassOutput(serializers.ModelSerializer[ResourceClass]):
    """A name; `custom` when it is not of the standard catalogue."""

    custom = serializers.BooleanField(source="is_custom")

    class Meta:
        model = ResourceClass
        fields = ["name", "custom"]


class TraitOutput(serializers.ModelSerializer[Trait]):
    """A name; `custom` when it is not of the standard catalogue."""

    custom = serializers.BooleanField(source="is_custom")

    class Meta:
        model = Trait
        fields = ["name", "custom"]
