"""Section 6.5: packing pinned vCPUs onto threads."""

from typing import Any

from scheduling.topology.domain.numa.packing import Packing, Unpacked, pack
from tests.units.scheduling.topology.numa.topologies import ISOLATE, PREFER, REQUIRE, cell, part


def packed(*, cpus: int = 8, threads: int = 2, pinned: int = 2, policy: Any = None, **changes: Any) -> Any:
    reserve = changes.pop("reserve", 0)
    where = cell(cpus=cpus, threads=threads, **changes)
    return pack(where, part(pinned=pinned, thread_policy=policy), reserve)


def cpus_of(found: Packing | Unpacked) -> list[int]:
    assert isinstance(found, Packing), found
    return [cpu for _, cpu in found.pinning]


def test_vcpus_are_pinned_in_order() -> None:
    found = packed(pinned=3)
    assert [vcpu for vcpu, _ in found.pinning] == [0, 1, 2]


def test_unspecified_takes_siblings_first() -> None:
    assert cpus_of(packed(pinned=4)) == [0, 1, 2, 3]


def test_prefer_takes_whole_cores_where_there_are_enough() -> None:
    assert cpus_of(packed(policy=PREFER, pinned=4, pinned_cpus=frozenset({0}))) == [2, 3, 4, 5]


def test_prefer_falls_back_to_one_thread_of_each_core() -> None:
    taken = frozenset({0, 2, 4, 6})
    assert cpus_of(packed(policy=PREFER, pinned=2, pinned_cpus=taken)) == [1, 3]


def test_prefer_falls_back_to_every_free_thread() -> None:
    # Whole cores give 2, single threads of each core give 3: only all free threads give 4.
    assert cpus_of(packed(policy=PREFER, pinned=4, pinned_cpus=frozenset({0, 2, 4, 5}))) == [1, 3, 6, 7]


def test_require_takes_siblings() -> None:
    assert cpus_of(packed(policy=REQUIRE, pinned=2, pinned_cpus=frozenset({0}))) == [2, 3]


def test_require_never_takes_a_lone_thread() -> None:
    found = packed(policy=REQUIRE, pinned=2, pinned_cpus=frozenset({0, 2, 4, 6}))
    assert isinstance(found, Unpacked) and (found.wanted, found.available) == (2, 0)


def test_require_is_refused_without_smt() -> None:
    found = packed(policy=REQUIRE, threads=1)
    assert isinstance(found, Unpacked) and "no SMT" in found.detail


def test_require_tries_fewer_threads_but_not_below_two() -> None:
    # Cores of four threads: one has three free, one has two; two of each give the four wanted.
    found = packed(cpus=8, threads=4, policy=REQUIRE, pinned=4, pinned_cpus=frozenset({0, 4, 5}))
    assert cpus_of(found) == [1, 2, 6, 7]


def test_isolate_takes_one_thread_of_each_free_core() -> None:
    assert cpus_of(packed(policy=ISOLATE, pinned=2, pinned_cpus=frozenset({1}))) == [2, 4]


def test_isolate_needs_whole_free_cores() -> None:
    found = packed(policy=ISOLATE, pinned=2, pinned_cpus=frozenset({0, 2, 4}))
    assert isinstance(found, Unpacked) and (found.wanted, found.available) == (2, 1)


def test_isolate_is_refused_with_smt_and_separate_sets() -> None:
    found = packed(policy=ISOLATE, cpuset=frozenset({0, 1}), pcpuset=frozenset(range(2, 8)))
    assert isinstance(found, Unpacked) and "separate" in found.detail


def test_isolate_without_smt_allows_separate_sets() -> None:
    found = packed(policy=ISOLATE, threads=1, cpuset=frozenset({0, 1}), pcpuset=frozenset(range(2, 8)))
    assert cpus_of(found) == [2, 3]


def test_isolate_reserves_a_core_of_its_own() -> None:
    found = packed(policy=ISOLATE, pinned=2, reserve=1)
    assert (cpus_of(found), found.reserved) == ([0, 2], {4})


def test_reserved_cpu_comes_from_what_is_left_over() -> None:
    found = packed(pinned=3, reserve=1)
    assert (cpus_of(found), found.reserved) == ([0, 1, 2], {3})


def test_reserved_cpu_that_cannot_be_found_rejects_the_choice() -> None:
    found = packed(cpus=4, policy=REQUIRE, pinned=4, reserve=1)
    assert isinstance(found, Unpacked) and (found.wanted, found.available) == (5, 4)


def test_cpus_without_siblings_are_cores_of_their_own() -> None:
    assert cpus_of(packed(cpus=4, siblings=(), pinned=3)) == [0, 1, 2]
