"""Extra specs of a flavor, and the projects that may use one that is not public."""

from django.http import HttpResponse

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import bad_request, conflict, not_found
from servers.catalog.selectors.flavor import flavor_known_as, flavor_projects
from servers.catalog.services.flavor import flavor_access_add, flavor_access_remove, flavor_specs_change
from servers.models import Flavor
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.faults import named_in_body
from servers.openstack.compute.schemas.flavors import ACCESS_ACTION, SPEC_WRITE, SPECS_WRITE


def specs_list(call: ComputeCall, flavor_id: str) -> HttpResponse:
    """All of them."""
    return call.answer({"extra_specs": _flavor(call, flavor_id).extra_specs})


def specs_write(call: ComputeCall, flavor_id: str) -> HttpResponse:
    """New ones, and others values for those that are there."""
    asked = {key: str(value) for key, value in call.named("extra_specs", SPECS_WRITE).items()}
    flavor_specs_change(flavor_id=_flavor(call, flavor_id).pk, changes=asked)
    return call.answer({"extra_specs": asked})


def spec_show(call: ComputeCall, flavor_id: str, key: str) -> HttpResponse:
    """One of them."""
    specs = _flavor(call, flavor_id).extra_specs
    if key not in specs:
        raise not_found(f"Flavor {flavor_id:.80} has no extra specs with key {key:.255}.")
    return call.answer({key: specs[key]})


def spec_write(call: ComputeCall, flavor_id: str, key: str) -> HttpResponse:
    """One of them: the body says its key once more."""
    asked = {name: str(value) for name, value in call.body(SPEC_WRITE).items()}
    if key not in asked:
        raise bad_request("Request body and URI mismatch")
    flavor_specs_change(flavor_id=_flavor(call, flavor_id).pk, changes=asked)
    return call.answer(asked)


def spec_remove(call: ComputeCall, flavor_id: str, key: str) -> HttpResponse:
    """Gone; 404 where it was not there."""
    flavor_specs_change(flavor_id=_flavor(call, flavor_id).pk, changes={key: None})
    return call.empty(status=200)


def access_list(call: ComputeCall, flavor_id: str) -> HttpResponse:
    """The projects that may use it; a public one has no such list."""
    flavor = _flavor(call, flavor_id)
    if flavor.is_public:
        raise not_found("Access list not available for public flavors.")
    return _access(call, flavor)


def access_action(call: ComputeCall, flavor_id: str) -> HttpResponse:
    """Give it to a project, or take it back. Giving it twice is 409."""
    ((action, said),) = call.body(ACCESS_ACTION).items()
    flavor, project_id = _flavor(call, flavor_id), parse_uuid(said["tenant"])
    if project_id is None:
        raise bad_request(f"Project ID {said['tenant']:.80} is not a valid project.")
    if action == "removeTenantAccess":
        flavor_access_remove(flavor_id=flavor.pk, project_id=project_id)
        return _access(call, flavor)
    if project_id in {given for given, _ in flavor_projects(flavor_id=flavor.pk)}:
        raise conflict(f"Flavor access already exists for flavor {flavor.wire_id} and project {project_id.hex}.")
    with named_in_body():
        flavor_access_add(flavor_id=flavor.pk, project_id=project_id)
    return _access(call, flavor)


def _flavor(call: ComputeCall, flavor_id: str) -> Flavor:
    return flavor_known_as(caller=call.caller, wire_id=flavor_id)


def _access(call: ComputeCall, flavor: Flavor) -> HttpResponse:
    given = [
        {"flavor_id": flavor.wire_id, "tenant_id": project_id.hex}
        for project_id, _ in flavor_projects(flavor_id=flavor.pk)
    ]
    return call.answer({"flavor_access": given})
