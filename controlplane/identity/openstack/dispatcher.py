"""The Identity API's door: what it brings to the kit that all OpenStack doors share."""

from django.views.decorators.csrf import csrf_exempt

from controlplane.identity.openstack.access import TOKENS, identity_caller, require_access
from controlplane.identity.openstack.call import IdentityCall
from controlplane.identity.openstack.faults import FAULTS, fault_response
from controlplane.identity.openstack.routes import ROUTES
from controlplane.openstack.door import Door

DOOR = Door(
    name="Identity",
    mount="/identity",
    versions=None,
    routes=ROUTES,
    caller_of=identity_caller,
    require_access=require_access,
    call_of=IdentityCall,
    fault_response=fault_response,
    origins=frozenset,
    faults=FAULTS,
    open_paths=("", "/", "/v3", "/v3/"),
    open_calls=(("POST", TOKENS),),
)

serve = csrf_exempt(DOOR.serve)
