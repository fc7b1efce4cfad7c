"""An image: a bootable disk, its bytes in the image store."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.json_field import JsonField
from controlplane.infra.models import Timestamped, UuidKeyed
from servers.images.domain.images import ContainerFormat, DiskFormat, ImageStatus, Visibility


class Image(UuidKeyed, Timestamped):
    """The record of an image. `status` says whether its file can be used (see `servers.images.domain.images`).

    `upload_id` names the upload that may finish: a later one takes over by writing its own, and the
    compare-and-set of the earlier one then finds no row.
    """

    name = models.CharField(max_length=255)
    project = models.ForeignKey(
        "identity.Project",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("The owner; empty for an image of the installation."),
    )
    visibility = models.CharField(
        max_length=10, choices=[(v.value, v.value) for v in Visibility], default=Visibility.PRIVATE.value
    )
    status = models.CharField(
        max_length=12,
        choices=[(s.value, s.value) for s in ImageStatus],
        default=ImageStatus.QUEUED.value,
        db_index=True,
    )
    status_reason = models.CharField(max_length=500, blank=True, help_text=_("Why the last upload was refused."))
    upload_id = models.UUIDField(null=True, blank=True, editable=False)
    upload_part = models.CharField(
        max_length=1000, blank=True, editable=False, help_text=_("What the store calls an upload that comes in pieces.")
    )
    instance_uuid = models.UUIDField(
        null=True, blank=True, editable=False, help_text=_("The instance that it is a snapshot of.")
    )
    disk_format = models.CharField(
        max_length=10, choices=[(f.value, f.value) for f in DiskFormat], default=DiskFormat.QCOW2.value
    )
    container_format = models.CharField(
        max_length=10, choices=[(f.value, f.value) for f in ContainerFormat], default=ContainerFormat.BARE.value
    )
    checksum_sha256 = models.CharField(max_length=64, blank=True)
    expected_sha256 = models.CharField(
        max_length=64, blank=True, help_text=_("What the owner says the checksum is; another one is refused.")
    )
    digests = JsonField(
        default=dict,
        blank=True,
        help_text=_("Digests in hex by method, beside SHA-256: MD5, and what is signed."),
    )
    size_bytes = models.PositiveBigIntegerField(default=0, help_text=_("Size of the file."))
    virtual_size_bytes = models.PositiveBigIntegerField(default=0, help_text=_("Size of the disk that a guest sees."))
    min_disk_gib = models.PositiveIntegerField(default=0)
    min_ram_mib = models.PositiveIntegerField(default=0)
    properties = JsonField(default=dict, blank=True, help_text=_("What it asks of a host: key -> text."))
    protected = models.BooleanField(default=False, help_text=_("Cannot be deleted while this is set."))
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name", "id"]
        indexes = [
            models.Index(fields=["project", "status"], name="image_project_status"),
            models.Index(
                fields=["instance_uuid"], condition=models.Q(instance_uuid__isnull=False), name="image_of_instance"
            ),
        ]

    def __str__(self) -> str:
        return self.name
