"""Members: the projects that an image of the visibility `shared` is shared with."""

import uuid

from controlplane.kernel.errors import Conflict
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import ApiFault, bad_request
from servers.images.domain.images import Visibility
from servers.images.selectors import image_members
from servers.images.services.image_members import image_member_add, image_member_answer, image_member_remove
from servers.models import Image
from servers.openstack.call import ServersCall
from servers.openstack.image.image_json import SCHEMAS, member_json
from servers.openstack.image.lookups import image_found, image_named, member_found, project_named
from servers.openstack.image.schemas import MEMBER_ADDED, MEMBER_ANSWER
from servers.openstack.image.shapes import MemberJson, MembersShown

ONLY_SHARED = "Only shared images have members."


def _shared_image(call: ServersCall, image_id: str) -> Image:
    image = image_found(call.caller, image_id)
    if image.visibility != Visibility.SHARED:
        raise ApiFault(403, ONLY_SHARED)
    return image


def members_list(call: ServersCall, image_id: str) -> JsonAnswer[MembersShown]:
    """All for the owner; a member sees itself."""
    image = _shared_image(call, image_id)
    found = [member_json(one) for one in image_members(caller=call.caller, image=image)]
    return call.answer({"members": found, "schema": f"{SCHEMAS}/members"})


def member_show(call: ServersCall, image_id: str, member_id: str) -> JsonAnswer[MemberJson]:
    """One of them."""
    return call.answer(member_json(member_found(call.caller, _shared_image(call, image_id), member_id)))


def member_add(call: ServersCall, image_id: str) -> JsonAnswer[MemberJson]:
    """One more, which has not said yet whether it wants the image."""
    project_id = uuid.UUID(call.body(MEMBER_ADDED)["member"])
    try:
        member = image_member_add(caller=call.caller, image_id=image_named(image_id), project_id=project_id)
    except Conflict as error:
        if error.field == "visibility":
            raise ApiFault(403, ONLY_SHARED) from error
        raise
    return call.answer(member_json(member))


def member_answer(call: ServersCall, image_id: str, member_id: str) -> JsonAnswer[MemberJson]:
    """What the member itself says: accepted, rejected or pending."""
    body, project_id = call.body(MEMBER_ANSWER), project_named(member_id)
    if any(parse_uuid(body[key]) != project_id for key in ("member", "member_id") if key in body):
        raise bad_request(f"The body names another member than the path, {member_id:.80}.")
    member = image_member_answer(
        caller=call.caller, image_id=image_named(image_id), project_id=project_id, status=body["status"]
    )
    return call.answer(member_json(member))


def member_remove(call: ServersCall, image_id: str, member_id: str) -> Empty:
    """One less."""
    image_member_remove(caller=call.caller, image_id=image_named(image_id), project_id=project_named(member_id))
    return call.empty()
