"""Volumes that several instances may have, to clients of before version 2.60, which do not know of such.

Source: `nova.compute.api.API._check_attach_and_reserve_volume`, which the create of a server calls as well.
"""

from collections.abc import Iterable

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import bad_request
from servers.openstack.compute.call import ComputeCall
from servers.volumes.selectors.volumes import volumes_visible

SINCE = 60


def multiattach_require(call: ComputeCall, volume_ids: Iterable[str]) -> None:
    """Raise Fault 400 where the request's version is older, and one of these volumes may be several instances'."""
    wanted = [] if call.minor >= SINCE else [pk for one in volume_ids if (pk := parse_uuid(str(one)))]
    if wanted and volumes_visible(call.caller).filter(pk__in=wanted, is_multiattach=True).exists():
        raise bad_request("Multiattach volumes are only supported starting with compute API version 2.60.")
