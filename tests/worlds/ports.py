"""Networks of kind bridge for tests of ports, empty or with subnets, and what is asked for in them."""

import ipaddress
import uuid
from typing import Any

from computeagent.protocol.networks import NetworkBackendKind
from servers.models import Network, Subnet
from servers.networks.domain.ports import AddressRequest, PortRequest


def network(name: str = "net", *, project_id: uuid.UUID | None = None, **more: Any) -> Network:
    """A network of bridges."""
    fields = {"kind": NetworkBackendKind.BRIDGE.value, **more}
    return Network.objects.create(name=name, project_id=project_id, **fields)


def subnet(of: Network, cidr: str = "10.0.0.0/24", *, pool: tuple[str, str] | None = None, **more: Any) -> Subnet:
    """A subnet whose gateway is its first address; all others are its pool."""
    found = ipaddress.ip_network(cidr)
    first = pool[0] if pool else str(found[2])
    last = pool[1] if pool else str(found[-2] if found.version == 4 else found[-1])
    fields = {"gateway": str(found[1]), "pools": [[first, last]], "project_id": of.project_id, **more}
    return Subnet.objects.create(network=of, cidr=cidr, ip_version=found.version, **fields)


def asked(of: Network, project_id: uuid.UUID | None = None, *addresses: AddressRequest, **more: Any) -> PortRequest:
    """A port; with addresses the addresses that it wants."""
    if addresses:
        more["fixed"] = addresses
    return PortRequest(network_id=of.pk, project_id=project_id, **more)
