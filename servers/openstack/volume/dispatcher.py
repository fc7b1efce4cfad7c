"""The Volume API's door: what it brings to the kit that all OpenStack doors share."""

from django.views.decorators.csrf import csrf_exempt

from controlplane.openstack.door import Door
from servers.openstack.callers import require_action, token_caller
from servers.openstack.volume.access import VERSION_PATHS, routed_path
from servers.openstack.volume.call import VolumeCall
from servers.openstack.volume.faults import FAULTS, error_fault, fault_response
from servers.openstack.volume.routes import ROUTES
from servers.openstack.volume.versions import VERSIONS

DOOR = Door(
    name="Volume",
    mount="/volume",
    versions=VERSIONS,
    routes=ROUTES,
    caller_of=token_caller,
    require_access=require_action,
    call_of=VolumeCall,
    fault_response=fault_response,
    origins=frozenset,
    faults=FAULTS,
    open_paths=VERSION_PATHS,
    path_of=routed_path,
    error_fault=error_fault,
    plain_methods=("POST", "PUT"),
)

serve = csrf_exempt(DOOR.serve)
