"""Flavors, images, key pairs, server groups, networks and quota on the wire."""

from typing import Any

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from servers.models import Flavor, Image, KeyPair, Network, ServerGroup


class FlavorInput(StrictInput):
    """A new flavor, or with PATCH what changes. Memory and swap are MiB, disks GiB."""

    name = serializers.CharField(trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    vcpus = serializers.IntegerField()
    memory_mib = serializers.IntegerField()
    root_gib = serializers.IntegerField(required=False)
    ephemeral_gib = serializers.IntegerField(required=False)
    swap_mib = serializers.IntegerField(required=False)
    is_public = serializers.BooleanField(required=False)
    disabled = serializers.BooleanField(required=False)
    extra_specs = serializers.DictField(required=False, help_text="Text to text, such as resources:VCPU.")


class FlavorOutput(serializers.ModelSerializer[Flavor]):
    """A flavor with its sizes and extra specs."""

    class Meta:
        model = Flavor
        fields = [
            "id",
            "name",
            "description",
            "vcpus",
            "memory_mib",
            "root_gib",
            "ephemeral_gib",
            "swap_mib",
            "is_public",
            "disabled",
            "extra_specs",
            "created_at",
            "updated_at",
        ]


class ImageChange(StrictInput):
    """What may change of an image."""

    name = serializers.CharField(trim_whitespace=False)
    visibility = serializers.CharField(required=False)
    disk_format = serializers.CharField(required=False)
    min_disk_gib = serializers.IntegerField(required=False)
    min_ram_mib = serializers.IntegerField(required=False)
    properties = serializers.DictField(required=False, help_text="Text to text, such as hw_disk_bus.")
    protected = serializers.BooleanField(required=False)
    expected_sha256 = serializers.CharField(
        required=False, allow_blank=True, help_text="Data with another checksum is refused."
    )


class ImageInput(ImageChange):
    """A new image, without its data."""

    id = serializers.UUIDField(required=False, help_text="For images that have an id elsewhere.")
    container_format = serializers.CharField(required=False)


class ImageOutput(serializers.ModelSerializer[Image]):
    """One image. `status_reason` says why the last upload was refused."""

    class Meta:
        model = Image
        fields = [
            "id",
            "name",
            "project",
            "visibility",
            "status",
            "status_reason",
            "disk_format",
            "container_format",
            "checksum_sha256",
            "expected_sha256",
            "size_bytes",
            "virtual_size_bytes",
            "min_disk_gib",
            "min_ram_mib",
            "properties",
            "protected",
            "created_at",
            "updated_at",
        ]


class KeyPairInput(StrictInput):
    """With a public key it is stored; without one a pair is made, and its private half answered once."""

    name = serializers.CharField(trim_whitespace=False)
    public_key = serializers.CharField(required=False, help_text="One line in OpenSSH's format.")


class KeyPairOutput(serializers.ModelSerializer[KeyPair]):
    """One key pair of the caller."""

    class Meta:
        model = KeyPair
        fields = ["name", "type", "fingerprint", "public_key", "created_at"]


class GeneratedKeyPairOutput(KeyPairOutput):
    """A key pair as it is answered when it was made here: the only time that `private_key` is seen."""

    private_key = serializers.CharField(read_only=True)

    class Meta(KeyPairOutput.Meta):
        fields = [*KeyPairOutput.Meta.fields, "private_key"]


class ServerGroupInput(StrictInput):
    """A server group to be made: its name, policy and rules."""

    name = serializers.CharField(trim_whitespace=False)
    policy = serializers.CharField(help_text="affinity, anti-affinity, soft-affinity or soft-anti-affinity")
    rules = serializers.DictField(required=False, help_text="max_server_per_host, with anti-affinity.")


class ServerGroupOutput(serializers.ModelSerializer[ServerGroup]):
    """One group and the instances in it."""

    members = serializers.SerializerMethodField()

    class Meta:
        model = ServerGroup
        fields = ["id", "name", "policy", "rules", "project", "user_id", "members", "created_at"]

    def get_members(self, group: ServerGroup) -> list[str]:
        """Ids of instances, in the order in which they joined."""
        return [str(member.instance_uuid) for member in group.members.all()]


class NetworkOutput(serializers.ModelSerializer[Network]):
    """A network that instances can be on."""

    class Meta:
        model = Network
        fields = ["id", "name", "is_default", "created_at"]


class AmountsOutput(serializers.Serializer[Any]):
    """Six numbers; a limit of -1 means unlimited."""

    instances = serializers.IntegerField()
    cores = serializers.IntegerField()
    ram_mib = serializers.IntegerField()
    images = serializers.IntegerField()
    image_bytes = serializers.IntegerField()
    image_uploads = serializers.IntegerField(help_text="At the same time.")


class QuotaOutput(serializers.Serializer[Any]):
    """What the caller's project may have and has."""

    project_id = serializers.UUIDField()
    limits = AmountsOutput()
    used = AmountsOutput()
