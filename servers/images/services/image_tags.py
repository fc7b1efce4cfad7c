"""One tag of an image put on or taken off; all of them at once are a field of the image itself."""

import uuid

from django.db import transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import NotFound, QuotaExceeded
from controlplane.kernel.texts import phrase as _
from servers.fields import refuse_if
from servers.images.domain.image_rules import TAGS_MAX, tags_reasons
from servers.images.services.image import image_owned
from servers.models import Image, ImageTag


@audited("image.tag_add", Image, by="image_id", also=("tag",))
def image_tag_add(*, caller: Caller, image_id: uuid.UUID, tag: str) -> None:
    """Put one on; one that it has already stays. Raises NotFound, Forbidden, InvalidFields, QuotaExceeded."""
    image = image_owned(caller=caller, image_id=image_id)
    refuse_if({"tags": tags_reasons([tag])})
    with transaction.atomic():
        Image.objects.select_for_update().get(pk=image_id)
        others = ImageTag.objects.filter(image=image).exclude(tag=tag).count()
        if others >= TAGS_MAX:
            raise QuotaExceeded(
                _(
                    "Image {image} has {others} tags; {tags_max} are allowed.",
                    image=image.name,
                    others=others,
                    tags_max=TAGS_MAX,
                ),
                field="tags",
                requested=1,
                used=others,
                limit=TAGS_MAX,
            )
        ImageTag.objects.get_or_create(image=image, tag=tag)


@audited("image.tag_remove", Image, by="image_id", also=("tag",))
def image_tag_remove(*, caller: Caller, image_id: uuid.UUID, tag: str) -> None:
    """Take one off. Raises Forbidden; NotFound where it has none such."""
    image = image_owned(caller=caller, image_id=image_id)
    if not ImageTag.objects.filter(image=image, tag=tag).delete()[0]:
        raise NotFound(_("Image {image} has no tag {tag!r:.80}.", image=image.name, tag=tag))
