"""Ports that ask Placement for bandwidth, to clients of before version 2.72, which do not know of such.

Source: `nova.exception.CreateWithPortResourceRequestOldVersion`.
"""

from collections.abc import Iterable

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import bad_request
from servers.networks.selectors.ports import ports_visible
from servers.openstack.compute.call import ComputeCall

SINCE = 72


def port_resources_require(call: ComputeCall, port_ids: Iterable[str]) -> None:
    """Raise Fault 400 where the request's version is older, and one of these ports asks Placement for something."""
    wanted = [] if call.minor >= SINCE else [pk for one in port_ids if (pk := parse_uuid(str(one)))]
    if wanted and ports_visible(call.caller).filter(pk__in=wanted).exclude(resource_request={}).exists():
        raise bad_request(
            "Creating servers with ports having resource requests, like a port with a minimum bandwidth, "
            "is not supported until microversion 2.72."
        )
