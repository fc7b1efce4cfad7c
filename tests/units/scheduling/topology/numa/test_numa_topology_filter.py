"""NUMATopologyFilter over a fleet, and what a batch takes of it."""

from typing import Any

import pytest

from computeagent.protocol.topology import NUMACell
from computeagent.protocol.topology_json import host_to_dict
from controlplane.kernel.errors import Invalid
from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts.host_rows import InventoryRow
from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.hosts.topologies import topology_of
from scheduling.domain.hosts.topology_needs import CPU_LIMIT
from scheduling.domain.request.schedule_request import request_from_dict, request_to_dict
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.engine import schedule
from scheduling.filters.numa_topology import NUMATopologyFilter
from scheduling.filters.registry import filter_get
from scheduling.topology.domain.numa.network import NetworkNeeds
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.codec import pools_to_list
from scheduling.topology.domain.pci.pool import NumaPolicy, PciPool
from tests.units.scheduling import worlds
from tests.units.scheduling.topology.numa.topologies import cell, host
from tests.units.scheduling.worlds import chosen, every, flavor, policy, refused, request, run, spec_of, table

NUMA = NUMATopologyFilter()
PINNED = {"hw:cpu_policy": "dedicated"}
GPU = PciRequest(1, ((("vendor_id", "10de"),),), "gpu", NumaPolicy.REQUIRED, "flavor-0")


def numa_host(name: str, *cells: NUMACell, gpus: dict[int, int] | None = None, **changes: Any) -> Any:
    """A host with these cells; `gpus` are counts by cell."""
    pools = tuple(PciPool("10de", "1eb8", "type-PCI", at, count) for at, count in (gpus or {}).items())
    return worlds.host(name, numa_topology=host_to_dict(host(*cells)), pci_pools=pools_to_list(pools), **changes)


def asks(count: int = 1, vcpus: int = 2, **changes: Any) -> Any:
    specs = changes.pop("specs", PINNED)
    return request(count, flavor=flavor(vcpus=vcpus, memory_mib=1024, extra_specs=specs), **changes)


def test_filter_is_found_by_name() -> None:
    assert isinstance(filter_get("NUMATopologyFilter"), NUMATopologyFilter)


def test_request_without_topology_passes_everywhere() -> None:
    assert refused(NUMA, table(worlds.host("plain"), numa_host("numa", cell())), request()) == {}


def test_host_without_topology_is_refused() -> None:
    found = refused(NUMA, table(worlds.host("plain"), numa_host("numa", cell())), asks())
    assert {name: each.reason for name, each in found.items()} == {"plain": RefusalReason.NUMA_TOPOLOGY_MISSING}


def test_host_that_cannot_fit_is_refused_with_numbers() -> None:
    fleet = table(numa_host("full", cell(pinned_cpus=frozenset({0, 1, 2}))), numa_host("free", cell()))
    found = refused(NUMA, fleet, asks())
    assert set(found) == {"full"}
    assert found["full"].sentence() == "wants 2 pinned CPUs in one NUMA cell, 1 free (guest cell 0, host cell 0)"


def test_require_is_refused_without_smt() -> None:
    fleet = table(numa_host("smt", cell(threads=2)), numa_host("plain", cell()))
    found = refused(NUMA, fleet, asks(specs={**PINNED, "hw:cpu_thread_policy": "require"}))
    assert {name: each.reason for name, each in found.items()} == {"plain": RefusalReason.CPU_THREADS_UNSUITED}


def test_equal_topologies_are_kept_once() -> None:
    fleet = table(*(numa_host(f"host-{at}", cell(), cell(1)) for at in range(5)))
    assert len(fleet.numa_topologies.values) == 1


def test_shared_guests_are_held_to_each_hosts_ratio() -> None:
    fleet = table(
        numa_host("tight", cell(cpu_usage=4), vcpu=InventoryRow(4, allocation_ratio=1.0)),
        numa_host("loose", cell(cpu_usage=4), vcpu=InventoryRow(4, allocation_ratio=4.0)),
    )
    assert set(refused(NUMA, fleet, asks(specs={"hw:numa_nodes": "1"}))) == {"tight"}


