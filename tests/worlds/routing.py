"""Networks with subnets, hosts that carry networks, and an outside, for tests of routers."""

from typing import Any

from computeagent.protocol.network_traits import network_traits
from computeagent.protocol.networks import NetworkBackendKind
from controlplane.identity.domain import Caller
from servers.models import Network, Port, Subnet
from servers.networks.domain.names import PortOwner
from servers.networks.domain.ports import PortRequest
from servers.networks.services.ports import ports_create
from tests.worlds import cloud
from tests.worlds.ports import network, subnet


def carrying_host(name: str, *physical_networks: str) -> None:
    """A host that is up and carries networks of bridges, with bridges to these physical networks."""
    cloud.host(name, traits=tuple(network_traits([NetworkBackendKind.BRIDGE], physical_networks)))


def outside(cidr: str = "203.0.113.0/24", name: str = "public", **more: Any) -> Network:
    """An external network with one subnet."""
    made = network(name, is_external=True, physical_network="physnet1", **more)
    subnet(made, cidr)
    return made


def inside(of: Caller, cidr: str = "10.0.0.0/24", name: str = "net", **more: Any) -> Subnet:
    """A subnet of a new network of the caller's project."""
    return subnet(network(name, project_id=of.project_id, **more), cidr)


def guest_port(of: Caller, within: Subnet, **more: Any) -> Port:
    """A port for an instance of the caller's project."""
    asked = PortRequest(within.network_id, of.project_id, **{"owner": PortOwner.NOBODY, **more})
    return ports_create(caller=None, requests=[asked])[0]
