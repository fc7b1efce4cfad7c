"""What is being done, or was done last, to get the bytes of an image: an import from a URL, a conversion."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.models import Timestamped
from servers.images.domain.images import ImageTaskKind, ImageTaskState
from servers.models.image import Image


class ImageTask(Timestamped):
    """How far it is, for people. Attempts, leases and the deadline are those of the row of work for the image."""

    image = models.OneToOneField(Image, on_delete=models.CASCADE, primary_key=True, related_name="task")
    kind = models.CharField(max_length=10, choices=[(k.value, k.value) for k in ImageTaskKind])
    state = models.CharField(
        max_length=12, choices=[(s.value, s.value) for s in ImageTaskState], default=ImageTaskState.PENDING.value
    )
    source_url = models.CharField(
        max_length=2000, blank=True, help_text=_("Where the bytes came from. Once the import ended, without its query.")
    )
    checksum = models.CharField(
        max_length=140, blank=True, help_text=_("sha256:... or sha512:..., which they must have.")
    )
    checksum_url = models.CharField(
        max_length=2000, blank=True, help_text=_("A list of checksums that names the file of the source.")
    )
    done_bytes = models.PositiveBigIntegerField(default=0)
    total_bytes = models.PositiveBigIntegerField(null=True, blank=True, help_text=_("Empty while nobody knows."))
    reason = models.CharField(max_length=500, blank=True, help_text=_("Why it failed, or is tried again."))
    asked_by = models.CharField(max_length=150, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.kind} of {self.image_id} ({self.state})"
