"""What paths of the Image API name."""

import uuid

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import not_found
from servers.images.selectors import image_get, image_members
from servers.models import Image, ImageMember


def image_named(text: str) -> uuid.UUID:
    """The id in a path. Raises Fault 404 for what is none, such as a name."""
    found = parse_uuid(text)
    if found is None:
        raise not_found(f"No image found with ID {text:.80}")
    return found


def image_found(caller: Caller, text: str) -> Image:
    """Raises Fault 404, also for one that the caller may not know of."""
    try:
        return image_get(caller=caller, image_id=image_named(text))
    except NotFound as error:
        raise not_found(f"No image found with ID {text:.80}") from error


def project_named(text: str) -> uuid.UUID:
    """The project of a member. Raises Fault 404 for what is no id."""
    found = parse_uuid(text)
    if found is None:
        raise not_found(f"{text:.80} is no member of the image.")
    return found


def member_found(caller: Caller, image: Image, text: str) -> ImageMember:
    """Raises Fault 404, also for one that the caller may not know of."""
    project_id = project_named(text)
    found = next((one for one in image_members(caller=caller, image=image) if one.project_id == project_id), None)
    if found is None:
        raise not_found(f"{text:.80} is no member of the image.")
    return found
