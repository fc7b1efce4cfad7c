"""Imports: bytes that are fetched from a URL as work, what became of that, and what may be imported from where."""

from typing import NoReturn

from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import bad_request
from servers.images.services.image_import import image_import
from servers.models import ImageTask
from servers.openstack.call import ServersCall
from servers.openstack.image.image_json import task_json
from servers.openstack.image.lookups import image_found, image_named
from servers.openstack.image.schemas import IMPORT
from servers.openstack.image.shapes import ImageTasksShown, ImportMethodsShown, MethodNames, StoresShown
from servers.openstack.image.stores import STORE_HEADER, store_id, stores_check

WEB_DOWNLOAD = "web-download"
METHODS = (WEB_DOWNLOAD,)


def import_begin(call: ServersCall, image_id: str) -> Empty:
    """Asks for the import; the image becomes active by itself, or its task says why not."""
    body = call.body(IMPORT)
    method = body["method"]
    if method["name"] not in METHODS:
        raise bad_request(
            f"Import method {method['name']:.80} is not available; {', '.join(METHODS)} is. Bytes that are here "
            "already are sent by PUT to the image's file."
        )
    if "uri" not in method:
        raise bad_request(f"Import method {WEB_DOWNLOAD} needs a uri.")
    if extra := sorted(set(method) - {"name", "uri"}):
        raise bad_request(f"Import method {WEB_DOWNLOAD} takes no {extra[0]:.80}.")
    stores_check(body.get("stores", ()))
    if store := call.request.headers.get(STORE_HEADER):
        stores_check([store])
    image_import(caller=call.caller, image_id=image_named(image_id), url=method["uri"])
    return call.empty(status=202)


def stage_refused(call: ServersCall, image_id: str) -> NoReturn:
    """Bytes are checked as they come, so nothing is staged."""
    image_found(call.caller, image_id)
    raise bad_request("Import method glance-direct is not available: send the bytes by PUT to the image's file.")


def image_tasks(call: ServersCall, image_id: str) -> JsonAnswer[ImageTasksShown]:
    """The import or conversion that gets, or got, its bytes; none where they were sent as they are."""
    image = image_found(call.caller, image_id)
    task: ImageTask | None = getattr(image, "task", None)
    return call.answer({"tasks": [] if task is None else [task_json(image, task)]})


def import_methods(call: ServersCall) -> JsonAnswer[ImportMethodsShown]:
    """Which there are."""
    document: MethodNames = {"description": "Import methods available.", "type": "array", "value": list(METHODS)}
    return call.answer({"import-methods": document})


def stores_list(call: ServersCall) -> JsonAnswer[StoresShown]:
    """The only one."""
    return call.answer({"stores": [{"id": store_id(), "default": "true", "description": "All images."}]})
