"""Certificates of projects, and the verdict on a signed image, which every create asks for that needs it."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from django.db import transaction
from django.db.models import Q, QuerySet

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Forbidden, Invalid, NotFound, QuotaExceeded
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import present_names
from servers.catalog.services.quota import quota_lock
from servers.conf import server_options
from servers.fields import name_reasons, refuse_if
from servers.images.domain.signatures import (
    REQUIRED,
    SHA256,
    certificate_parse,
    certificate_refusal,
    image_signature,
    signature_check,
)
from servers.models import Image, ImageCertificate

CERTIFICATES_MAX = 100
"""Of one project."""
FIELD = "trusted_image_certificates"


def certificates_visible(*, project_id: uuid.UUID | None) -> QuerySet[ImageCertificate]:
    """Those of the installation and of this project."""
    return ImageCertificate.objects.filter(Q(project__isnull=True) | Q(project_id=project_id))


@audited("image_certificate.create", ImageCertificate)
def certificate_create(*, caller: Caller, name: str, certificate: str, is_shared: bool = False) -> ImageCertificate:
    """Keep a certificate for the caller's project, or for all, which admins may. Raises Invalid, Forbidden and
    QuotaExceeded.
    """
    refuse_if({"name": name_reasons(name)})
    if is_shared and not caller.is_admin:
        raise Forbidden(_("Only admins share certificates with every project."), field="is_shared")
    found = certificate_parse(certificate)
    with transaction.atomic():
        quota_lock(caller.project_id)
        used = ImageCertificate.objects.filter(project_id=caller.project_id).count()
        if not is_shared and used >= CERTIFICATES_MAX:
            message = _(
                "The project has {used} of {certificates_max} certificates.",
                used=used,
                certificates_max=CERTIFICATES_MAX,
            )
            raise QuotaExceeded(message, field="name", requested=1, used=used, limit=CERTIFICATES_MAX)
        return ImageCertificate.objects.create(
            name=name,
            project_id=None if is_shared else caller.project_id,
            certificate=certificate,
            subject=found.subject.rfc4514_string()[:500],
            fingerprint_sha256=found.fingerprint(hashes.SHA256()).hex(),
            not_after=found.not_valid_after_utc,
        )


@audited("image_certificate.delete", ImageCertificate, by="certificate_id")
def certificate_delete(*, caller: Caller, certificate_id: uuid.UUID) -> None:
    """Delete one. What names it can be verified no more. Raises NotFound, and Forbidden for one that all share."""
    row = certificates_visible(project_id=caller.project_id).filter(pk=certificate_id).first()
    if row is None:
        raise NotFound(_("Certificate {certificate_id} does not exist.", certificate_id=certificate_id))
    if row.project_id is None and not caller.is_admin:
        raise Forbidden(_("Only admins delete certificates that every project shares."))
    row.delete()


def signature_required(trusted: Sequence[str]) -> tuple[bool, Sequence[str]]:
    """Whether an instance's image must be signed, and by which certificates, of those that the request trusts or else
    the installation.
    """
    options = server_options()
    default = [one.strip() for one in options.default_trusted_certificate_ids.split(",") if one.strip()]
    trusted = trusted or (default if options.enable_certificate_validation else ())
    return bool(trusted) or options.verify_image_signatures, trusted


def image_signature_require(image: Image, trusted: Sequence[str], *, project_id: uuid.UUID) -> None:
    """Raises Invalid unless the image is signed, its bytes are what was signed and, where any certificate is trusted,
    the signature's is one of these or was signed by one.
    """
    said = image_signature(present_names(image.properties))
    known = _certificates([said.certificate_id, *trusted], project_id)
    certificate = known.get(said.certificate_id)
    if certificate is None:
        raise _not_trusted(said.certificate_id, _("There is no such certificate here."))
    signature_check(said, digests=image_digests(image), certificate=certificate)
    if trusted:
        unknown = [one for one in trusted if one.lower() not in known]
        if unknown:
            raise _not_trusted(said.certificate_id, _("There is no certificate {unknown:.80}.", unknown=unknown[0]))
        by_id = {one: known[one.lower()] for one in trusted}
        if refusal := certificate_refusal(
            certificate, by_id, certificate_id=said.certificate_id, now=datetime.now(tz=UTC)
        ):
            raise _not_trusted(said.certificate_id, refusal)
    elif server_options().enable_certificate_validation:
        raise _not_trusted(said.certificate_id, _("No certificate is trusted."))


def trusted_signature_require(image: Image, asked: Sequence[str], *, project_id: uuid.UUID) -> tuple[str, ...]:
    """The certificates by which an image for this project had to be signed, and was. Raises Invalid."""
    is_required, trusted = signature_required(asked)
    if is_required:
        image_signature_require(image, trusted, project_id=project_id)
    return tuple(trusted)


def image_digests(image: Image) -> dict[str, str]:
    """In hex, by the names of their methods."""
    return {SHA256: image.checksum_sha256, **image.digests}


def uploaded_signature_check(image: Image, digests: Mapping[str, str]) -> None:
    """Raises Invalid for bytes that are not what a known certificate signed. What says nothing of a signature, or names
    a certificate that is not here, passes: whoever makes an instance of it decides.
    """
    properties: dict[str, Any] = present_names(image.properties)
    if not all(properties.get(name) for name in REQUIRED):
        return
    said = image_signature(properties)
    certificate = _certificates([said.certificate_id], image.project_id).get(said.certificate_id)
    if certificate is not None:
        signature_check(said, digests=digests, certificate=certificate)


def _certificates(ids: Sequence[str], project_id: uuid.UUID | None) -> dict[str, x509.Certificate]:
    """By id in small letters; what the project may not use is not there."""
    keys = [pk for pk in map(parse_uuid, ids) if pk is not None]
    rows = certificates_visible(project_id=project_id).filter(pk__in=keys)
    return {str(row.pk): certificate_parse(row.certificate) for row in rows}


def _not_trusted(certificate_id: str, reason: str) -> Invalid:
    message = _(
        "Image signature certificate validation failed for certificate: {certificate_id:.80}. {reason}",
        certificate_id=certificate_id,
        reason=reason,
    )
    return Invalid(message, field=FIELD)
