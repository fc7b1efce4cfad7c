"""What would make it fit, for guests with NUMA cells, pinned CPUs, pages and PCI devices: each change was run."""

from dataclasses import replace
from typing import Any

import pytest

from computeagent.protocol.topology import NUMACell
from computeagent.protocol.topology_json import host_to_dict
from scheduling.engine import HostRow, InventoryRow
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.codec import pools_to_list
from scheduling.topology.domain.pci.pool import NumaPolicy, PciPool
from scheduling.whatif.domain.nearest_fit.change import ChangeKind
from scheduling.whatif.domain.nearest_fit.search import fits_on_host
from tests.units.scheduling.answer_worlds import trial, world
from tests.units.scheduling.topology.numa.topologies import cell, pages
from tests.units.scheduling.topology.numa.topologies import host as topology
from tests.units.scheduling.worlds import ROOMY, flavor, host, policy, request

DEDICATED = {"hw:cpu_policy": "dedicated"}
HYPERTHREADING = "HW_CPU_HYPERTHREADING"
GPU = (("vendor_id", "10de"),)


def numa_host(*cells: NUMACell, gpus: dict[int, int] | None = None) -> HostRow:
    """Offers both kinds of CPUs."""
    pools = tuple(PciPool("10de", "1eb8", "type-PCI", at, count) for at, count in (gpus or {}).items())
    inventories = {**ROOMY, "PCPU": InventoryRow(16)}
    seen = host_to_dict(topology(*cells)) if cells else None
    return host("a", inventories=inventories, numa_topology=seen, pci_pools=pools_to_list(pools))


def findings(row: HostRow, *, vcpus: int = 4, memory: int = 2048, specs: dict[str, str], **asked: Any) -> list[str]:
    where = world(row)
    wanted = request(flavor=flavor(vcpus=vcpus, memory_mib=memory, extra_specs=specs), **asked)
    rules = policy("NUMATopologyFilter", "PciPassthroughFilter")
    found = fits_on_host(where, trial(wanted, rules), where.by_host["a"])
    assert {kind for fit in found for kind in fit.kinds} <= {ChangeKind.REQUEST}
    return [fit.sentence for fit in found]


def test_host_without_topology_takes_a_guest_that_asks_for_none() -> None:
    assert findings(numa_host(), specs={"hw:numa_nodes": "2"}) == ["ask for no NUMA topology"]


def test_guest_of_too_many_cells_is_spread_over_fewer() -> None:
    found = findings(numa_host(cell()), specs={"hw:numa_nodes": "2"})
    assert found == ["spread it over 1 NUMA cell instead of 2", "ask for no NUMA topology"]


def test_pinned_guest_too_large_for_a_cell_is_spread_or_made_smaller_or_shares() -> None:
    found = findings(numa_host(cell(0), cell(1)), vcpus=6, specs=DEDICATED)
    assert found == [
        "ask for 4 vCPU instead of 6",
        "ask for shared CPUs instead of pinned ones",
        "spread it over 2 NUMA cells instead of 1",
    ]


def test_guest_of_shared_cpus_too_large_for_a_cell_is_spread_or_made_smaller() -> None:
    found = findings(numa_host(cell(0), cell(1)), vcpus=6, specs={"hw:numa_nodes": "1"})
    assert "ask for 4 vCPU instead of 6" in found
    assert "spread it over 2 NUMA cells instead of 1" in found


def test_guest_with_too_much_memory_for_a_cell_is_spread_or_made_smaller() -> None:
    found = findings(numa_host(cell(0), cell(1)), memory=6144, specs={"hw:numa_nodes": "1"})
    assert "ask for 4 GiB of memory instead of 6 GiB" in found
    assert "spread it over 2 NUMA cells instead of 1" in found


def test_thread_policy_that_the_cell_cannot_keep_is_dropped() -> None:
    halves = replace(numa_host(cell(threads=2, pinned_cpus=frozenset({0, 2}))), traits=frozenset({HYPERTHREADING}))
    found = findings(halves, vcpus=2, specs={**DEDICATED, "hw:cpu_thread_policy": "require"})
    assert "ask for no CPU thread policy" in found


def test_thread_policy_that_needs_a_trait_the_host_lacks_is_dropped() -> None:
    found = findings(numa_host(cell()), specs={**DEDICATED, "hw:cpu_thread_policy": "require"})
    assert "use a flavor without the extra spec hw:cpu_thread_policy" in found


def test_too_few_large_pages_are_asked_for_less_or_in_another_size() -> None:
    few = cell(mempages=(pages(4, 2**20), pages(2048, 512)))
    found = findings(numa_host(few), memory=2048, specs={"hw:mem_page_size": "large"})
    assert found == [
        "ask for 1 GiB of memory instead of 2 GiB",
        "ask for pages of 4 KiB instead of large",
        "ask for pages of any instead of large",
    ]


def test_page_size_that_the_host_lacks_is_another() -> None:
    found = findings(numa_host(cell(mempages=(pages(4, 2**20),))), specs={"hw:mem_page_size": "1GB"})
    assert "ask for pages of 4 KiB instead of 1GB" in found


@pytest.mark.parametrize(
    ("free", "sentences"),
    [({0: 1}, ["ask for 1 gpu instead of 2", "ask for no gpu instead of 2"]), ({}, ["ask for no gpu instead of 2"])],
)
def test_fewer_devices_are_asked_for(free: dict[int, int], sentences: list[str]) -> None:
    asked = (PciRequest(2, (GPU,), "gpu"),)
    found = findings(numa_host(cell(), gpus=free), specs={"pci_passthrough:alias": "gpu:2"}, pci_requests=asked)
    assert found == sentences


def test_devices_near_other_cells_need_not_be_near() -> None:
    asked = (PciRequest(1, (GPU,), "gpu", NumaPolicy.REQUIRED),)
    full = cell(1, pinned_cpus=frozenset({4, 5, 6, 7}))
    found = findings(numa_host(cell(0), full, gpus={1: 1}), specs=DEDICATED, pci_requests=asked)
    assert "prefer PCI devices near the NUMA cells, without insisting" in found


def test_change_that_contradicts_the_rest_is_not_told() -> None:
    odd = {"hw:numa_nodes": "2", "hw:numa_cpus.0": "0", "hw:numa_cpus.1": "1,2", "hw:numa_mem.0": "1024"}
    odd |= {"hw:numa_mem.1": "1024", "hw:mem_page_size": "2MB"}
    row = numa_host(cell(0, mempages=(pages(4, 2**20),)), cell(1, mempages=(pages(4, 2**20),)))
    assert "spread it over 2 NUMA cells instead of 1" not in findings(row, vcpus=3, specs=odd)
