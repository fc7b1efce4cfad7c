"""A host counted anew from its guests, also when it has become another host."""

from dataclasses import replace

from computeagent.protocol.topology import GuestTopology, ThreadPolicy
from scheduling.topology.domain.numa.fit import fit
from scheduling.topology.domain.numa.occupancy import emptied, occupied
from tests.units.scheduling.topology.numa.topologies import cell, guest, host, pages, part

HOST = host(cell(0), cell(1))


def placed(*, cpus: int = 2) -> GuestTopology:
    found = fit(HOST, guest(part(pinned=cpus)))
    assert isinstance(found, GuestTopology)
    return found


def test_stored_usage_does_not_count() -> None:
    used = host(cell(0, pinned_cpus=frozenset({3}), memory_used_mib=9, cpu_usage=4, mempages=(pages(4, 99, used=9),)))
    assert emptied(used) == host(cell(0, mempages=(pages(4, 99),)))


def test_guests_are_counted() -> None:
    found, problems = occupied(HOST, {"a": placed()})
    assert found is not None
    assert (found.cells[0].pinned_cpus, found.cells[0].memory_used_mib, problems) == (frozenset({0, 1}), 1024, {})


def test_cell_that_is_gone_is_a_problem_of_its_guest() -> None:
    _, problems = occupied(host(cell(1)), {"a": placed()})
    assert problems == {"a": "guest cell 0 is on host cell 0, which is not there"}


def test_cpu_that_is_not_offered_leaves_the_others_pinned() -> None:
    smaller = host(cell(0, pcpuset=frozenset({1, 2, 3})))
    found, problems = occupied(smaller, {"a": placed()})
    assert found is not None
    assert found.cells[0].pinned_cpus == {1}
    assert "CPU 0 is unknown to the cell" in problems["a"]


def test_cpu_of_two_guests_is_a_problem_of_the_second() -> None:
    found, problems = occupied(HOST, {"a": placed(), "b": placed(cpus=3)})
    assert found is not None
    assert found.cells[0].pinned_cpus == {0, 1, 2}
    assert list(problems) == ["b"]


def test_host_without_cells_has_none_of_its_guests() -> None:
    found, problems = occupied(None, {"a": placed()})
    assert (found, list(problems)) == (None, ["a"])


def test_isolated_siblings_are_counted() -> None:
    threads = host(cell(0, 4, threads=2))
    asked = guest(replace(part(pinned=1), thread_policy=ThreadPolicy.ISOLATE))
    found = fit(threads, asked)
    assert isinstance(found, GuestTopology)
    counted, _ = occupied(threads, {"a": found})
    assert counted is not None
    assert len(counted.cells[0].pinned_cpus) == 2
