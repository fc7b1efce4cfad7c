"""The disks of an instance on the wire, under the names of block device mappings."""

from rest_framework import serializers

from controlplane.infra.api.lean_output import LeanOutput
from servers.instances.selectors.block_devices import InstanceDisk


class BlockDeviceOutput(LeanOutput[InstanceDisk]):
    """One disk of an instance whose disks were named one by one."""

    source_type = serializers.CharField(help_text="image, volume, snapshot or blank.")
    destination_type = serializers.CharField(help_text="local or volume.")
    source_id = serializers.UUIDField(allow_null=True, help_text="The image, volume or snapshot that was named.")
    volume_id = serializers.UUIDField(allow_null=True, help_text="Null for a disk of the host.")
    volume_name = serializers.CharField()
    device_name = serializers.CharField(source="device", help_text="What the guest is likely to call it, such as vdb.")
    device_type = serializers.CharField(help_text="disk or cdrom.")
    disk_bus = serializers.CharField()
    guest_format = serializers.CharField(help_text="Of a disk of the host: its file system, or swap.")
    boot_index = serializers.IntegerField(help_text="0 is the root disk; below 0: it is not booted from.")
    size_gib = serializers.IntegerField()
    size_mib = serializers.IntegerField(help_text="Of a swap disk.")
    delete_on_termination = serializers.BooleanField()
    tag = serializers.CharField()
    state = serializers.CharField(
        help_text="Of a volume's attachment: reserved, attaching, attached, detaching, error."
    )
    problem = serializers.CharField(help_text="Why the volume could not be attached or detached.")
