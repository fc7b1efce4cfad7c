"""The records of images. Their bytes are the business of `servers.images.services.image_store`.

A caller of None is the installation itself: its images belong to no project.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, Forbidden, NotFound
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.image_property_names import present_names
from servers.catalog.domain.quota import ImageAmounts
from servers.catalog.services.quota import image_quota_check, quota_lock
from servers.fields import refuse_if
from servers.images.domain.image_rules import image_problems
from servers.images.domain.images import TRANSITIONS, ImageStatus, Visibility
from servers.images.domain.signatures import HASH_METHOD_PROPERTY, digest_wanted
from servers.images.selectors import image_get
from servers.models import Image, ImageTag

CHANGEABLE = frozenset(
    {"name", "visibility", "min_disk_gib", "min_ram_mib", "properties", "protected", "expected_sha256", "disk_format"}
)
BEFORE_DATA = frozenset({"expected_sha256", "disk_format"})
"""Fields that say how the data must look; they cannot change once it is there."""


@audited("image.create", Image, also=("tags",))
def image_create(
    *,
    caller: Caller | None,
    name: str,
    disk_format: str = "qcow2",
    container_format: str = "bare",
    visibility: str = "private",
    min_disk_gib: int = 0,
    min_ram_mib: int = 0,
    properties: Mapping[str, str] | None = None,
    protected: bool = False,
    expected_sha256: str = "",
    tags: Sequence[str] = (),
    image_id: uuid.UUID | None = None,
) -> Image:
    """A new image without data (`queued`).

    Raises InvalidFields; Forbidden when only admins may publish; QuotaExceeded; Conflict for an id that is taken.
    """
    fields: dict[str, Any] = {
        "name": name,
        "disk_format": disk_format,
        "container_format": container_format,
        "visibility": visibility,
        "min_disk_gib": min_disk_gib,
        "min_ram_mib": min_ram_mib,
        "properties": dict(properties or {}),
        "protected": protected,
        "expected_sha256": expected_sha256.lower(),
    }
    refuse_if(image_problems({**fields, "tags": tags}))
    _check_may_publish(caller, visibility)
    fields["project_id"] = caller.project_id if caller else None
    if image_id is not None:
        fields["id"] = image_id
    try:
        with transaction.atomic():
            if caller is not None:
                quota_lock(caller.project_id)
                image_quota_check(project_id=caller.project_id, wanted=ImageAmounts(1, 0, 0))
            image = Image.objects.create(**fields)
            _tags_write(image, tags)
            return image
    except IntegrityError as error:
        raise Conflict(_("Image {image_id} exists already.", image_id=image_id), field="id") from error


@audited("image.update", Image, by="image_id", also=("tags",))
def image_update(
    *,
    caller: Caller | None,
    image_id: uuid.UUID,
    changes: Mapping[str, Any],
    tags: Sequence[str] | None = None,
    properties_seen: Mapping[str, str] | None = None,
) -> Image:
    """Change some of CHANGEABLE, and all tags where they are given.

    Whoever adds or takes away single properties names all that were seen, so that somebody else's are not written over.
    Raises InvalidFields, Forbidden, NotFound; Conflict once data is there, and at `properties` where these changed.
    """
    image = image_owned(caller=caller, image_id=image_id)
    refuse_if(
        {field: [_("There is no such field, or it cannot be changed.")] for field in changes if field not in CHANGEABLE}
    )
    if isinstance(expected := changes.get("expected_sha256"), str):
        changes = {**changes, "expected_sha256": expected.lower()}
    judged = changes if tags is None else {**changes, "tags": tags}
    refuse_if(image_problems(judged, stored_properties=image.properties))
    if changes.get("visibility", image.visibility) != image.visibility:
        _check_may_publish(caller, changes["visibility"])
    rows = Image.objects.filter(pk=image_id).exclude(status=ImageStatus.DELETED)
    late = sorted(field for field in BEFORE_DATA & set(changes) if changes[field] != getattr(image, field))
    if _asks_for_another_digest(image, changes):
        late.append(HASH_METHOD_PROPERTY)
    if late:
        rows = rows.filter(status__in=[ImageStatus.QUEUED, ImageStatus.KILLED])
    if properties_seen is not None:
        rows = rows.filter(properties=properties_seen)
    with transaction.atomic():
        if not rows.update(**changes, updated_at=Now()):
            now = Image.objects.filter(pk=image_id).first()
            if properties_seen is not None and now is not None and now.properties != properties_seen:
                raise Conflict(
                    _("Somebody else changed the properties of image {image}.", image=image.name), field="properties"
                )
            what = late[0] if late else "It"
            raise Conflict(
                _("{what} cannot change while the image is {status}.", what=what, status=image.status), field="status"
            )
        if tags is not None:
            ImageTag.objects.filter(image=image).exclude(tag__in=tags).delete()
            _tags_write(image, tags)
    return Image.objects.get(pk=image_id)


def _tags_write(image: Image, tags: Iterable[str]) -> None:
    """Those that it has already stay."""
    ImageTag.objects.bulk_create((ImageTag(image=image, tag=tag) for tag in sorted(set(tags))), ignore_conflicts=True)


def _asks_for_another_digest(image: Image, changes: Mapping[str, Any]) -> bool:
    """Whether the image is to be signed by a digest of its bytes that is made while they come."""
    wanted = digest_wanted(present_names(changes.get("properties", {})))
    return bool(wanted) and wanted not in {*image.digests, digest_wanted(present_names(image.properties))}


def image_owned(*, caller: Caller | None, image_id: uuid.UUID) -> Image:
    """The image, if the caller may change it: its project's members and admins. Raises NotFound, Forbidden."""
    if caller is None:
        image = Image.objects.filter(pk=image_id).exclude(status=ImageStatus.DELETED).first()
        if image is None:
            raise NotFound(_("Image {image_id} does not exist.", image_id=image_id))
        return image
    image = image_get(caller=caller, image_id=image_id)
    if not caller.is_admin and image.project_id != caller.own_project_id:
        raise Forbidden(_("Image {image} belongs to another project.", image=image.name))
    return image