def test_devices_must_be_near_the_chosen_cells() -> None:
    full = cell(1, pinned_cpus=frozenset(range(4, 8)))
    fleet = table(numa_host("far", cell(), full, gpus={1: 1}), numa_host("near", cell(), full, gpus={0: 1}))
    found = refused(NUMA, fleet, asks(pci_requests=(GPU,)))
    assert {name: each.reason for name, each in found.items()} == {"far": RefusalReason.PCI_NUMA_FAR}


def test_networks_must_be_near_the_chosen_cells() -> None:
    full = cell(1, pinned_cpus=frozenset(range(4, 8)), physnets=frozenset({"fast"}))
    found = refused(NUMA, table(numa_host("far", cell(), full)), asks(networks=NetworkNeeds(frozenset({"fast"}))))
    assert found["far"].reason is RefusalReason.NUMA_NETWORK_FAR


def test_ratios_of_those_that_pass_go_along_as_limits() -> None:
    fleet = table(numa_host("numa", cell(), vcpu=InventoryRow(16, allocation_ratio=4.0)), worlds.host("plain"))
    hosts = every(fleet)
    hosts = hosts.without(NUMA.refusals(hosts, spec_of(asks())))
    assert hosts.limits["numa_topology.cpu_allocation_ratio"][1 if fleet.hosts[1] == "numa" else 0] == 4.0


def test_selected_host_has_the_limits() -> None:
    trace = run(table(numa_host("numa", cell())), asks(), policy("NUMATopologyFilter"))
    limits = trace.selections[0].selected.limits
    assert limits == {"numa_topology.cpu_allocation_ratio": 1.0, "numa_topology.ram_allocation_ratio": 1.0}


def test_batch_takes_pinned_cpus_of_each_host_once() -> None:
    fleet = table(numa_host("one", cell()), numa_host("two", cell()))
    trace = run(fleet, asks(4), policy("NUMATopologyFilter"))
    assert sorted(chosen(trace)) == ["one", "one", "two", "two"]


def test_batch_larger_than_the_fleets_cells_is_refused() -> None:
    trace = run(table(numa_host("one", cell())), asks(3), policy("NUMATopologyFilter"))
    assert trace.selections == ()
    assert "lacks free pinned CPUs" in trace.verdict


def test_batch_takes_devices_once() -> None:
    fleet = table(numa_host("one", cell(), gpus={0: 1}), numa_host("two", cell(), gpus={0: 1}))
    trace = run(fleet, asks(2, pci_requests=(GPU,)), policy("NUMATopologyFilter", "PciPassthroughFilter"))
    assert sorted(chosen(trace)) == ["one", "two"]


def test_snapshot_is_not_changed_by_a_run() -> None:
    fleet = table(numa_host("one", cell()))
    before = topology_of(fleet.numa_topologies[0])
    run(fleet, asks(2), policy("NUMATopologyFilter"))
    assert topology_of(fleet.numa_topologies[0]) == before


def test_contradiction_in_the_flavor_fails_the_request_and_names_the_key() -> None:
    asked = asks(specs={"hw:cpu_thread_policy": "isolate"})
    with pytest.raises(Invalid, match="hw:cpu_thread_policy"):
        schedule(ScheduleCall(table(numa_host("one", cell())), asked, policy("NUMATopologyFilter"), 1))


def test_plugins_see_topology_and_pools() -> None:
    state = HostState(table(numa_host("one", cell(), gpus={0: 2})), 0)
    assert state.numa_topology is not None and state.numa_topology.cells[0].memory == 4096
    assert [pool.count for pool in state.pci_stats] == [2]


def test_request_with_devices_and_networks_survives_its_row() -> None:
    asked = asks(pci_requests=(GPU,), networks=NetworkNeeds(frozenset({"fast"}), tunneled=True))
    assert request_from_dict(request_to_dict(asked)) == asked


def test_every_instance_of_a_batch_takes_the_limits_of_its_host_along() -> None:
    ratios = {"a": 2.0, "b": 3.0, "c": 4.0}
    rows = [numa_host(name, cell(), vcpu=InventoryRow(16, allocation_ratio=ratio)) for name, ratio in ratios.items()]
    trace = run(table(*rows), asks(3, specs={"hw:numa_nodes": "1"}), policy("NUMATopologyFilter"))
    assert sorted(chosen(trace)) == ["a", "b", "c"]
    taken = {each.selected.host: each.selected.limits[CPU_LIMIT] for each in trace.selections}
    assert taken == ratios
