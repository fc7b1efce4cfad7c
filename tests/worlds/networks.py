"""Rows of networks as services leave them, for tests of what is made of them."""

import ipaddress
import itertools
import uuid
from collections.abc import Sequence

from computeagent.protocol.network_traits import network_traits
from computeagent.protocol.networks import Direction, NetworkBackendKind
from controlplane.identity.models import Project
from servers.models import (
    FloatingIP,
    IPAllocation,
    Network,
    Port,
    PortGroup,
    Router,
    SecurityGroup,
    SecurityGroupRule,
    Subnet,
)
from servers.networks.domain.addresses import address_key, address_number
from servers.networks.domain.names import PortOwner
from tests.worlds import cloud

_numbers = itertools.count(1)
CARRIES = tuple(network_traits((NetworkBackendKind.BRIDGE,), ("public", "physnet1")))


def cloud_with_networks(*hosts: str, **changes: object) -> cloud.People:
    """A cloud whose hosts carry networks of kind bridge."""
    return cloud.cloud(*hosts, traits=CARRIES, **changes)


def network(
    name: str = "", *, cidr: str = "10.20.0.0/16", kind: str = NetworkBackendKind.BRIDGE, **fields: object
) -> Network:
    """A network with one subnet."""
    number = next(_numbers)
    made = Network.objects.create(name=name or f"net-{number}", kind=kind, **{"segment": 1000 + number, **fields})
    subnet(made, cidr)
    return made


def subnet(of: Network, cidr: str) -> Subnet:
    """A range of the network, its first address the gateway's."""
    found = ipaddress.ip_network(cidr)
    return Subnet.objects.create(
        network=of,
        ip_version=found.version,
        cidr=str(found),
        gateway=str(found[1]),
        pools=[[str(found[2]), str(found[-2])]],
    )


def port(
    of: Network,
    host: str = "",
    *,
    address: str = "",
    groups: Sequence[SecurityGroup] = (),
    project: Project | None = None,
    **fields: object,
) -> Port:
    """A port with an address of the network's first subnet: this one, or one that no other has."""
    number = next(_numbers)
    mac = "fa:16:3e:" + ":".join(f"{byte:02x}" for byte in (0x800000 + number).to_bytes(3, "big"))  # none that is named
    made = Port.objects.create(network=of, host=host, mac=mac, network_name=of.name, project=project, **fields)
    range_of = of.subnets.first()
    assert range_of is not None
    found = ipaddress.ip_address(address) if address else ipaddress.ip_network(range_of.cidr)[10 + of.ports.count()]
    IPAllocation.objects.create(
        network=of, subnet=range_of, port=made, address=str(found), address_key=address_key(address_number(found))
    )
    made.addresses = [str(found)]
    made.save()
    PortGroup.objects.bulk_create(PortGroup(port=made, group=group) for group in groups)
    return made


def group(project: Project, name: str = "", *, remote: SecurityGroup | None = None, **rule: object) -> SecurityGroup:
    """A group with one rule: what `remote` sends, or what `rule` says."""
    made = SecurityGroup.objects.create(project=project, name=name or f"group-{next(_numbers)}")
    if remote is not None or rule:
        rule_add(made, remote=remote, **rule)
    return made


def rule_add(of: SecurityGroup, *, remote: SecurityGroup | None = None, **rule: object) -> SecurityGroupRule:
    """A rule for what comes in."""
    return SecurityGroupRule.objects.create(
        group=of, direction=Direction.INGRESS, remote_group=remote, rule_key=str(uuid.uuid4()), **rule
    )


def router(project: Project, host: str, *networks: Network, external: Network | None = None) -> Router:
    """A router with a leg in each of these networks."""
    made = Router.objects.create(project=project, name=f"router-{next(_numbers)}", host=host, external_network=external)
    for each in networks:
        range_of = each.subnets.first()
        assert range_of is not None
        is_first = not each.ports.filter(router__isnull=False).exists()
        port(
            each,
            address=str(range_of.gateway) if is_first else "",
            router=made,
            owner=PortOwner.ROUTER_INTERFACE,
            is_of_instance=False,
        )
    if external is not None:
        port(external, router=made, owner=PortOwner.ROUTER_GATEWAY, is_of_instance=False)
    return made


def floating(project: Project, external: Network, to: Port, router_of: Router) -> FloatingIP:
    """An outside address that stands for the port's."""
    held_by = port(external, owner=PortOwner.FLOATING_IP, is_of_instance=False)
    return FloatingIP.objects.create(
        project=project,
        network=external,
        address_port=held_by,
        address=held_by.addresses[0],
        port=to,
        fixed_address=to.addresses[0],
        router=router_of,
    )
