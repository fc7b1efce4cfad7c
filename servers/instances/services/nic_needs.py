"""What decided interfaces ask of a host: networks that it carries, devices, bandwidth, and cards near to its memory.

A new instance asks for what its request says, one that is placed anew for what it has by then.
"""

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace

from computeagent.protocol.network_traits import network_traits
from computeagent.protocol.networks import NetworkBackendKind
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from scheduling.domain.request.schedule_request import PortResources
from scheduling.topology.domain.flavor_keys import HwRequest
from scheduling.topology.domain.numa.network import NetworkNeeds
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.pool import NumaPolicy
from scheduling.topology.domain.pci.request import numa_policy, request_of_port
from servers.instances.domain.bodies import SpecBody
from servers.instances.services.nics import HYPERVISOR, NicsDecided
from servers.models import Network, Port
from servers.networks.domain.names import VnicType
from servers.networks.domain.nics import NicAsked
from servers.networks.domain.port_resources import resource_groups


def with_nic_needs(asked: SpecBody, decided: NicsDecided) -> SpecBody:
    """The request with what these interfaces ask of a host, in place of what any asked before. Devices of its flavor,
    which have an alias, stay.
    """
    policy = numa_policy(HwRequest(asked.flavor, asked.image))
    devices = tuple(one for one in asked.pci_requests if one.alias)
    return replace(
        asked,
        pci_requests=(*devices, *pci_requests_of_ports(decided, policy)),
        network_needs=network_needs(decided),
        carriers=carrier_traits(decided),
        port_resources=port_resources(decided),
    )


def nics_had(instance_uuid: uuid.UUID) -> NicsDecided:
    """The interfaces that an instance has now, whichever it was made with. Two queries."""
    ports = Port.objects.filter(instance_uuid=instance_uuid, network__isnull=False).order_by("position", "pk")
    return _looked_up([NicAsked(port.network_id, port.pk) for port in ports if port.network_id], ports)


def nics_asked_again(nics: Sequence[NicAsked]) -> NicsDecided:
    """The interfaces of a request of before, with their networks and given ports as they are now. Those of networks
    that are gone are left out: the build says so. Two queries.
    """
    given = Port.objects.filter(pk__in=[nic.port_id for nic in nics if nic.port_id])
    return _looked_up(nics, given)


def _looked_up(nics: Sequence[NicAsked], ports: Iterable[Port]) -> NicsDecided:
    networks = Network.objects.in_bulk([nic.network_id for nic in nics])
    found = {port.pk: port for port in ports}
    there = [nic for nic in nics if nic.network_id in networks and (nic.port_id is None or nic.port_id in found)]
    kinds = {pk: NetworkBackendKind(network.kind) for pk, network in networks.items()}
    return NicsDecided(tuple(replace(nic, kind=kinds[nic.network_id]) for nic in there), networks=networks, ports=found)


def carrier_traits(decided: NicsDecided) -> frozenset[str]:
    """What a host has that carries these networks and keeps their security groups, with a way to the physical ones."""
    tapped = [nic for nic in decided.nics if nic.port_id is None or not _is_device(decided.ports[nic.port_id])]
    kinds = {nic.kind for nic in tapped} - {NetworkBackendKind.HYPERVISOR}
    physical = {decided.networks[nic.network_id].physical_network for nic in tapped if nic.kind in kinds} - {""}
    return network_traits(kinds, physical)


def pci_requests_of_ports(decided: NicsDecided, policy: NumaPolicy | None) -> tuple[PciRequest, ...]:
    """A device of the host for each port that is more than a tap, of its physical network. `policy`: where flavor
    and image want devices to be.
    """
    return tuple(
        request_of_port(
            request_id=str(port.pk),
            vnic_type=port.vnic_type,
            physical_network=decided.networks[nic.network_id].physical_network,
            policy=policy,
        )
        for nic in decided.nics
        if nic.port_id and _is_device(port := decided.ports[nic.port_id])
    )


def _is_device(port: Port) -> bool:
    """Whether its card is a device of the host's, so that no network of the host has to carry it."""
    return port.vnic_type != VnicType.NORMAL


def port_resources(decided: NicsDecided) -> tuple[PortResources, ...]:
    """What the given ports ask of Placement: each of a port's groups by its name, served by one provider."""
    return tuple(
        PortResources(
            f"_{port.pk}_{group.name}",
            dict(group.resources),
            frozenset(group.required),
        )
        for port in decided.ports.values()
        for group in resource_groups(port.resource_request)
    )


def port_resources_recheck(decided: NicsDecided) -> None:
    """Raise Conflict where a given port, which the caller has claimed, asks Placement for something else than when it
    was looked at: from the claim on it stays.
    """
    given = {pk: port.resource_request for pk, port in decided.ports.items()}
    now = Port.objects.filter(pk__in=given).values_list("pk", "resource_request") if given else ()
    if any(given[pk] != asked for pk, asked in now):
        raise Conflict(_("What a port asks of Placement changed at this very moment. Ask again."), field="networks")


def network_needs(decided: NicsDecided) -> NetworkNeeds:
    """What networks the host's card must be near to, for a guest that asks for NUMA placement."""
    carried = [network for network in decided.networks.values() if network.kind != HYPERVISOR]
    return NetworkNeeds(
        frozenset(network.physical_network for network in carried if network.physical_network),
        any(not network.physical_network for network in carried),
    )
