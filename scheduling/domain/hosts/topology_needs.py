"""What a request asks of a host's cells and devices, in the form of a claim and in that of an alternate."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from computeagent.protocol.topology_json import guest_from_dict, guest_to_dict
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.topology.domain.grant import TopologyNeeds
from scheduling.topology.domain.numa.cell_fit import Limits
from scheduling.topology.domain.numa.constraint import guest_topology, says_anything
from scheduling.topology.domain.numa.fit import FitNeeds
from scheduling.topology.domain.numa.network import NetworkNeeds
from scheduling.topology.domain.pci.codec import requests_from_list, requests_to_list

CPU_LIMIT, RAM_LIMIT = "numa_topology.cpu_allocation_ratio", "numa_topology.ram_allocation_ratio"
"""Names of the limits that a selection carries: the overcommit by which the host was judged when it was chosen."""

NUMA_FILTER, PCI_FILTER = "NUMATopologyFilter", "PciPassthroughFilter"


def may_have_topology(request: ScheduleRequest) -> bool:
    """Whether instances of the request can hold cells or devices; costs nothing, and never raises."""
    return bool(request.pci_requests) or says_anything(request.flavor, request.image)


def topology_needs(request: ScheduleRequest, *, pack: bool = False) -> TopologyNeeds:
    """The needs of one instance of the request; false where it has none. Raises Invalid for a contradiction."""
    guest = guest_topology(request.flavor, request.image)
    fit = FitNeeds(pci_requests=request.pci_requests, networks=request.networks, pack=pack)
    return TopologyNeeds(guest, fit)


def needs_within(needs: TopologyNeeds, limits: Mapping[str, Any]) -> TopologyNeeds:
    """The same needs under a selection's limits; without any, as on a forced host, overcommit is not checked."""
    if CPU_LIMIT not in limits or RAM_LIMIT not in limits:
        return needs
    found = Limits(float(limits[CPU_LIMIT]), float(limits[RAM_LIMIT]))
    return replace(needs, fit=replace(needs.fit, limits=found))


def filters_wanted(names: tuple[str, ...], request: ScheduleRequest) -> tuple[str, ...]:
    """A policy's filters with those that this request cannot do without, last.

    The claim asks whether cells and devices fit whatever the policy says; hosts that it would refuse are better
    refused before they are ranked, and with a reason in the decision.
    """
    wanted = (
        (NUMA_FILTER, guest_topology(request.flavor, request.image) is not None),
        (PCI_FILTER, bool(request.pci_requests)),
    )
    return (*names, *(name for name, is_wanted in wanted if is_wanted and name not in names))


def needs_to_dict(needs: TopologyNeeds) -> dict[str, Any]:
    """JSON values without the limits, which a selection has beside them; empty for no needs."""
    if not needs:
        return {}
    networks = needs.fit.networks
    return {
        "guest": None if needs.guest is None else guest_to_dict(needs.guest),
        "pci_requests": requests_to_list(needs.fit.pci_requests),
        "physnets": sorted(networks.physnets),
        "tunneled": networks.tunneled,
        "pack": needs.fit.pack,
    }


def needs_from_dict(data: Mapping[str, Any]) -> TopologyNeeds:
    """The inverse of `needs_to_dict`."""
    guest = data.get("guest")
    fit = FitNeeds(
        pci_requests=requests_from_list(data.get("pci_requests", ())),
        networks=NetworkNeeds(frozenset(data.get("physnets", ())), data.get("tunneled", False)),
        pack=data.get("pack", False),
    )
    return TopologyNeeds(guest_from_dict(guest) if guest else None, fit)
