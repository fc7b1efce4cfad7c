"""The Image API's door: what it brings to the kit that all OpenStack doors share."""

from django.views.decorators.csrf import csrf_exempt

from controlplane.openstack.door import Door
from servers.openstack.call import ServersCall
from servers.openstack.callers import require_action, token_caller
from servers.openstack.image.faults import FAULTS, error_fault, fault_response
from servers.openstack.image.routes import OPEN_PATHS, ROUTES

DOOR = Door(
    name="Image",
    mount="/image",
    versions=None,
    routes=ROUTES,
    caller_of=token_caller,
    require_access=require_action,
    call_of=ServersCall,
    fault_response=fault_response,
    origins=frozenset,
    faults=FAULTS,
    open_paths=OPEN_PATHS,
    error_fault=error_fault,
)

serve = csrf_exempt(DOOR.serve)
