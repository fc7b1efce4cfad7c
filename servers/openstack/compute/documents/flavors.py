"""Flavors as the Compute API shows them."""

from typing import Any

from servers.models import Flavor
from servers.openstack.compute.call import ComputeCall

DESCRIBED_SINCE = 55
SPECS_SINCE = 61
NUMBERS_SINCE = 75


def flavor_short(call: ComputeCall, flavor: Flavor) -> dict[str, Any]:
    """Its id, its name, where it is."""
    shown = {"id": flavor.wire_id, "name": flavor.name, "links": call.links("flavors", flavor.wire_id)}
    return {**shown, "description": flavor.description or None} if call.minor >= DESCRIBED_SINCE else shown


def flavor_document(call: ComputeCall, flavor: Flavor) -> dict[str, Any]:
    """All of it. A swap of 0 was an empty text until 2.75."""
    shown = {
        **flavor_short(call, flavor),
        "ram": flavor.memory_mib,
        "disk": flavor.root_gib,
        "swap": flavor.swap_mib or (0 if call.minor >= NUMBERS_SINCE else ""),
        "OS-FLV-EXT-DATA:ephemeral": flavor.ephemeral_gib,
        "OS-FLV-DISABLED:disabled": flavor.disabled,
        "vcpus": flavor.vcpus,
        "os-flavor-access:is_public": flavor.is_public,
        "rxtx_factor": flavor.rxtx_factor,
    }
    return {**shown, "extra_specs": flavor.extra_specs} if call.minor >= SPECS_SINCE else shown
