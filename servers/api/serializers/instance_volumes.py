"""Volumes of an instance on the wire."""

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from servers.instances.selectors.block_devices import InstanceDisk


class InstanceVolumeOutput(serializers.Serializer[InstanceDisk]):
    """One volume that the instance has."""

    attachment_id = serializers.UUIDField()
    volume_id = serializers.UUIDField()
    name = serializers.CharField(source="volume_name")
    size_gib = serializers.IntegerField(help_text="GiB.")
    state = serializers.CharField(help_text="Of the attachment: reserved, attaching, attached, detaching or error.")
    device = serializers.CharField(help_text="What the guest is likely to call it, such as vdb.")
    bus = serializers.CharField(source="disk_bus")
    tag = serializers.CharField()
    boot_index = serializers.IntegerField(help_text="0: the instance boots from it; below 0: it is not booted from.")
    is_read_only = serializers.BooleanField()
    is_shared = serializers.BooleanField(help_text="Other instances may have it at the same time.")
    delete_on_termination = serializers.BooleanField(help_text="It is deleted with the instance.")
    problem = serializers.CharField(help_text="What went wrong with it last; empty: nothing.")
    attached_at = serializers.DateTimeField(allow_null=True)


class InstanceVolumeInput(StrictInput):
    """A volume to be attached. Values are checked by the service."""

    volume = serializers.CharField(max_length=255, help_text="Id or name.")
    device = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=32, help_text="Such as vdc; by default the next free."
    )
    tag = serializers.CharField(required=False, allow_blank=True, default="", max_length=255)
    delete_on_termination = serializers.BooleanField(required=False, default=False)
    read_only = serializers.BooleanField(required=False, default=False)  # type: ignore[assignment]
