"""Base images of hosts: what agents report, and filling the caches of an aggregate before guests need them.

As Nova's aggregate image cache call, but that each request is a row: killed anywhere, the host asks again, and how it
ended is told. Invariant: a host reads no image but those that it is asked to have, or has work for.
"""

import uuid
from collections.abc import Sequence
from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from computeagent.protocol.images import OPEN_CACHE_STATES, CachedImage, CacheState, WantedImage
from computeagent.protocol.work import HostWakeupKind
from controlplane.audit_log.recording.audited import audited
from controlplane.infra.db import db_now, now_plus
from controlplane.kernel.errors import Conflict, Invalid, NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.work.hints import changed, host_topic
from controlplane.work.wakeups import wakeups_send
from controlplane.work.work import compute_queue
from scheduling.fleet.selectors.aggregates import aggregate_members
from servers.images.domain.images import ImageStatus
from servers.images.services.image_store import READABLE, image_chunks
from servers.images.stores.store import ImageBytes
from servers.models import Image, ImageCacheRequest, ImageOnHost

MAX_IMAGES_OF_HOST = 1000
MAX_IMAGES_ASKED = 32
MAX_WANTED = 100
"""Told to a host at once; it asks again."""
MAX_BYTES = 2**63 - 1
CHECKSUM_LENGTH = 64
OPEN = [each.value for each in OPEN_CACHE_STATES]
GIVEN_UP_AFTER = timedelta(days=1)
ENDED_RETENTION = timedelta(days=7)
GIVEN_UP = _("The host did not fetch it within a day. Is its agent up?")


def cached_images_store(*, host: str, images: Sequence[CachedImage]) -> None:
    """Store what the host has now, in place of what it had. Called while the host is its agent's."""
    now = db_now()
    rows = [
        ImageOnHost(
            host=host,
            checksum=image.checksum,
            size_bytes=min(image.size_bytes, MAX_BYTES),
            guests=min(image.guests, 2**31 - 1),
            last_used_at=now - timedelta(seconds=min(image.unused_s, 10 * 365 * 86400)),
            reported_at=now,
        )
        for image in images[:MAX_IMAGES_OF_HOST]
        if _is_checksum(image.checksum) and min(image.size_bytes, image.unused_s, image.guests) >= 0
    ]
    with transaction.atomic():
        here = ImageOnHost.objects.filter(host=host)
        here.exclude(checksum__in=[row.checksum for row in rows]).delete()
        ImageOnHost.objects.bulk_create(
            {row.checksum: row for row in rows}.values(),
            update_conflicts=True,
            unique_fields=["host", "checksum"],
            update_fields=["size_bytes", "guests", "last_used_at", "reported_at"],
        )
        changed(host_topic(host))


def images_wanted(*, host: str) -> list[WantedImage]:
    """What the host has still to fetch, oldest request first. One whose image cannot be read any more ends here."""
    found = ImageCacheRequest.objects.filter(host=host, state__in=OPEN).select_related("image").order_by("asked_at")
    wanted = []
    for request in found[:MAX_WANTED]:
        image = request.image
        if image.status not in READABLE or not image.checksum_sha256:
            image_cache_progress(
                host=host,
                image_id=image.pk,
                state=CacheState.FAILED,
                message=_("Image {image} is {status}.", image=image.name, status=image.status),
            )
            continue
        wanted.append(WantedImage(str(image.pk), image.checksum_sha256, image.size_bytes, image.disk_format))
    return wanted


def hosts_with_images_to_fetch(*, silent_s: float) -> set[str]:
    """Hosts that were asked to have an image and have told nothing of it for so many seconds. One query."""
    silent = ImageCacheRequest.objects.filter(state__in=OPEN, updated_at__lt=now_plus(-silent_s))
    return set(silent.order_by().values_list("host", flat=True).distinct())


def wanted_image_chunks(*, host: str, image_id: uuid.UUID, offset: int) -> ImageBytes:
    """The bytes of an image that this host was asked to have. Raises NotFound, Conflict."""
    if not ImageCacheRequest.objects.filter(host=host, image_id=image_id, state__in=OPEN).exists():
        raise NotFound(_("This host is not asked to have such an image."))
    return image_chunks(image_id, offset=offset)


