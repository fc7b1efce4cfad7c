"""Certificates of signed images on the wire."""

from rest_framework import serializers

from controlplane.infra.api.strict import StrictInput
from servers.images.domain.signatures import PEM_MAX_CHARS
from servers.models import ImageCertificate


class ImageCertificateInput(StrictInput):
    """A new certificate. Values are checked by the service."""

    name = serializers.CharField(trim_whitespace=False, max_length=10_000)
    certificate = serializers.CharField(max_length=PEM_MAX_CHARS, help_text="X.509, in PEM.")
    is_shared = serializers.BooleanField(required=False, default=False, help_text="Admins: for every project.")


class ImageCertificateOutput(serializers.ModelSerializer[ImageCertificate]):
    """One certificate; `project` is null for one that every project shares."""

    class Meta:
        model = ImageCertificate
        fields = ["id", "name", "project", "certificate", "subject", "fingerprint_sha256", "not_after", "created_at"]
