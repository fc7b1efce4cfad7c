"""Reading images: those that are open to the caller's project, as Glance has it; all for an admin."""

import uuid
from dataclasses import fields
from typing import Any

from django.db.models import Q, QuerySet

from controlplane.identity.domain import Caller
from controlplane.infra.db import uuid_value
from controlplane.infra.prepared import PreparedQuery
from controlplane.kernel.errors import Invalid, NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.snapshots import ImageSnapshot
from servers.images.domain.boot_files import KERNEL_ID, RAMDISK_ID, kernel_and_ramdisk
from servers.images.domain.image_disks import has_root_of_its_own
from servers.images.domain.images import ANY, NO_DISKS, DiskFormat, ImageStatus, MemberStatus, Visibility
from servers.models import Image, ImageMember, ImageTask

SCHEDULED = frozenset(each.name for each in fields(ImageSnapshot))


def images_visible(*, caller: Caller) -> QuerySet[Image]:
    """Every image that is not deleted and that the caller may see, by its id, and use.

    Its project's own, public and community ones, and those that are shared with its project, whatever that said to it.
    """
    return _not_deleted() if caller.sees_all else _visible_in(caller.project_id)


def _not_deleted() -> QuerySet[Image]:
    return Image.objects.exclude(status=ImageStatus.DELETED)


def _visible_in(project_id: uuid.UUID) -> QuerySet[Image]:
    shared, open_to_all = _shared_with(project_id), [Visibility.PUBLIC.value, Visibility.COMMUNITY.value]
    return _not_deleted().filter(
        Q(visibility__in=open_to_all) | Q(project_id=project_id) | Q(visibility=Visibility.SHARED, pk__in=shared)
    )


_ONE = PreparedQuery("image_one", lambda pk: _not_deleted().filter(pk=pk), types=["uuid"])
_ONE_IN = PreparedQuery(
    "image_one_in", lambda pk, project_id: _visible_in(project_id).filter(pk=pk), types=["uuid", "uuid"]
)


def _one(caller: Caller, pk: uuid.UUID) -> list[Image]:
    """That of `images_visible` with this id, or none. One query."""
    if caller.sees_all:
        return _ONE.run([uuid_value(pk)])
    return _ONE_IN.run([uuid_value(pk), uuid_value(caller.project_id)])


def images_listed(*, caller: Caller, visibility: str = "", member_status: str = "") -> QuerySet[Image]:
    """Those that lists show, as Glance: without community images of others, unless that visibility is asked for, and
    without what is shared but not accepted (or has the `member_status` that is asked for).

    So nobody can put an image in front of another project's eyes, or under a name that it boots, without being asked.
    Who asks for ANY visibility gets the community images too, and for ANY member status what was shared in whatever
    state. Admins see what all projects have, so that they find what fills the store.
    """
    rows = images_visible(caller=caller)
    if caller.sees_all or visibility == Visibility.COMMUNITY:
        return rows
    if member_status == ANY:
        shared = _shared_with(caller.project_id)
    else:
        is_status = member_status in set(MemberStatus)
        shared = _shared_with(caller.project_id, member_status if is_status else MemberStatus.ACCEPTED.value)
    listed = Q(project_id=caller.project_id) | Q(visibility=Visibility.PUBLIC)
    if visibility == ANY:
        listed |= Q(visibility=Visibility.COMMUNITY)
    return rows.filter(listed | Q(visibility=Visibility.SHARED, pk__in=shared))


def newest_upload() -> tuple[uuid.UUID, uuid.UUID] | None:
    """Image and upload of the newest bytes that may be used: what a store that is the right one has for certain."""
    rows = Image.objects.filter(status=ImageStatus.ACTIVE, upload_id__isnull=False).order_by("-created_at", "-pk")
    found = rows.values_list("pk", "upload_id").first()
    return None if found is None or found[1] is None else (found[0], found[1])


def _shared_with(project_id: uuid.UUID, status: str = "") -> QuerySet[ImageMember, dict[str, Any]]:
    members = ImageMember.objects.filter(project_id=project_id)
    return (members.filter(status=status) if status else members).values("image_id")  # type: ignore[return-value]


def image_get(*, caller: Caller, image_id: uuid.UUID) -> Image:
    """Raises NotFound, also for one that the caller may not know of."""
    image = images_visible(caller=caller).select_related("task").filter(pk=image_id).first()
    if image is None:
        raise NotFound(_("Image {image_id} does not exist.", image_id=image_id))
    return image


def image_members(*, caller: Caller, image: Image) -> list[ImageMember]:
    """All members for the owner and admins; a member sees itself."""
    rows = ImageMember.objects.filter(image=image).select_related("project")
    if not caller.sees_all and image.project_id != caller.own_project_id:
        rows = rows.filter(project_id=caller.project_id)
    return list(rows)


