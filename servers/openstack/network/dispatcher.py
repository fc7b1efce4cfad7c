"""The Network API's door: what it brings to the kit that all OpenStack doors share."""

from django.views.decorators.csrf import csrf_exempt

from controlplane.openstack.door import Door
from servers.openstack.callers import require_action, token_caller
from servers.openstack.network.call import NetworkCall
from servers.openstack.network.faults import FAULTS_DESCRIBED, fault_response
from servers.openstack.network.routes import ROUTES

DOOR = Door(
    name="Network",
    mount="/network",
    versions=None,
    routes=ROUTES,
    caller_of=token_caller,
    require_access=require_action,
    call_of=NetworkCall,
    fault_response=fault_response,
    origins=frozenset,
    faults=FAULTS_DESCRIBED,
    plain_methods=("POST", "PUT", "DELETE"),
)

serve = csrf_exempt(DOOR.serve)
