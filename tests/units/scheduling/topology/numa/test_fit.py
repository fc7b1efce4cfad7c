"""Section 6.3: a whole guest on a host."""

from typing import Any

import pytest

from computeagent.protocol.topology import EmulatorThreads, GuestTopology
from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.topology.domain.numa.fit import FitNeeds, fit
from scheduling.topology.domain.numa.network import NetworkNeeds
from scheduling.topology.domain.pci.asked import PciRequest
from scheduling.topology.domain.pci.pool import NumaPolicy, PciPool
from tests.units.scheduling.topology.numa.topologies import cell, guest, host, part

GPU = PciRequest(1, ((("product_id", "1eb8"), ("vendor_id", "10de")),), "gpu", NumaPolicy.REQUIRED)


def gpus(cell_id: int | None, count: int = 1) -> PciPool:
    return PciPool("10de", "1eb8", "type-PCI", cell_id, count)


def homes(found: GuestTopology | Refusal) -> list[int | None]:
    assert isinstance(found, GuestTopology), found
    return [each.host_cell for each in found.cells]


def reason(found: GuestTopology | Refusal) -> RefusalReason:
    assert isinstance(found, Refusal), found
    return found.reason


def test_fewer_host_cells_than_guest_cells_do_not_fit() -> None:
    found = fit(host(cell(0)), guest(part(0, shared=1), part(1, shared=1)))
    assert reason(found) is RefusalReason.NUMA_CELLS_SHORT


def test_equal_numbers_of_cells_keep_the_hosts_order() -> None:
    fleet = host(cell(0, memory_used_mib=3000), cell(1))
    assert homes(fit(fleet, guest(part(0, shared=1), part(1, shared=1)))) == [0, 1]


def test_cell_with_most_free_memory_comes_first() -> None:
    assert homes(fit(host(cell(0, memory_used_mib=1), cell(1)), guest(part(shared=1)))) == [1]


def test_shared_guest_takes_the_cell_with_fewest_cpus_in_use() -> None:
    fleet = host(cell(0, cpu_usage=1), cell(1, memory_used_mib=99))
    assert homes(fit(fleet, guest(part(shared=1)))) == [1]


def test_pinned_guest_takes_the_cell_with_most_free_cpus() -> None:
    fleet = host(cell(0, pinned_cpus=frozenset({0})), cell(1, memory_used_mib=99))
    assert homes(fit(fleet, guest(part(pinned=1)))) == [1]


def test_packing_takes_the_fullest_cell_that_fits() -> None:
    fleet = host(cell(0), cell(1, pinned_cpus=frozenset({4})))
    assert homes(fit(fleet, guest(part(pinned=1)), FitNeeds(pack=True))) == [1]


def test_guest_without_devices_leaves_cells_with_devices_free() -> None:
    needs = FitNeeds(pools=(gpus(0),))
    assert homes(fit(host(cell(0), cell(1, cpu_usage=3)), guest(part(shared=1)), needs)) == [1]


def test_guest_with_devices_takes_the_cell_with_most() -> None:
    needs = FitNeeds(pools=(gpus(1),), pci_requests=(GPU,))
    assert homes(fit(host(cell(0), cell(1, cpu_usage=3)), guest(part(shared=1)), needs)) == [1]


def test_cells_are_swapped_where_only_that_fits() -> None:
    fleet = host(cell(0, cpus=2), cell(1, cpus=4))
    assert homes(fit(fleet, guest(part(0, pinned=3), part(1, pinned=1)))) == [1, 0]


def test_isolated_emulator_threads_take_a_cpu_by_the_first_cell_only() -> None:
    asked = guest(part(0, pinned=3), part(1, pinned=4), emulator_threads=EmulatorThreads.ISOLATE)
    found = fit(host(cell(0), cell(1)), asked)
    assert isinstance(found, GuestTopology)
    assert [len(each.reserved) for each in found.cells] == [1, 0]


def test_shared_emulator_threads_take_no_cpu() -> None:
    found = fit(host(cell(0)), guest(part(0, pinned=4), emulator_threads=EmulatorThreads.SHARE))
    assert isinstance(found, GuestTopology) and not found.cells[0].reserved


def test_devices_choose_the_cell() -> None:
    needs = FitNeeds(pools=(gpus(0), gpus(1)), pci_requests=(GPU,))
    fleet = host(cell(0, pinned_cpus=frozenset(range(4))), cell(1))
    assert homes(fit(fleet, guest(part(pinned=1)), needs)) == [1]


def test_devices_that_are_far_refuse_the_host() -> None:
    needs = FitNeeds(pools=(gpus(0),), pci_requests=(GPU,))
    fleet = host(cell(0, pinned_cpus=frozenset(range(4))), cell(1))
    assert reason(fit(fleet, guest(part(pinned=1)), needs)) is RefusalReason.PCI_NUMA_FAR


NETWORKED: dict[str, Any] = {"physnets": frozenset({"fast"})}


def test_cell_near_the_network_is_chosen() -> None:
    needs = FitNeeds(networks=NetworkNeeds(frozenset({"fast"})))
    assert homes(fit(host(cell(0), cell(1, **NETWORKED)), guest(part(shared=1)), needs)) == [1]


def test_network_near_another_cell_refuses_the_host() -> None:
    needs = FitNeeds(networks=NetworkNeeds(frozenset({"fast"})))
    fleet = host(cell(0), cell(1, pcpuset=frozenset(), **NETWORKED))
    assert reason(fit(fleet, guest(part(pinned=1)), needs)) is RefusalReason.NUMA_NETWORK_FAR


def test_network_near_no_cell_is_unconstrained() -> None:
    needs = FitNeeds(networks=NetworkNeeds(frozenset({"other"}), tunneled=True))
    assert homes(fit(host(cell(0), cell(1, **NETWORKED)), guest(part(shared=1)), needs)) == [0]


def test_tunneled_networks_follow_the_same_rule() -> None:
    needs = FitNeeds(networks=NetworkNeeds(tunneled=True))
    assert homes(fit(host(cell(0), cell(1, tunneled=True)), guest(part(shared=1)), needs)) == [1]
    full = host(cell(0), cell(1, tunneled=True, pcpuset=frozenset()))
    assert reason(fit(full, guest(part(pinned=1)), needs)) is RefusalReason.NUMA_NETWORK_FAR


def test_refusal_is_of_the_cell_that_came_closest() -> None:
    fleet = host(cell(0, pinned_cpus=frozenset({0, 1, 2})), cell(1, pinned_cpus=frozenset({4, 5})))
    found = fit(fleet, guest(part(pinned=4)))
    assert isinstance(found, Refusal)
    assert (found.reason, found.wanted, found.available) == (RefusalReason.PINNED_CPU_SHORT, 4, 2)


def test_cells_that_only_fit_one_at_a_time_are_refused_with_the_number() -> None:
    fleet = host(cell(0), cell(1, pcpuset=frozenset()))
    found = fit(fleet, guest(part(0, pinned=1), part(1, pinned=1)))
    assert isinstance(found, Refusal)
    assert (found.reason, found.wanted, found.available) == (RefusalReason.NUMA_CELLS_SHORT, 2, 1)


@pytest.mark.parametrize("cells", [8, 10])
def test_hopeless_search_over_many_cells_ends_soon(cells: int) -> None:
    fleet = host(*(cell(at) for at in range(cells)))
    needs = FitNeeds(pools=(gpus(None),), pci_requests=(GPU,))
    asked = guest(*(part(at, pinned=1) for at in range(cells // 2)))
    assert reason(fit(fleet, asked, needs)) is RefusalReason.PCI_NUMA_FAR
