"""Resource classes. Standard ones come from the catalogue and stay as they are; clients make custom ones."""

from controlplane.kernel.errors import Conflict, Invalid, NotFound
from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import ApiFault, bad_request, conflict, not_found
from placement.openstack.call import PlacementCall
from placement.openstack.schema_names import RESOURCE_CLASS
from placement.openstack.shapes import ResourceClassesShown, ResourceClassJson
from placement.selectors.names import resource_class_names, unknown_resource_classes
from placement.services.names import resource_class_delete, resource_class_ensure, resource_class_rename

PUT_MAKES_SINCE = 7


def _shown(call: PlacementCall, name: str) -> ResourceClassJson:
    return {"name": name, "links": [{"rel": "self", "href": call.url("resource_classes", name)}]}


def _no_class(name: str) -> ApiFault:
    return not_found(f"No such resource class {name}.")


def class_list(call: PlacementCall) -> JsonAnswer[ResourceClassesShown]:
    return call.answer({"resource_classes": [_shown(call, name) for name in resource_class_names()]})


def class_create(call: PlacementCall) -> Empty:
    """A new custom class."""
    name = call.body(RESOURCE_CLASS)["name"]
    if not resource_class_ensure(name):
        raise conflict(f"Conflicting resource class already exists: {name}")
    return call.empty(status=201, location=call.absolute_url("resource_classes", name))


def class_show(call: PlacementCall, name: str) -> JsonAnswer[ResourceClassJson]:
    if unknown_resource_classes([name]):
        raise _no_class(name)
    return call.answer(_shown(call, name))


def class_put(call: PlacementCall, name: str) -> JsonAnswer[ResourceClassJson] | Empty:
    """From 1.7 on: let there be this class. Below: give it the name in the body."""
    return _ensured(call, name) if call.minor >= PUT_MAKES_SINCE else _renamed(call, name)


def _ensured(call: PlacementCall, name: str) -> Empty:
    if complaint := RESOURCE_CLASS.complaint({"name": name}):
        raise bad_request(f"JSON does not validate: {complaint}")
    is_new, location = resource_class_ensure(name), call.absolute_url("resource_classes", name)
    return call.empty(status=201 if is_new else 204, location=location)


def _renamed(call: PlacementCall, name: str) -> JsonAnswer[ResourceClassJson]:
    call.check_json()
    new_name = call.body(RESOURCE_CLASS)["name"]
    try:
        resource_class_rename(name, new_name)
    except NotFound as error:
        raise _no_class(name) from error
    except Invalid as error:
        raise bad_request(error.message) from error
    except Conflict as error:
        raise conflict(error.message) from error
    return call.answer(_shown(call, new_name))


def class_delete(call: PlacementCall, name: str) -> Empty:
    """A custom class that nobody has any of."""
    try:
        resource_class_delete(name)
    except NotFound as error:
        raise _no_class(name) from error
    except Invalid as error:
        raise bad_request(f"Error in delete resource class: {error.message}") from error
    except Conflict as error:
        raise conflict(f"Error in delete resource class: {error.message}") from error
    return call.empty()
