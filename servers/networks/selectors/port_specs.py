"""The interfaces of guests as their hosts are told of them."""

from collections import defaultdict
from collections.abc import Collection
from uuid import UUID

from computeagent.protocol.guests import PortSpec
from computeagent.protocol.networks import FixedAddress, NetworkBackendKind, SubnetSpec
from servers.models import IPAllocation, Network, Port, Subnet
from servers.networks.domain.names import VnicType
from servers.networks.selectors.host_networks import subnet_spec


def port_specs(ports: Collection[Port]) -> dict[UUID, PortSpec]:
    """By port. Three queries, however many ports; none where all are in networks of their hypervisors."""
    carried = [port for port in ports if port.network_id is not None and not port.hypervisor_network]
    found = {port.pk: _of_hypervisor(port) for port in ports}
    if carried:
        found |= _carried(carried)
    return found


def _of_hypervisor(port: Port) -> PortSpec:
    return PortSpec(
        mac=port.mac,
        network=port.hypervisor_network,
        id=str(port.pk),
        network_name=port.network_name,
        tag=port.tag,
    )


def _carried(ports: Collection[Port]) -> dict[UUID, PortSpec]:
    networks = Network.objects.in_bulk({port.network_id for port in ports if port.network_id is not None})
    subnets: dict[UUID, list[SubnetSpec]] = defaultdict(list)
    for subnet in Subnet.objects.filter(network__in=networks).order_by("created_at", "pk"):
        subnets[subnet.network_id].append(subnet_spec(subnet))
    addresses: dict[UUID, list[FixedAddress]] = defaultdict(list)
    taken = IPAllocation.objects.filter(port__in=[port.pk for port in ports]).order_by("pk")
    for port_id, subnet_id, address in taken.values_list("port_id", "subnet_id", "address"):
        addresses[port_id].append(FixedAddress(str(subnet_id), address))
    found = {}
    for port in ports:
        network = networks.get(port.network_id) if port.network_id else None
        if network is None:
            continue
        own = {one.subnet_id for one in addresses[port.pk]}
        found[port.pk] = PortSpec(
            mac=port.mac,
            network=str(network.pk),
            id=str(port.pk),
            kind=NetworkBackendKind(network.kind),
            network_name=network.name,
            mtu=network.mtu,
            tag=port.tag,
            vnic_type=port.vnic_type,
            pci_request_id="" if port.vnic_type == VnicType.NORMAL else str(port.pk),
            addresses=tuple(addresses[port.pk]),
            subnets=tuple(subnet for subnet in subnets[network.pk] if subnet.id in own),
        )
    return found
