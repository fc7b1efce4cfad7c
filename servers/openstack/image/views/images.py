"""Records of images: list, show, make, change, delete, deactivate."""

import uuid

from controlplane.kernel.errors import Conflict
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import ApiFault, bad_request
from servers.images.domain.images import ImageStatus
from servers.images.selectors import images_listed, images_visible
from servers.images.services.image import image_create, image_deactivate, image_reactivate, image_update
from servers.images.services.image_store import image_delete
from servers.models import Image
from servers.openstack.call import ServersCall
from servers.openstack.image.attributes import fields_written, is_base, writable_check
from servers.openstack.image.image_json import IMAGES, SCHEMAS, image_json
from servers.openstack.image.json_patch import patch_steps, patched
from servers.openstack.image.list_query import images_asked, images_filtered
from servers.openstack.image.lookups import image_found, image_named
from servers.openstack.image.schemas import IMAGE_WRITTEN
from servers.openstack.image.shapes import ImagesShown, ShownImage
from servers.openstack.image.views.imports import METHODS
from servers.openstack.paging import page_after

IMPORT_METHODS_HEADER = "OpenStack-image-import-methods"


def images_list(call: ServersCall) -> JsonAnswer[ImagesShown]:
    """A page of them, with the path of the next one where there is more."""
    asked = images_asked(call.query)
    rows = images_listed(caller=call.caller, visibility=asked.visibility, member_status=asked.member_status)
    rows = images_filtered(rows, call.query).select_related("task").prefetch_related("tags")
    found: list[Image] = []
    has_more = False
    if asked.limit:
        found, has_more = page_after(rows, asked.keys, marker=_marker(call, asked.marker), limit=asked.limit)
    params = call.query.copy()
    params.pop("marker", None)
    first = params.urlencode()
    document: ImagesShown = {
        "images": [image_json(image) for image in found],
        "first": f"{IMAGES}?{first}" if first else IMAGES,
        "schema": f"{SCHEMAS}/images",
    }
    if has_more:
        params["marker"] = str(found[-1].pk)
        document["next"] = f"{IMAGES}?{params.urlencode()}"
    return call.answer(document)


def _marker(call: ServersCall, text: str) -> Image | None:
    if not text:
        return None
    pk = parse_uuid(text)
    found = images_visible(caller=call.caller).filter(pk=pk).first() if pk else None
    if found is None:
        raise bad_request(f"Invalid marker. Image {text:.80} could not be found.")
    return found


def image_show(call: ServersCall, image_id: str) -> JsonAnswer[ShownImage]:
    """By its id."""
    return call.answer(image_json(image_found(call.caller, image_id)))


def image_add(call: ServersCall) -> JsonAnswer[ShownImage]:
    """A record without bytes (`queued`), named by its id without a name. Keys that are none of ours are properties."""
    wanted = call.body(IMAGE_WRITTEN)
    for key in wanted:
        writable_check(key)
    if "name" not in wanted:
        wanted.setdefault("id", str(uuid.uuid4()))
        wanted["name"] = wanted["id"]
    fields = {"visibility": "shared", **fields_written(wanted, owner=call.caller.project_id)}
    image = image_create(
        caller=call.caller,
        image_id=parse_uuid(wanted["id"]) if "id" in wanted else None,
        properties={key: value for key, value in wanted.items() if not is_base(key)},
        **fields,
    )
    headers = {"Location": call.absolute_url("v2", "images", image.pk), IMPORT_METHODS_HEADER: ",".join(METHODS)}
    return call.answer(image_json(image), status=201, headers=headers)


def image_change(call: ServersCall, image_id: str) -> JsonAnswer[ShownImage]:
    """Steps of a patch, all of them or none; worked out anew where somebody else changed the properties meanwhile."""
    steps = patch_steps(call)
    while True:
        image = image_found(call.caller, image_id)
        base, properties = patched(steps, image.properties)
        if base.get("container_format") == image.container_format:  # the only one, and no field that changes
            del base["container_format"]
        changes = fields_written(base, owner=image.project_id)
        tags = changes.pop("tags", None)
        seen = image.properties if properties != image.properties else None
        if seen is not None:
            changes["properties"] = properties
        if not steps:
            return call.answer(image_json(image))
        try:
            image = image_update(
                caller=call.caller, image_id=image.pk, changes=changes, tags=tags, properties_seen=seen
            )
        except Conflict as error:
            if error.field == "properties":
                continue
            raise ApiFault(403, error.message) from error
        return call.answer(image_json(image))


def image_remove(call: ServersCall, image_id: str) -> Empty:
    """Record and bytes. Glance calls a protected image forbidden."""
    try:
        image_delete(caller=call.caller, image_id=image_named(image_id))
    except Conflict as error:
        raise ApiFault(403 if error.field == "protected" else 409, error.message) from error
    return call.empty()


def deactivate(call: ServersCall, image_id: str) -> Empty:
    """No new instances of it; once more changes nothing."""
    image = image_found(call.caller, image_id)
    if image.status != ImageStatus.DEACTIVATED:
        try:
            image_deactivate(image_id=image.pk)
        except Conflict as error:
            raise ApiFault(403, error.message) from error
    return call.empty()


def reactivate(call: ServersCall, image_id: str) -> Empty:
    """Undoes it; an active image stays active."""
    image = image_found(call.caller, image_id)
    if image.status != ImageStatus.ACTIVE:
        try:
            image_reactivate(image_id=image.pk)
        except Conflict as error:
            raise ApiFault(403, error.message) from error
    return call.empty()
