"""A network for each project of a demo, and the ports of its instances with their addresses."""

import ipaddress
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from computeagent.protocol.networks import NetworkBackendKind, PortStatus
from controlplane.launcher.demo.people import Team
from controlplane.launcher.demo.placing import Placed
from controlplane.launcher.demo.plan import DemoPlan
from controlplane.launcher.demo.rows import rows_write
from servers.models import IPAllocation, Network, Port, PortGroup, Subnet
from servers.networks.domain.addresses import address_key, address_number
from servers.networks.domain.networks import NetworkRequest
from servers.networks.domain.subnets import SubnetRequest
from servers.networks.services.groups import default_group_ensure
from servers.networks.services.networks import network_create
from servers.networks.services.subnets import subnet_create

FIRST_HOST_BYTES = 10
"""Addresses at the beginning of each range that no instance gets: gateway, DHCP, people's own."""


@dataclass(frozen=True, slots=True)
class ProjectNetwork:
    """The network of a project, with the group that guards its ports."""

    network: Network
    subnet: Subnet
    group_id: UUID


def networks_write(plan: DemoPlan, teams: Sequence[Team]) -> dict[UUID, ProjectNetwork]:
    """A network of kind bridge for each project, and one outside: {project: its network}."""
    bridge = NetworkBackendKind.BRIDGE
    outside = NetworkRequest(
        None, "public", id=plan.uuid("network", "public"), kind=bridge, physical_network="public", is_external=True
    )
    network_create(caller=None, request=outside)
    subnet_create(caller=None, request=SubnetRequest(outside.id, "203.0.113.0/24", name="public", has_dhcp=False))
    return {team.project.pk: _of_project(plan, team, number) for number, team in enumerate(teams)}


def _of_project(plan: DemoPlan, team: Team, number: int) -> ProjectNetwork:
    name = f"{team.kind.name}-net"
    request = NetworkRequest(team.project.pk, name, id=plan.uuid("network", name), kind=NetworkBackendKind.BRIDGE)
    network = network_create(caller=None, request=request)
    asked = SubnetRequest(
        network.pk, f"10.{64 + number}.0.0/16", id=plan.uuid("subnet", name), name=name, dns_servers=("10.0.0.53",)
    )
    subnet = subnet_create(caller=None, request=asked)
    return ProjectNetwork(network, subnet, default_group_ensure(project_id=team.project.pk).pk)


def ports_write(plan: DemoPlan, placed: Sequence[Placed], networks: dict[UUID, ProjectNetwork]) -> dict[UUID, str]:
    """One port for each instance: {instance: its address}."""
    given = {pk: _addresses(one.subnet.cidr) for pk, one in networks.items()}
    addresses = {one.id: next(given[one.team.project.pk]) for one in placed}
    rows_write(Port, (_port(plan, one, networks[one.team.project.pk], addresses[one.id]) for one in placed))
    rows_write(
        IPAllocation,
        (
            IPAllocation(
                network=(its := networks[one.team.project.pk]).network,
                subnet=its.subnet,
                port_id=plan.uuid("port", one.id),
                address=addresses[one.id],
                address_key=address_key(address_number(addresses[one.id])),
            )
            for one in placed
        ),
    )
    rows_write(
        PortGroup,
        (
            PortGroup(port_id=plan.uuid("port", one.id), group_id=networks[one.team.project.pk].group_id)
            for one in placed
        ),
    )
    for pk, one in networks.items():
        following = address_key(address_number(next(given[pk])))
        Subnet.objects.filter(pk=one.subnet.pk).update(next_address=following)
    return addresses


def _addresses(cidr: str) -> Iterator[str]:
    return (str(address) for address in islice(ipaddress.ip_network(cidr).hosts(), FIRST_HOST_BYTES, None))


def _port(plan: DemoPlan, one: Placed, its: ProjectNetwork, address: str) -> Port:
    pk = plan.uuid("port", one.id)
    return Port(
        id=pk,
        network=its.network,
        network_name=its.network.name,
        project=one.team.project,
        mac="fa:16:3e:" + ":".join(f"{byte:02x}" for byte in pk.bytes[:1] + ipaddress.ip_address(address).packed[2:]),
        instance_uuid=one.id,
        host=one.host.name if one.host else "",
        status=(PortStatus.ACTIVE if one.host and one.state.is_on else PortStatus.DOWN).value,
        addresses=[address],
    )
