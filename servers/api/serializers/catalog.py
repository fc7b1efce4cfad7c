"""Flavors, images, key pairs, server groups, networks and quota on the wire."""

from dataclasses import fields
from typing import Any

from rest_framework import serializers

from controlplane.identity.domain import QuotaLimits
from controlplane.infra.api.strict import StrictInput
from servers.models import DeviceProfile, Flavor, KeyPair, ServerGroup


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


class FlavorProjectsOutput(serializers.Serializer[Any]):
    """The projects that were given a flavor."""

    projects = serializers.ListField(child=serializers.UUIDField())


class DeviceProfileInput(StrictInput):
    """A new device profile, or with PATCH what changes."""

    name = serializers.CharField(trim_whitespace=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    groups = serializers.ListField(
        child=serializers.DictField(),
        help_text='Objects such as {"pci_passthrough:alias": "nic:2"} or {"resources:VGPU": "1"}.',
    )


class DeviceProfileOutput(serializers.ModelSerializer[DeviceProfile]):
    """A profile and what its groups ask for."""

    groups = serializers.ListField(child=serializers.DictField())

    class Meta:
        model = DeviceProfile
        fields = ["id", "name", "description", "groups", "created_at", "updated_at"]


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


class AmountsOutput(serializers.Serializer[Any]):
    """Amounts of what a project may have; a limit of -1 means unlimited."""

    instances = serializers.IntegerField()
    cores = serializers.IntegerField()
    ram_mib = serializers.IntegerField()
    images = serializers.IntegerField()
    image_bytes = serializers.IntegerField()
    image_uploads = serializers.IntegerField(help_text="At the same time.")
    networks = serializers.IntegerField()
    subnets = serializers.IntegerField()
    ports = serializers.IntegerField()
    routers = serializers.IntegerField()
    floating_ips = serializers.IntegerField()
    security_groups = serializers.IntegerField()
    security_group_rules = serializers.IntegerField()
    volumes = serializers.IntegerField()
    volume_gib = serializers.IntegerField(help_text="GiB of volumes and of their snapshots.")
    volume_snapshots = serializers.IntegerField()
    volume_backups = serializers.IntegerField()
    volume_backup_gib = serializers.IntegerField(help_text="GiB of the volumes that backups are of, for each backup.")
    metadata_items = serializers.IntegerField(help_text="Of an instance.")
    injected_files = serializers.IntegerField(help_text="Of a request.")
    injected_file_content_bytes = serializers.IntegerField(help_text="Of each.")
    injected_file_path_bytes = serializers.IntegerField(help_text="Of the path of each.")
    key_pairs = serializers.IntegerField(help_text="Of a user.")
    server_groups = serializers.IntegerField()
    server_group_members = serializers.IntegerField(help_text="Of a group.")


class UserAmountsOutput(serializers.Serializer[Any]):
    """Amounts that a user of a project has limits of. Of what each request is measured by, 0 is in use."""

    instances = serializers.IntegerField()
    cores = serializers.IntegerField()
    ram_mib = serializers.IntegerField()
    metadata_items = serializers.IntegerField()
    injected_files = serializers.IntegerField()
    injected_file_content_bytes = serializers.IntegerField()
    injected_file_path_bytes = serializers.IntegerField()
    key_pairs = serializers.IntegerField()
    server_groups = serializers.IntegerField()
    server_group_members = serializers.IntegerField()


class UserQuotaOutput(serializers.Serializer[Any]):
    """What a user may have in a project and has. A limit of -1 is none but the project's."""

    limits = UserAmountsOutput(allow_null=True)
    used = UserAmountsOutput()


class UserQuotaInput(StrictInput):
    """Limits of a user in a project; what is left out stays, null is the project's."""

    instances = serializers.IntegerField(required=False, allow_null=True)
    cores = serializers.IntegerField(required=False, allow_null=True)
    ram_mib = serializers.IntegerField(required=False, allow_null=True)
    metadata_items = serializers.IntegerField(required=False, allow_null=True)
    injected_files = serializers.IntegerField(required=False, allow_null=True)
    injected_file_content_bytes = serializers.IntegerField(required=False, allow_null=True)
    injected_file_path_bytes = serializers.IntegerField(required=False, allow_null=True)
    key_pairs = serializers.IntegerField(required=False, allow_null=True)
    server_groups = serializers.IntegerField(required=False, allow_null=True)
    server_group_members = serializers.IntegerField(required=False, allow_null=True)
    force = serializers.BooleanField(required=False, default=False, help_text="Also below what the user has already.")


class QuotaClassInput(StrictInput):
    """Limits of the default class; what is left out stays, null is the installation's setting."""

    def get_fields(self) -> dict[str, Any]:
        """One for each limit that a project has."""
        options: dict[str, Any] = {"required": False, "allow_null": True}
        return {each.name: serializers.IntegerField(**options) for each in fields(QuotaLimits)}


class QuotaOutput(serializers.Serializer[Any]):
    """What the caller's project may have and has."""

    project_id = serializers.UUIDField()
    limits = AmountsOutput()
    used = AmountsOutput()
    user_limits = UserAmountsOutput(allow_null=True, help_text="Of the caller in this project; null: none of his own.")
    user_used = UserAmountsOutput(help_text="What the caller made of it.")
