"""Base images of hosts, on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput


class ImageReference(StrictInput):
    """An image by its id, as Nova's body has it."""

    id = serializers.UUIDField()


class AggregateImagesInput(StrictInput):
    """The body of Nova's aggregate image cache call."""

    cache = serializers.ListField(child=ImageReference(), min_length=1, help_text="Images that each host shall have.")


class ImageCacheRequestOutput(serializers.Serializer[Any]):
    """What one host was asked to have, and how far it is."""

    host = serializers.CharField()
    image = serializers.UUIDField(source="image_id")
    image_name = serializers.CharField(source="image.name")
    state = serializers.CharField(help_text="waiting, fetching, cached or failed.")
    message = serializers.CharField(help_text="Why it failed.")
    done_bytes = serializers.IntegerField()
    size_bytes = serializers.IntegerField(source="image.size_bytes")
    asked_by = serializers.CharField()
    asked_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class HostImageOutput(serializers.Serializer[Any]):
    """A base file in the cache of a host."""

    checksum = serializers.CharField(help_text="SHA-256 of the file.")
    names = serializers.ListField(child=serializers.CharField(), help_text="Images that have this content now.")
    size_bytes = serializers.IntegerField(help_text="What it takes on the disk of the host.")
    guests = serializers.IntegerField(help_text="Guests of this host that are made of it.")
    last_used_at = serializers.DateTimeField()
    reported_at = serializers.DateTimeField()


class HostImagesOutput(serializers.Serializer[Any]):
    """What a host has in its cache, and what it was asked to have."""

    images = HostImageOutput(many=True)
    requests = ImageCacheRequestOutput(many=True)
