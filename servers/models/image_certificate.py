"""A certificate by which signatures of images are verified."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from controlplane.infra.models import Timestamped, UuidKeyed


class ImageCertificate(UuidKeyed, Timestamped):
    """API scope. Of one project, or of the installation, for all. It is never changed, only deleted."""

    name = models.CharField(max_length=255)
    project = models.ForeignKey(
        "identity.Project",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("Who may use it; empty: everybody."),
    )
    certificate = models.TextField(help_text=_("PEM."))
    subject = models.CharField(max_length=500, blank=True)
    fingerprint_sha256 = models.CharField(max_length=64, blank=True)
    not_after = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name
