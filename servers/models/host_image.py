"""Base images on hosts: which each has, as its agent reports, and which it was asked to have."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from computeagent.protocol.images import OPEN_CACHE_STATES, CacheState


class ImageOnHost(models.Model):
    """API scope. A base file in the cache of a host. The row goes when the file does.

    Agents of one machine may share a cache; each reports it for its own host. No foreign key to the image: the file is
    known by its content, which may be that of a deleted image, or of several.
    """

    host = models.CharField(max_length=255)
    checksum = models.CharField(max_length=64, help_text=_("SHA-256 of the file, in hexadecimal digits."))
    size_bytes = models.PositiveBigIntegerField(help_text=_("What it takes on the host's disk."))
    guests = models.PositiveIntegerField(default=0, help_text=_("Guests of this host that are made of it."))
    last_used_at = models.DateTimeField(help_text=_("When a build last asked for it, by the database's clock."))
    reported_at = models.DateTimeField()

    class Meta:
        ordering = ["host", "checksum"]
        constraints = [models.UniqueConstraint(fields=["host", "checksum"], name="image_on_host_once")]

    def __str__(self) -> str:
        return f"{self.checksum[:12]} on {self.host}"


class ImageCacheRequest(models.Model):
    """API scope. Somebody asked that a host have an image before a guest needs it; written until it ended.

    The host's agent asks for what is open, fetches it, and tells how it ended. Asked for twice, it is the same row.
    """

    host = models.CharField(max_length=255)
    image = models.ForeignKey("servers.Image", on_delete=models.CASCADE, related_name="+")
    aggregate_uuid = models.UUIDField(
        null=True, blank=True, help_text=_("The aggregate by which it was asked for last.")
    )
    state = models.CharField(
        max_length=10, choices=[(each.value, each.value) for each in CacheState], default=CacheState.WAITING.value
    )
    message = models.CharField(max_length=500, blank=True, help_text=_("Why it failed."))
    done_bytes = models.PositiveBigIntegerField(default=0)
    asked_by = models.CharField(max_length=150, blank=True)
    asked_at = models.DateTimeField(help_text=_("By the database's clock."))
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ["host", "image_id"]
        constraints = [models.UniqueConstraint(fields=["host", "image"], name="image_cache_request_once_per_host")]
        indexes = [
            models.Index(fields=["aggregate_uuid"], name="image_cache_of_aggregate"),
            models.Index(
                fields=["asked_at"],
                condition=models.Q(state__in=[each.value for each in OPEN_CACHE_STATES]),
                name="image_cache_open",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.image_id} for {self.host}: {self.state}"