def image_status_set(*, image_id: uuid.UUID, status: ImageStatus, **changes: Any) -> None:
    """Compare-and-set: only from a state that `status` may follow. Raises NotFound, Conflict."""
    before = [old.value for old, following in TRANSITIONS.items() if status in following]
    rows = Image.objects.filter(pk=image_id, status__in=before)
    if rows.update(status=status.value, updated_at=Now(), **changes):
        return
    image = Image.objects.filter(pk=image_id).exclude(status=ImageStatus.DELETED).first()
    if image is None:
        raise NotFound(_("Image {image_id} does not exist.", image_id=image_id))
    raise Conflict(
        _(
            "Image {image} is {status}, which cannot become {status_value}.",
            image=image.name,
            status=image.status,
            status_value=status.value,
        ),
        status=image.status,
    )


@audited("image.deactivate", Image, by="image_id")
def image_deactivate(*, image_id: uuid.UUID) -> Image:
    """No new instances of it until it is active again. For admins, which the policy of the door decides."""
    image_status_set(image_id=image_id, status=ImageStatus.DEACTIVATED)
    return Image.objects.get(pk=image_id)


@audited("image.reactivate", Image, by="image_id")
def image_reactivate(*, image_id: uuid.UUID) -> Image:
    """Undo `image_deactivate`. Raises Conflict for an image that is not deactivated."""
    rows = Image.objects.filter(pk=image_id, status=ImageStatus.DEACTIVATED)
    if not rows.update(status=ImageStatus.ACTIVE.value, updated_at=Now()):
        image = Image.objects.filter(pk=image_id).exclude(status=ImageStatus.DELETED).first()
        if image is None:
            raise NotFound(_("Image {image_id} does not exist.", image_id=image_id))
        raise Conflict(
            _("Image {image} is {status}, not deactivated.", image=image.name, status=image.status), status=image.status
        )
    return Image.objects.get(pk=image_id)


def _check_may_publish(caller: Caller | None, visibility: str) -> None:
    if visibility == Visibility.PUBLIC and caller is not None and not caller.is_admin:
        raise Forbidden(_("Only admins make images public."), field="visibility")
