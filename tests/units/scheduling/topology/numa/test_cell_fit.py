"""Section 6.4: one guest cell on one host cell, in Nova's order of checks."""

from typing import Any

import pytest

from computeagent.protocol.topology import ANY_PAGES, LARGE_PAGES, SMALL_PAGES, InstanceNUMACell
from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.topology.domain.numa.cell_fit import Limits, fit_cell
from tests.units.scheduling.topology.numa.topologies import REQUIRE, cell, pages, part

PAGED = (pages(4, 262144), pages(2048, 512), pages(1048576, 2))


def size_of(page_size: int | None, *, memory: int = 1024, mempages: Any = PAGED, **changes: Any) -> int | None:
    found = fit_cell(cell(mempages=mempages), part(shared=1, memory=memory, page_size=page_size, **changes))
    assert isinstance(found, InstanceNUMACell), found
    return found.page_size


def refusal(found: InstanceNUMACell | Refusal) -> tuple[RefusalReason, Any, Any]:
    assert isinstance(found, Refusal), found
    return found.reason, found.wanted, found.available


@pytest.mark.parametrize(
    ("wish", "size"), [(SMALL_PAGES, 4), (LARGE_PAGES, 1048576), (ANY_PAGES, 1048576), (2048, 2048)]
)
def test_page_size_that_is_found_is_recorded(wish: int, size: int) -> None:
    assert size_of(wish) == size


def test_large_takes_the_next_size_that_divides_the_memory() -> None:
    assert size_of(LARGE_PAGES, memory=512) == 2048


def test_large_never_takes_the_smallest_size() -> None:
    only_small = fit_cell(cell(mempages=PAGED[:1]), part(shared=1, page_size=LARGE_PAGES))
    assert refusal(only_small) == (RefusalReason.PAGE_SIZE_UNSUPPORTED, "large", "4")


def test_any_falls_to_the_smallest_size() -> None:
    assert size_of(ANY_PAGES, memory=513) == 4


def test_explicit_size_the_host_lacks_is_refused() -> None:
    found = fit_cell(cell(mempages=PAGED), part(shared=1, page_size=16384))
    assert refusal(found) == (RefusalReason.PAGE_SIZE_UNSUPPORTED, "16384 KiB", "4 2048 1048576")


def test_pages_are_never_overcommitted() -> None:
    short = (pages(4, 262144), pages(2048, 612, used=500, reserved=12))
    found = fit_cell(cell(mempages=short), part(shared=1, page_size=2048), Limits(16.0, 16.0))
    assert refusal(found) == (RefusalReason.PAGES_SHORT, 512, 100)
    assert isinstance(found, Refusal)
    assert found.sentence() == "wants 512 pages of 2048 KiB, has 100 (guest cell 0, host cell 0)"


def test_memory_that_is_no_multiple_of_the_page_is_refused() -> None:
    found = fit_cell(cell(mempages=PAGED), part(shared=1, memory=1023, page_size=2048))
    assert isinstance(found, Refusal)
    assert (found.reason, "no multiple" in found.detail) == (RefusalReason.PAGES_SHORT, True)


def test_shared_guest_without_page_size_may_overcommit_small_pages() -> None:
    full = (pages(4, 262144, used=262144),)
    assert isinstance(fit_cell(cell(mempages=full), part(shared=1)), InstanceNUMACell)


def test_no_guest_overcommits_small_pages_against_itself() -> None:
    found = fit_cell(cell(mempages=(pages(4, 262143),)), part(shared=1))
    assert refusal(found) == (RefusalReason.PAGES_SHORT, 262144, 262143)


def test_pinned_guest_without_page_size_needs_free_small_pages() -> None:
    found = fit_cell(cell(mempages=(pages(4, 262144, used=1),)), part(pinned=1))
    assert refusal(found) == (RefusalReason.PAGES_SHORT, 262144, 262143)


def test_without_page_size_none_is_recorded() -> None:
    assert size_of(None) is None


def test_pinned_guest_needs_free_memory_on_a_host_without_pages() -> None:
    found = fit_cell(cell(memory_used_mib=3073), part(pinned=1))
    assert refusal(found) == (RefusalReason.NUMA_MEMORY_SHORT, 1024, 1023)


def test_shared_guest_may_overcommit_memory_on_a_host_without_pages() -> None:
    assert isinstance(fit_cell(cell(memory_used_mib=4096), part(shared=1)), InstanceNUMACell)


def test_no_guest_overcommits_memory_against_itself() -> None:
    found = fit_cell(cell(), part(shared=1, memory=4097))
    assert refusal(found) == (RefusalReason.NUMA_MEMORY_SHORT, 4097, 4096)


def test_pinned_guest_larger_than_the_cell_is_refused() -> None:
    found = fit_cell(cell(pcpuset=frozenset({0, 1})), part(pinned=3))
    assert refusal(found) == (RefusalReason.PINNED_CPU_SHORT, 3, 2)


def test_shared_guest_larger_than_the_cell_is_refused() -> None:
    found = fit_cell(cell(cpuset=frozenset({0})), part(shared=2), Limits(16.0, 1.0))
    assert refusal(found) == (RefusalReason.NUMA_CPU_SHORT, 2, 1)


def test_mixed_guest_is_held_to_both_sets() -> None:
    where = cell(cpuset=frozenset({0}), pcpuset=frozenset({1, 2, 3}))
    assert isinstance(fit_cell(where, part(shared=1, pinned=3)), InstanceNUMACell)
    assert refusal(fit_cell(where, part(shared=2, pinned=3))) == (RefusalReason.NUMA_CPU_SHORT, 2, 1)


def test_pinned_guest_needs_free_cpus() -> None:
    found = fit_cell(cell(pinned_cpus=frozenset({0, 1})), part(pinned=4))
    assert refusal(found) == (RefusalReason.PINNED_CPU_SHORT, 4, 2)
    assert isinstance(found, Refusal)
    assert found.sentence() == "wants 4 pinned CPUs in one NUMA cell, 2 free (guest cell 0, host cell 0)"


def test_reserved_cpu_counts_as_pinned() -> None:
    assert refusal(fit_cell(cell(), part(pinned=4), reserve=1)) == (RefusalReason.PINNED_CPU_SHORT, 5, 4)


def test_packing_that_fails_is_said() -> None:
    found = fit_cell(cell(), part(pinned=2, thread_policy=REQUIRE))
    assert refusal(found) == (RefusalReason.CPU_THREADS_UNSUITED, 2, 0)


def test_shared_cpus_are_limited_by_the_ratio() -> None:
    where = cell(cpu_usage=7)
    assert isinstance(fit_cell(where, part(shared=1), Limits(2.0, 1.0)), InstanceNUMACell)
    assert refusal(fit_cell(where, part(shared=2), Limits(2.0, 1.0))) == (RefusalReason.NUMA_CPU_SHORT, 2, 1.0)


def test_shared_memory_is_limited_by_the_ratio() -> None:
    found = fit_cell(cell(memory_used_mib=5120), part(shared=1, memory=1025), Limits(1.0, 1.5))
    assert refusal(found) == (RefusalReason.NUMA_MEMORY_SHORT, 1025, 1024.0)


def test_dedicated_guest_is_not_held_to_ratios() -> None:
    assert isinstance(fit_cell(cell(cpu_usage=99), part(pinned=4), Limits(0.1, 0.1)), InstanceNUMACell)


def test_without_limits_overcommit_is_not_looked_at() -> None:
    assert isinstance(fit_cell(cell(cpu_usage=99), part(shared=1)), InstanceNUMACell)
