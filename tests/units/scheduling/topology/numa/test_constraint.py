"""Rules 5 to 9 of the guest constraint, and when there is a topology at all."""

from typing import Any

import pytest

from computeagent.protocol.topology import ANY_PAGES, LARGE_PAGES, SMALL_PAGES, CpuPolicy, EmulatorThreads
from controlplane.kernel.errors import Invalid
from scheduling.topology.domain.numa.memory_rules import locked_memory
from tests.units.scheduling.topology.numa.topologies import hw_request, wanted


def fails(field: str, **changes: Any) -> None:
    with pytest.raises(Invalid) as caught:
        wanted(**changes)
    assert caught.value.field == field
    assert field.partition(".")[0] in caught.value.message


@pytest.mark.parametrize(
    "specs",
    [{"numa_nodes": "1"}, {"mem_page_size": "large"}, {"pmem": "6GB, 2MB"}, {"cpu_policy": "dedicated"}],
)
def test_any_of_four_constraints_makes_a_topology(specs: dict[str, str]) -> None:
    found = wanted(**specs)
    assert found is not None and len(found) == 1


@pytest.mark.parametrize("specs", [{}, {"cpu_policy": "shared"}, {"cpu_sockets": "2"}, {"pmem": " , "}])
def test_other_constraints_make_no_topology(specs: dict[str, str]) -> None:
    assert wanted(**specs) is None


def test_mixed_policy_splits_each_cells_vcpus() -> None:
    found = wanted(cpu_policy="mixed", cpu_dedicated_mask="1-2", numa_nodes="2")
    assert found is not None
    assert [(cell.cpuset, cell.pcpuset) for cell in found.cells] == [({0}, {1}), ({3}, {2})]
    assert {cell.cpu_policy for cell in found.cells} == {CpuPolicy.MIXED}


def test_emulator_policy_is_the_guests() -> None:
    found = wanted(cpu_policy="dedicated", emulator_threads_policy="isolate")
    assert found is not None and found.emulator_threads is EmulatorThreads.ISOLATE


def test_image_alone_can_ask_for_nodes() -> None:
    found = wanted(properties={"hw_numa_nodes": 2})
    assert found is not None and len(found) == 2


def test_nodes_of_both_sides_are_refused() -> None:
    fails("hw_numa_nodes", numa_nodes="2", properties={"hw_numa_nodes": 2})


@pytest.mark.parametrize("count", ["0", "-1", "two", "129"])
def test_nodes_are_1_to_128(count: str) -> None:
    fails("hw:numa_nodes", numa_nodes=count)


def test_auto_split_takes_contiguous_blocks() -> None:
    found = wanted(numa_nodes="2")
    assert found is not None
    assert [(cell.cpuset, cell.memory_mib) for cell in found.cells] == [({0, 1}, 1024), ({2, 3}, 1024)]


@pytest.mark.parametrize("changes", [{"vcpus": 3}, {"memory": 2047}])
def test_auto_split_that_does_not_divide_is_asymmetric(changes: dict[str, int]) -> None:
    with pytest.raises(Invalid, match="asymmetric"):
        wanted(numa_nodes="2", **changes)


MANUAL = {"numa_nodes": "2", "numa_cpus__0": "0-2", "numa_cpus__1": "3", "numa_mem__0": "1536", "numa_mem__1": "512"}


def test_manual_split_follows_the_lists() -> None:
    found = wanted(**MANUAL)
    assert found is not None
    assert [(cell.cpuset, cell.memory_mib) for cell in found.cells] == [({0, 1, 2}, 1536), ({3}, 512)]


@pytest.mark.parametrize("missing", ["numa_cpus__1", "numa_mem__0", "numa_mem__1"])
def test_manual_split_must_be_complete(missing: str) -> None:
    specs = {key: value for key, value in MANUAL.items() if key != missing}
    with pytest.raises(Invalid, match="all or none expected"):
        wanted(**specs)


@pytest.mark.parametrize(
    ("changes", "field", "why"),
    [
        ({"numa_cpus__1": "3-4"}, "hw:numa_cpus.1", "out of range"),
        ({"numa_cpus__1": "2-3"}, "hw:numa_cpus.1", "in two cells"),
        ({"numa_cpus__0": "0-1"}, "hw:numa_cpus", "in no cell"),
        ({"numa_mem__1": "1024"}, "hw:numa_mem", "cells have 2560 MB, the flavor 2048"),
        ({"numa_mem__1": "much"}, "hw:numa_mem.1", "no whole number"),
    ],
)
def test_manual_split_that_does_not_add_up_is_refused(changes: dict[str, str], field: str, why: str) -> None:
    with pytest.raises(Invalid, match=why) as caught:
        wanted(**{**MANUAL, **changes})
    assert caught.value.field == field


def test_manual_split_of_both_sides_is_refused() -> None:
    fails("hw_numa_cpus", properties={"hw_numa_cpus.0": "0-3"}, **MANUAL)
    fails("hw_numa_mem", properties={"hw_numa_mem.0": "2048"}, **MANUAL)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("small", SMALL_PAGES),
        ("large", LARGE_PAGES),
        ("any", ANY_PAGES),
        ("2048", 2048),
        ("2MB", 2048),
        ("2MiB", 2048),
        ("1G", 1048576),
        ("1GB", 1048576),
        ("4KB", 4),
    ],
)
def test_page_size_is_kept_in_kib_or_as_a_symbol(text: str, size: int) -> None:
    found = wanted(mem_page_size=text)
    assert found is not None and {cell.page_size for cell in found.cells} == {size}


@pytest.mark.parametrize("text", ["huge", "0", "-4", "512B", "1.0001KB"])
def test_page_size_that_is_none_names_the_key(text: str) -> None:
    fails("hw:mem_page_size", mem_page_size=text)


def test_page_size_of_the_image_alone_is_forbidden() -> None:
    fails("hw:mem_page_size", properties={"hw_mem_page_size": "2MB"})


@pytest.mark.parametrize("flavor", ["any", "large"])
def test_page_size_of_the_image_replaces_any_and_large(flavor: str) -> None:
    found = wanted(mem_page_size=flavor, properties={"hw_mem_page_size": "1GB"})
    assert found is not None and found.cells[0].page_size == 1048576


@pytest.mark.parametrize("flavor", ["small", "2048"])
def test_page_size_of_the_image_is_forbidden_beside_small_or_a_size(flavor: str) -> None:
    fails("hw:mem_page_size", mem_page_size=flavor, properties={"hw_mem_page_size": "2048"})


def test_locked_memory_needs_a_page_size() -> None:
    fails("hw:locked_memory", locked_memory="true")
    assert locked_memory(hw_request(locked_memory="true", mem_page_size="large"))


def test_locked_memory_of_flavor_and_image_must_agree() -> None:
    fails("hw:locked_memory", locked_memory="true", mem_page_size="any", properties={"hw_locked_memory": False})


def test_memory_encryption_implies_locked_memory() -> None:
    assert locked_memory(hw_request(mem_encryption="true"))
    assert not locked_memory(hw_request(mem_encryption="true", mem_encryption_model="amd-sev-snp"))
