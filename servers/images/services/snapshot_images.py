"""The records of images that are made of instances: what they inherit, and their end when they are not finished."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from django.db import transaction
from django.db.models.functions import Now

from servers.catalog.domain.quota import ImageAmounts
from servers.catalog.services.quota import image_quota_check, quota_lock
from servers.fields import refuse_if
from servers.images.domain.image_rules import image_problems
from servers.images.domain.images import DiskFormat, ImageStatus, Visibility
from servers.images.domain.snapshots import BACKUP_TYPE, IMAGE_TYPE, inherited_properties
from servers.images.services.image_store import image_bytes_remove
from servers.models import Image

UNFINISHED = (ImageStatus.QUEUED, ImageStatus.SAVING, ImageStatus.KILLED)


@dataclass(frozen=True, slots=True)
class SnapshotOf:
    """The instance that an image is made of. `image` is the snapshot of its own image, `user_id` who asks."""

    instance_id: uuid.UUID
    project_id: uuid.UUID
    user_id: uuid.UUID
    image: Mapping[str, object]
    base_image_id: uuid.UUID | None
    root_gib: int
    extra: Mapping[str, str] = field(default_factory=dict)


def snapshot_image_create(*, name: str, of: SnapshotOf, is_of_volumes: bool = False) -> Image:
    """The record, `queued`, in the caller's transaction. It belongs to the instance's project, as its data does.

    `is_of_volumes`: it has no bytes and outlives what becomes of the instance, as the snapshots that it names.

    As in Nova it needs the memory that the instance's image needs, and a root disk as large as the instance's. Raises
    InvalidFields, QuotaExceeded.
    """
    own = {
        "instance_uuid": str(of.instance_id),
        "user_id": str(of.user_id),
        **({"base_image_ref": str(of.base_image_id)} if of.base_image_id else {}),
    }
    refuse_if(image_problems({"name": name}))
    quota_lock(of.project_id)
    image_quota_check(project_id=of.project_id, wanted=ImageAmounts(1, 0, 0))
    return Image.objects.create(
        name=name,
        project_id=of.project_id,
        visibility=Visibility.PRIVATE.value,
        disk_format=DiskFormat.QCOW2.value,
        min_disk_gib=max(_whole(of.image.get("min_disk_gib")), of.root_gib),
        min_ram_mib=_whole(of.image.get("min_ram_mib")),
        properties={**inherited_properties(of.image.get("properties")), IMAGE_TYPE: "snapshot", **own, **of.extra},
        instance_uuid=None if is_of_volumes else of.instance_id,
    )


def unfinished_images_discard(instance_id: uuid.UUID) -> None:
    """Nobody will finish an image of this instance that is not finished yet: records and bytes go."""
    statuses = [status.value for status in UNFINISHED]
    _discard(Image.objects.filter(instance_uuid=instance_id, status__in=statuses).values_list("pk", flat=True))


def snapshot_image_discard(image_id: uuid.UUID) -> None:
    """This image is needed no more. One that somebody protected stays."""
    _discard([image_id])


def backups_rotate(*, instance_id: uuid.UUID, backup_type: str, rotation: int) -> None:
    """Keep the newest `rotation` backups of this instance and type; protected ones count, and stay."""
    rows = Image.objects.filter(instance_uuid=instance_id, status=ImageStatus.ACTIVE).order_by("-created_at", "-id")
    wanted = {IMAGE_TYPE: "backup", BACKUP_TYPE: backup_type}
    mine = [image.pk for image in rows if wanted.items() <= image.properties.items()]
    _discard(mine[rotation:])


def _discard(image_ids: Iterable[uuid.UUID]) -> None:
    ids = list(image_ids)
    rows = Image.objects.filter(pk__in=ids, protected=False).exclude(status=ImageStatus.DELETED)
    gone = list(rows.values_list("pk", flat=True)) if ids else []
    if gone:
        rows.filter(pk__in=gone).update(status=ImageStatus.DELETED.value, deleted_at=Now(), updated_at=Now())
        for image_id in gone:
            transaction.on_commit(partial(image_bytes_remove, image_id), robust=True)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
