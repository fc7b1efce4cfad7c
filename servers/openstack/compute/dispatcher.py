"""The Compute API's door: what it brings to the kit that all OpenStack doors share."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from controlplane.infra.request_id import current_request_id
from controlplane.openstack.door import Door
from servers.openstack.callers import require_action, token_caller
from servers.openstack.compute.access import VERSION_PATHS, routed_path
from servers.openstack.compute.call import ComputeCall
from servers.openstack.compute.faults import FAULTS, error_fault, fault_response
from servers.openstack.compute.routes import ROUTES
from servers.openstack.compute.versions import VERSIONS

DOOR = Door(
    name="Compute",
    mount="/compute",
    versions=VERSIONS,
    routes=ROUTES,
    caller_of=token_caller,
    require_access=require_action,
    call_of=ComputeCall,
    fault_response=fault_response,
    origins=frozenset,
    faults=FAULTS,
    open_paths=VERSION_PATHS,
    path_of=routed_path,
    error_fault=error_fault,
)


@csrf_exempt
def serve(request: HttpRequest) -> HttpResponseBase:
    """Answer one request. Nova's own name of the request id is older than the one that all services share."""
    response = DOOR.serve(request)
    response["x-compute-request-id"] = current_request_id()
    return response
