"""Section 6.6: what a placed guest takes, and gives back."""

import pytest

from computeagent.protocol.topology import GuestTopology, HostTopology
from scheduling.topology.domain.numa.fit import fit
from scheduling.topology.domain.numa.usage import PinningConflict, claim, free
from tests.units.scheduling.topology.numa.topologies import ISOLATE, cell, guest, host, pages, part

PAGED = (pages(4, 1048576), pages(2048, 512))


def placed(where: HostTopology, asked: GuestTopology) -> GuestTopology:
    found = fit(where, asked)
    assert isinstance(found, GuestTopology), found
    return found


def test_claim_counts_memory_and_shared_vcpus() -> None:
    where = host(cell())
    after = claim(where, placed(where, guest(part(shared=3)))).cells[0]
    assert (after.memory_used_mib, after.cpu_usage, after.pinned_cpus) == (1024, 3, frozenset())


def test_claim_counts_pages_of_the_guests_size() -> None:
    where = host(cell(mempages=PAGED))
    after = claim(where, placed(where, guest(part(shared=1, page_size=2048)))).cells[0]
    assert [each.used for each in after.mempages] == [0, 512]


def test_claim_counts_the_smallest_pages_where_no_size_was_asked() -> None:
    where = host(cell(mempages=PAGED))
    after = claim(where, placed(where, guest(part(shared=1)))).cells[0]
    assert [each.used for each in after.mempages] == [262144, 0]


def test_claim_pins_the_guests_cpus() -> None:
    where = host(cell())
    assert claim(where, placed(where, guest(part(pinned=2)))).cells[0].pinned_cpus == {0, 1}


def test_claim_under_isolate_pins_the_siblings_too() -> None:
    where = host(cell(threads=2))
    assert claim(where, placed(where, guest(part(pinned=1, thread_policy=ISOLATE)))).cells[0].pinned_cpus == {0, 1}


def test_claim_of_mixed_counts_both() -> None:
    where = host(cell())
    after = claim(where, placed(where, guest(part(shared=1, pinned=2)))).cells[0]
    assert (after.cpu_usage, len(after.pinned_cpus)) == (1, 2)


def test_free_is_the_inverse() -> None:
    where = host(cell(threads=2, mempages=PAGED))
    found = placed(where, guest(part(pinned=1, thread_policy=ISOLATE, page_size=2048)))
    assert free(claim(where, found), found) == where


def test_free_stops_at_zero() -> None:
    where = host(cell(mempages=PAGED))
    after = free(where, placed(where, guest(part(shared=1, page_size=2048)))).cells[0]
    assert (after.memory_used_mib, after.cpu_usage, after.mempages) == (0, 0, PAGED)


def test_pinning_a_pinned_cpu_is_a_conflict() -> None:
    where = host(cell())
    found = placed(where, guest(part(pinned=1)))
    with pytest.raises(PinningConflict, match="CPU 0 is pinned already"):
        claim(claim(where, found), found)


def test_unpinning_a_free_cpu_is_a_conflict() -> None:
    where = host(cell())
    with pytest.raises(PinningConflict, match="CPU 0 is not pinned"):
        free(where, placed(where, guest(part(pinned=1))))


@pytest.mark.parametrize("apply", [claim, free])
def test_unknown_cpu_is_a_conflict(apply: object) -> None:
    found = placed(host(cell()), guest(part(pinned=1)))
    with pytest.raises(PinningConflict, match="CPU 0 is unknown to the cell"):
        apply(host(cell(pcpuset=frozenset({1}))), found)  # type: ignore[operator]


def test_guest_that_was_not_placed_is_a_conflict() -> None:
    with pytest.raises(PinningConflict, match="not there"):
        claim(host(cell()), guest(part(shared=1)))
