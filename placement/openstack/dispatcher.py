"""The Placement API's door: what it brings to the kit that all OpenStack doors share."""

from django.views.decorators.csrf import csrf_exempt

from controlplane.openstack.door import Door
from placement.conf import placement_options
from placement.openstack.access import require_access, wire_caller
from placement.openstack.call import PlacementCall
from placement.openstack.faults import FAULTS, fault_response
from placement.openstack.routes import ROUTES
from placement.openstack.versions import VERSIONS

DOOR = Door(
    name="Placement",
    mount="/placement",
    versions=VERSIONS,
    routes=ROUTES,
    caller_of=wire_caller,
    require_access=require_access,
    call_of=PlacementCall,
    fault_response=fault_response,
    faults=FAULTS,
    origins=lambda: frozenset(placement_options().cors_origins),
)

serve = csrf_exempt(DOOR.serve)
