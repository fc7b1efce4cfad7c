"""The disks that a request named one by one."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from controlplane.infra.models import Timestamped, UuidKeyed
from servers.volumes.domain.block_devices import DestinationType, SourceType


class BlockDeviceMapping(UuidKeyed, Timestamped):
    """Cell scope. Fields as in Nova's block device mapping v2. An instance with the disks of its flavor and image
    has none of these rows; one with any has one for each disk, its root disk included.
    """

    instance_uuid = models.UUIDField()
    position = models.PositiveSmallIntegerField(default=0, help_text=_("The place in the request."))
    source_type = models.CharField(max_length=10, choices=[(s.value, s.value) for s in SourceType])
    destination_type = models.CharField(max_length=10, choices=[(d.value, d.value) for d in DestinationType])
    source_id = models.UUIDField(null=True, blank=True, help_text=_("The image, snapshot or volume that was named."))
    volume_id = models.UUIDField(null=True, blank=True, db_index=True, help_text=_("The volume, once there is one."))
    attachment_id = models.UUIDField(null=True, blank=True)
    boot_index = models.IntegerField(default=-1, help_text=_("0 is the root disk; below 0: it is not booted from."))
    device = models.CharField(max_length=32, blank=True, help_text=_("Such as vdb."))
    device_type = models.CharField(max_length=10, blank=True, help_text=_("disk, cdrom."))
    disk_bus = models.CharField(max_length=10, blank=True)
    guest_format = models.CharField(max_length=20, blank=True, help_text=_("A file system, or swap."))
    size_gib = models.PositiveIntegerField(default=0)
    size_mib = models.PositiveIntegerField(default=0, help_text=_("Of a swap disk, which flavors size in MiB."))
    volume_type_id = models.UUIDField(null=True, blank=True)
    delete_on_termination = models.BooleanField(default=False)
    tag = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering = ["instance_uuid", "position", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["instance_uuid", "volume_id"],
                condition=Q(volume_id__isnull=False),
                name="block_device_volume_once",
                violation_error_message="The instance has this volume already.",
            ),
            models.UniqueConstraint(
                fields=["instance_uuid", "device"],
                condition=~Q(device=""),
                name="block_device_name_once",
                violation_error_message="Another disk of the instance has this device name.",
            ),
        ]
        indexes = [models.Index(fields=["instance_uuid", "position"], name="block_device_of_instance")]

    def __str__(self) -> str:
        return f"{self.instance_uuid}: {self.device or self.position}"
