"""Reading images: public ones and those of the caller's project; all for an admin."""

import uuid
from dataclasses import fields
from typing import Any

from django.db.models import Q, QuerySet

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Invalid, NotFound
from controlplane.kernel.ids import parse_uuid
from scheduling.domain.snapshots import ImageSnapshot
from servers.images.domain.images import ImageStatus, Visibility
from servers.models import Image

SCHEDULED = frozenset(each.name for each in fields(ImageSnapshot))


def images_visible(*, caller: Caller) -> QuerySet[Image]:
    """Every image that is not deleted and that the caller may see."""
    rows = Image.objects.exclude(status=ImageStatus.DELETED)
    if caller.is_admin:
        return rows
    return rows.filter(Q(visibility=Visibility.PUBLIC) | Q(project_id=caller.project_id))


def image_get(*, caller: Caller, image_id: uuid.UUID) -> Image:
    """Raises NotFound, also for one that the caller may not know of."""
    image = images_visible(caller=caller).filter(pk=image_id).first()
    if image is None:
        raise NotFound(f"Image {image_id} does not exist.")
    return image


def image_for_instance(*, caller: Caller, reference: str) -> Image:
    """The image with this id or name, if instances can be made of it. Raises Invalid for the field `image`.

    A name that several images share is refused, so that nobody boots what somebody else made public under it.
    """
    pk = parse_uuid(reference)
    rows = images_visible(caller=caller)
    found = list(rows.filter(pk=pk)) if pk else []
    if not found:
        named = list(rows.filter(name=reference)[:50])
        found = [row for row in named if row.status == ImageStatus.ACTIVE] or named
    if not found:
        raise Invalid(f"Image {reference:.80} does not exist.", field="image")
    if len(found) > 1:
        raise Invalid(f"{len(found)} images are named {reference:.80}; use an id.", field="image")
    if found[0].status != ImageStatus.ACTIVE:
        raise Invalid(f"Image {found[0].name} is {found[0].status}, not active.", field="image")
    return found[0]


def image_asked(image: Image) -> ImageSnapshot:
    """The part of the snapshot that scheduling reads."""
    return ImageSnapshot(**{name: value for name, value in image_snapshot(image).items() if name in SCHEDULED})


def image_snapshot(image: Image) -> dict[str, Any]:
    """What is stored of its image with an instance."""
    return {
        "id": str(image.pk),
        "name": image.name,
        "status": image.status,
        "disk_format": image.disk_format,
        "checksum_sha256": image.checksum_sha256,
        "size_bytes": image.size_bytes,
        "virtual_size_bytes": image.virtual_size_bytes,
        "min_disk_gib": image.min_disk_gib,
        "min_ram_mib": image.min_ram_mib,
        "properties": dict(image.properties),
    }
