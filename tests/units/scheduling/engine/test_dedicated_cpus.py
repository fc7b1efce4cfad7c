"""Dedicated CPUs: PCPU of hosts that offer some, VCPU of those that offer none, in one look; and packing of cells."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from computeagent.protocol.topology_json import host_to_dict
from placement.candidates import CandidateQuery
from scheduling.domain.hosts.host_rows import InventoryRow
from scheduling.domain.hosts.topologies import consume_topology
from scheduling.domain.policy import policy_from_dict
from scheduling.domain.request.candidate_query import candidate_query, without_tree
from scheduling.domain.request.resources import derive_resources, resource_request
from scheduling.domain.snapshots import ImageSnapshot
from tests.units.scheduling import worlds
from tests.units.scheduling.topology.numa.topologies import cell, host
from tests.units.scheduling.worlds import chosen, flavor, policy, request, run, table

DEDICATED = {"hw:cpu_policy": "dedicated"}


def asks(**specs: str) -> Any:
    return request(flavor=flavor(vcpus=2, memory_mib=1024, extra_specs={**DEDICATED, **specs}))


def query(asked: Any, **changes: Any) -> CandidateQuery:
    return candidate_query(asked, resource_request(asked), **changes)


def pins(name: str, *, pcpu: int | None = None, **changes: Any) -> Any:
    extra = {} if pcpu is None else {"PCPU": InventoryRow(total=pcpu, allocation_ratio=1.0, max_unit=pcpu)}
    made = worlds.host(name, numa_topology=host_to_dict(host(cell(0, 8), cell(1, 8))), **changes)
    return replace(made, inventories={**made.inventories, **extra}) if extra else made


def test_dedicated_cpus_are_pcpu_and_else_vcpu() -> None:
    found = resource_request(asks())
    assert found.amounts["PCPU"] == 2
    assert "VCPU" not in found.amounts
    assert found.fallback is not None
    assert (found.fallback.amounts["VCPU"], "PCPU" in found.fallback.amounts) == (2, False)


def test_mixed_cpus_have_no_other_way() -> None:
    mixed = flavor(vcpus=4, extra_specs={"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0-2"})
    found = derive_resources(mixed, ImageSnapshot())
    assert (found.amounts["PCPU"], found.amounts["VCPU"], found.fallback) == (3, 1, None)


def test_thread_policy_is_a_trait_of_hosts_with_pcpu_alone() -> None:
    found = resource_request(asks(**{"hw:cpu_thread_policy": "require"}))
    assert found.fallback is not None
    assert "HW_CPU_HYPERTHREADING" in found.required
    assert "HW_CPU_HYPERTHREADING" not in found.fallback.required


def test_both_ways_are_one_query() -> None:
    found = query(asks())
    assert found.instead is not None
    assert found.instead.without == "PCPU"
    assert found.groups[0].resources["PCPU"] == found.instead.query.groups[0].resources["VCPU"] == 2


def test_any_tree_is_any_tree_both_ways() -> None:
    found = without_tree(query(asks(), in_tree=UUID(int=1)))
    assert found.instead is not None
    assert found.instead.query.groups[0].in_tree is None


def test_shared_cpus_have_one_way() -> None:
    assert query(request()).instead is None


@pytest.mark.parametrize(("pcpu", "is_chosen"), [(None, True), (2, True), (1, False)])
def test_host_is_asked_for_what_it_offers(pcpu: int | None, is_chosen: bool) -> None:
    trace = run(table(pins("one", pcpu=pcpu)), asks(), policy())
    assert bool(chosen(trace)) is is_chosen


def test_claim_takes_what_the_chosen_host_serves() -> None:
    trace = run(table(pins("old")), asks(), policy())
    (allocations,) = trace.selections[0].selected.allocations.values()
    assert allocations["VCPU"] == 2
    assert "PCPU" not in allocations


@pytest.mark.parametrize(("pack", "pinned"), [(True, ["0-3", ""]), (False, ["0-1", "8-9"])])
def test_policy_packs_or_spreads_cells(pack: bool, pinned: list[str]) -> None:
    fleet = table(pins("one"))
    for _ in range(2):
        fleet = consume_topology(fleet, 0, asks(), pack=pack)
    topology = fleet.numa_topologies[0]
    assert topology is not None
    assert [each.get("pinned_cpus", "") for each in topology["cells"]] == pinned


def test_packing_is_an_option_of_the_policy() -> None:
    data = {"options": {"packing_host_numa_cells_allocation_strategy": True}}
    assert policy_from_dict(data, version="v1").options.packing_host_numa_cells_allocation_strategy
