"""Hosts with NUMA cells and PCI devices for tests, and flavors that want them."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

from computeagent.protocol.pci import PciDeviceRecord
from computeagent.protocol.topology_json import host_from_dict
from scheduling.domain.hosts.topology_needs import topology_needs
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.fleet.services.hosts import host_register
from scheduling.models import ComputeNode
from scheduling.policies.services.policies import policy_create
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.services.claims import TopologyRequest, topologies_claim
from tests.services.scheduling.fleet.fleet_world import report, request

DEDICATED = {"hw:cpu_policy": "dedicated"}
GPU = {"vendor_id": "10de", "product_id": "1eb8"}


def cell(at: int, cpus: str, memory_mib: int = 4096, **more: Any) -> dict[str, Any]:
    """One cell whose CPUs are all for pinning."""
    return {"id": at, "cpuset": "", "pcpuset": cpus, "memory_mib": memory_mib, "socket": at, **more}


def device(address: str, **more: Any) -> PciDeviceRecord:
    """A plain device with the ids of GPU."""
    return PciDeviceRecord(**{"address": address, "dev_type": "type-PCI", "numa_node": 0, **GPU, **more})


TWO_CELLS = {"cells": [cell(0, "0-3"), cell(1, "4-7")]}


def numa_host(host: str = "cmp-00", **changes: Any) -> ComputeNode:
    """A host with two cells of 4 dedicated CPUs and 4 GiB each."""
    reported: dict[str, Any] = {
        "vcpus": 0,
        "dedicated_vcpus": 8,
        "memory_mib": 8704,
        "numa_topology": TWO_CELLS,
    } | changes
    if reported["numa_topology"] is not None:
        reported["numa_topology"] = host_from_dict(reported["numa_topology"])
    host_register(host=host, report=report(host.replace("cmp", "node"), **reported))
    return ComputeNode.objects.get(host=host)


def wanting(count: int = 1, *, gpus: int = 0, specs: dict[str, str] | None = None, **changes: Any) -> ScheduleRequest:
    """A batch with extra specs, and with so many devices of the alias gpu."""
    asked = request(count, **changes)
    flavor: FlavorSnapshot = replace(asked.flavor, extra_specs=specs or {})
    topology_requests = (PciRequest(gpus, (tuple(sorted(GPU.items())),), "gpu", request_id="flavor-0"),) if gpus else ()
    return replace(asked, flavor=flavor, pci_requests=topology_requests)


def pinned(count: int = 1, *, vcpus: int = 2, **changes: Any) -> ScheduleRequest:
    """A batch of instances with dedicated CPUs."""
    return wanting(count, vcpus=vcpus, specs=DEDICATED, **changes)


def pinned_cpus(node: ComputeNode) -> list[str]:
    """The pinned CPUs of each cell, as stored."""
    node.refresh_from_db()
    return [each.get("pinned_cpus", "") for each in node.numa_topology["cells"]]


class Rival:
    """A filter that passes everybody; the first time it sees a host of `takes` it claims so many of its cells whole."""

    takes: ClassVar[dict[str, int]] = {}

    def host_passes(self, host_state: Any, spec_obj: Any) -> bool:
        if cells := self.takes.pop(host_state.host, 0):
            needs = topology_needs(pinned(vcpus=4))
            node = uuid.UUID(host_state.uuid)
            topologies_claim([TopologyRequest(uuid.uuid4(), node, needs) for _ in range(cells)])
        return True


@contextmanager
def rival(*hosts: str, cells: tuple[int, ...]) -> Iterator[None]:
    """Somebody takes so many cells of these hosts between our look at the fleet and our claim, without allocations."""
    policy_create(name="rival", body={"filters": [f"{__name__}.Rival"]}, activate=True)
    Rival.takes.update(zip(hosts, cells, strict=True))
    yield
