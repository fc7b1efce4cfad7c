"""Sharing an image with other projects, as Glance: its owner names them, and each of them says whether it wants it."""

import uuid

from django.db import transaction
from django.db.models.functions import Now

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.selectors import project_get
from controlplane.kernel.errors import Conflict, Forbidden, Invalid, NotFound, QuotaExceeded
from controlplane.kernel.texts import phrase as _
from servers.conf import server_options
from servers.images.domain.images import MemberStatus, Visibility
from servers.images.selectors import image_get
from servers.images.services.image import image_owned
from servers.models import Image, ImageMember


@audited("image.member_add", Image, by="image_id", also=("project_id",))
def image_member_add(*, caller: Caller | None, image_id: uuid.UUID, project_id: uuid.UUID) -> ImageMember:
    """Share with this project; it may use the image by its id at once, and has it in its lists once it accepts.

    Raises NotFound, Forbidden; Invalid for a project that does not exist; Conflict for an image that is not shared, its
    own project, or one that is a member; QuotaExceeded above IMAGE_MEMBERS.
    """
    image = image_owned(caller=caller, image_id=image_id)
    try:
        project_get(project_id=project_id)
    except NotFound as error:
        raise Invalid(_("Project {project_id} does not exist.", project_id=project_id), field="project") from error
    limit = server_options().image_members
    with transaction.atomic():
        locked = Image.objects.select_for_update().get(pk=image_id)
        if locked.visibility != Visibility.SHARED:
            raise Conflict(
                _(
                    "Image {image} is {visibility}: only shared ones have members.",
                    image=image.name,
                    visibility=locked.visibility,
                ),
                field="visibility",
            )
        if project_id == locked.project_id:
            raise Conflict(_("Image {image} is of this project.", image=image.name), field="project")
        has = ImageMember.objects.filter(image=image).count()
        if ImageMember.objects.filter(image=image, project_id=project_id).exists():
            raise Conflict(_("The project is a member already."), field="project")
        if has >= limit:
            raise QuotaExceeded(
                _("Image {image} has {has} members; {limit} are allowed.", image=image.name, has=has, limit=limit),
                field="project",
                requested=1,
                used=has,
                limit=limit,
            )
        return ImageMember.objects.create(image=image, project_id=project_id)


@audited("image.member_remove", Image, by="image_id", also=("project_id",))
def image_member_remove(*, caller: Caller | None, image_id: uuid.UUID, project_id: uuid.UUID) -> None:
    """Share no longer with it. Its instances stay. Raises NotFound, Forbidden."""
    image = image_owned(caller=caller, image_id=image_id)
    if not ImageMember.objects.filter(image=image, project_id=project_id).delete()[0]:
        raise NotFound(
            _("Project {project_id} is no member of image {image}.", project_id=project_id, image=image.name)
        )


@audited("image.member_answer", Image, by="image_id", also=("status",))
def image_member_answer(*, caller: Caller, image_id: uuid.UUID, project_id: uuid.UUID, status: str) -> ImageMember:
    """Accept or reject what was shared, or leave it open again: for the member itself, and admins.

    Raises NotFound; Forbidden for the owner, who cannot answer for others; Invalid.
    """
    image = image_get(caller=caller, image_id=image_id)
    if status not in set(MemberStatus):
        raise Invalid(
            _(
                "Is {status!r:.40}; it must be one of {memberstatus}.",
                status=status,
                memberstatus=", ".join(MemberStatus),
            ),
            field="status",
        )
    if not caller.is_admin and caller.own_project_id != project_id:
        if image.project_id == caller.own_project_id:
            raise Forbidden(_("Only the member itself says whether it accepts an image."))
        raise NotFound(
            _("Project {project_id} is no member of image {image}.", project_id=project_id, image=image.name)
        )
    rows = ImageMember.objects.filter(image=image, project_id=project_id)
    if not rows.update(status=status, updated_at=Now()):
        raise NotFound(
            _("Project {project_id} is no member of image {image}.", project_id=project_id, image=image.name)
        )
    return rows.select_related("project").get()