def image_cache_progress(
    *, host: str, image_id: uuid.UUID, state: CacheState, done_bytes: int = 0, message: str = ""
) -> None:
    """How far the host is. Raises NotFound for what is not open: it ended, or was taken back."""
    rows = ImageCacheRequest.objects.filter(host=host, image_id=image_id, state__in=OPEN)
    shown = "".join(each if each.isprintable() else " " for each in message)[:500]
    done = max(0, min(done_bytes, MAX_BYTES))
    if not rows.update(state=state.value, done_bytes=done, message=shown, updated_at=Now()):
        raise NotFound(_("This host is not asked to have such an image."))
    changed(host_topic(host))


@audited("aggregate.images_cache", by="aggregate_id", also=("image_ids",))
def aggregate_images_cache(*, aggregate_id: uuid.UUID, image_ids: Sequence[uuid.UUID], asked_by: str) -> int:
    """Ask every host of the aggregate to have these images. How many requests are open for that; one that was open
    already stays as it is, and one that failed begins again.

    Raises NotFound; Invalid for images that do not exist or have no data; Conflict for an aggregate without hosts.
    """
    name, hosts = aggregate_members(aggregate_id=aggregate_id)
    wanted = list(dict.fromkeys(image_ids))
    if not 1 <= len(wanted) <= MAX_IMAGES_ASKED:
        raise Invalid(
            _(
                "1 to {max_images_asked} images can be asked for at once, not {count}.",
                max_images_asked=MAX_IMAGES_ASKED,
                count=len(wanted),
            ),
            field="cache",
        )
    images = {image.pk: image for image in Image.objects.filter(pk__in=wanted).exclude(status=ImageStatus.DELETED)}
    for image_id in wanted:
        image = images.get(image_id)
        if image is None:
            raise Invalid(_("Image {image_id} does not exist.", image_id=image_id), field="cache")
        if image.status != ImageStatus.ACTIVE or not image.checksum_sha256:
            raise Invalid(
                _(
                    "Image {image} is {status}: only active images can be cached.",
                    image=image.name,
                    status=image.status,
                ),
                field="cache",
            )
    if not hosts:
        raise Conflict(_("Aggregate {name} has no hosts.", name=name), field="hosts")
    now = db_now()
    rows = [
        ImageCacheRequest(
            host=host, image_id=pk, aggregate_uuid=aggregate_id, asked_by=asked_by[:150], asked_at=now, updated_at=now
        )
        for host in hosts
        for pk in wanted
    ]
    with transaction.atomic():
        # What ended begins anew; what is open goes on, and its host is not sent back to the start.
        of_these = ImageCacheRequest.objects.filter(host__in=hosts, image_id__in=wanted)
        of_these.exclude(state__in=OPEN).update(
            state=CacheState.WAITING.value, message="", done_bytes=0, asked_by=asked_by[:150], asked_at=now,
            updated_at=now,
        )  # fmt: skip
        of_these.update(aggregate_uuid=aggregate_id)
        ImageCacheRequest.objects.bulk_create(rows, ignore_conflicts=True, batch_size=500)
        for host in hosts:
            changed(host_topic(host))
        wakeups_send((compute_queue(host), HostWakeupKind.IMAGES.value, "") for host in hosts)
    return len(rows)


def host_images_forget(*, host: str) -> None:
    """The host is removed: nothing is known of its cache, and nothing asked of it."""
    ImageOnHost.objects.filter(host=host).delete()
    ImageCacheRequest.objects.filter(host=host).delete()


def image_cache_round() -> int:
    """End requests that no host took up for a day, and remove those that ended a week ago. How many were removed."""
    now = db_now()
    overdue = ImageCacheRequest.objects.filter(state__in=OPEN, asked_at__lt=now - GIVEN_UP_AFTER)
    overdue.update(state=CacheState.FAILED.value, message=GIVEN_UP, updated_at=F("updated_at"))
    old = ImageCacheRequest.objects.exclude(state__in=OPEN).filter(asked_at__lt=now - ENDED_RETENTION)
    return old.delete()[0]


def _is_checksum(text: str) -> bool:
    return len(text) == CHECKSUM_LENGTH and all(each in "0123456789abcdef" for each in text)
