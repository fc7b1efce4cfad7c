"""Base images on hosts: which each has, and which it was asked to have."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet

from servers.images.domain.images import ImageStatus
from servers.models import Image, ImageCacheRequest, ImageOnHost


@dataclass(frozen=True, slots=True)
class HostImage:
    """A base image on a host. `names` are those of the images that have this content now; empty: none any more."""

    checksum: str
    names: tuple[str, ...]
    size_bytes: int
    guests: int
    last_used_at: datetime
    reported_at: datetime


def images_on_host(*, host: str) -> list[HostImage]:
    """What the host has in its cache, as it reported last; the last used first. Two queries."""
    rows = list(ImageOnHost.objects.filter(host=host).order_by("-last_used_at", "checksum"))
    images = Image.objects.filter(checksum_sha256__in=[row.checksum for row in rows])
    names: dict[str, list[str]] = {}
    for checksum, name in (
        images.exclude(status=ImageStatus.DELETED).order_by("name").values_list("checksum_sha256", "name")
    ):
        names.setdefault(checksum, []).append(name)
    return [
        HostImage(
            row.checksum, tuple(names.get(row.checksum, ())), row.size_bytes, row.guests, row.last_used_at,
            row.reported_at,
        )
        for row in rows
    ]  # fmt: skip


def image_cache_requests(*, host: str | None = None, aggregate_id: UUID | None = None) -> QuerySet[ImageCacheRequest]:
    """What hosts were asked to have, of one host or by one aggregate, with their images."""
    rows = ImageCacheRequest.objects.select_related("image").order_by("host", "image__name", "pk")
    if host is not None:
        rows = rows.filter(host=host)
    return rows if aggregate_id is None else rows.filter(aggregate_uuid=aggregate_id)


def images_cacheable() -> list[tuple[UUID, str]]:
    """Images that hosts can be asked to have, by name."""
    rows = Image.objects.filter(status=ImageStatus.ACTIVE).exclude(checksum_sha256="").order_by("name", "pk")
    return list(rows.values_list("pk", "name"))