def image_tasks_all() -> QuerySet[ImageTask]:
    """What is being done, or was done last, to get the bytes of all images; each with its image. For administrators."""
    return ImageTask.objects.select_related("image")


def images_offered(*, caller: Caller) -> QuerySet[ImageMember]:
    """Memberships of the caller's project that it has not answered yet."""
    rows = ImageMember.objects.filter(project_id=caller.project_id, status=MemberStatus.PENDING)
    shared = rows.filter(image__visibility=Visibility.SHARED).exclude(image__status=ImageStatus.DELETED)
    return shared.select_related("image", "image__project")


def image_for_instance(*, caller: Caller, reference: str, needs_bytes: bool = True) -> Image:
    """The image with this id or name, if instances can be made of it. Raises Invalid for the field `image`.

    `needs_bytes`: its disk is wanted, which an image has not whose disks are snapshots of volumes.

    A name that several images share is refused, so that nobody boots what somebody else made public under it; names
    are those of lists, where others' community images and shared ones that were not accepted are not.
    """
    pk = parse_uuid(reference)
    found = _one(caller, pk) if pk else []
    if not found:
        named = list(images_listed(caller=caller).filter(name=reference)[:50])
        found = [row for row in named if row.status == ImageStatus.ACTIVE] or named
    if not found:
        raise Invalid(_("Image {reference:.80} does not exist.", reference=reference), field="image")
    if len(found) > 1:
        raise Invalid(
            _("{count} images are named {reference:.80}; use an id.", count=len(found), reference=reference),
            field="image",
        )
    if found[0].status != ImageStatus.ACTIVE:
        raise Invalid(
            _("Image {name} is {status}, not active.", name=found[0].name, status=found[0].status), field="image"
        )
    if found[0].disk_format in NO_DISKS:
        raise Invalid(
            _(
                "Image {name} is no disk but of the format {disk_format}.",
                name=found[0].name,
                disk_format=found[0].disk_format,
            ),
            field="image",
        )
    if needs_bytes and has_root_of_its_own(found[0].properties):
        said = _(
            "has no bytes: its disks are snapshots of volumes. Create an instance of it, or a volume of a snapshot"
        )
        raise Invalid(_("Image {name} {said}.", name=found[0].name, said=said), field="image")
    _boot_files_check(caller, found[0])
    return found[0]


def _boot_files_check(caller: Caller, image: Image) -> None:
    """Kernel and initial RAM disk that the image names are images that the caller may use, active and what they are
    named as. Raises Invalid for the field `image`.
    """
    named = zip(
        (KERNEL_ID, RAMDISK_ID), kernel_and_ramdisk(image.properties), (DiskFormat.AKI, DiskFormat.ARI), strict=True
    )
    for key, reference, disk_format in named:
        pk = parse_uuid(reference)
        if pk is None:  # what is no id is a contradiction of the image by itself
            continue
        found = images_visible(caller=caller).filter(pk=pk).first()
        if found is None:
            raise Invalid(
                _(
                    "Image {image} boots by the image {reference} ({key}), which does not exist.",
                    image=image.name,
                    reference=reference,
                    key=key,
                ),
                field="image",
            )
        if found.status != ImageStatus.ACTIVE or found.disk_format != disk_format:
            said = _(
                "is {status} and of the format {disk_format}; it must be active and {disk_format_value}",
                status=found.status,
                disk_format=found.disk_format,
                disk_format_value=disk_format.value,
            )
            raise Invalid(
                _(
                    "Image {name}, by which image {image} boots ({key}), {said}.",
                    name=found.name,
                    image=image.name,
                    key=key,
                    said=said,
                ),
                field="image",
            )


def image_asked(image: Image) -> ImageSnapshot:
    """The part of the snapshot that scheduling reads."""
    return ImageSnapshot(**{name: value for name, value in image_snapshot(image).items() if name in SCHEDULED})


def image_snapshot(image: Image) -> dict[str, Any]:
    """What is stored of its image with an instance. One query more for an image that names a kernel."""
    ids = [parse_uuid(one) for one in kernel_and_ramdisk(image.properties)]
    rows = Image.objects.in_bulk([pk for pk in ids if pk is not None]) if any(ids) else {}
    boots = {name: _boot_file(rows[pk]) for name, pk in zip(("kernel", "ramdisk"), ids, strict=True) if pk in rows}
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
        **boots,
    }


def _boot_file(image: Image) -> dict[str, Any]:
    return {"id": str(image.pk), "checksum_sha256": image.checksum_sha256, "size_bytes": image.size_bytes}
