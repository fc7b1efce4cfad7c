"""A host's report of its cells and devices: stored, counted from claims, and never trusted about usage."""

import pytest

from controlplane.kernel.errors import Invalid
from placement.selectors import fleet_usage
from placement.selectors.providers import trait_owners
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.models import ComputeNode, PciDevice, TopologyClaim
from tests.services.scheduling.topology.topology_world import (
    TWO_CELLS,
    cell,
    device,
    numa_host,
    pinned,
    pinned_cpus,
    wanting,
)

pytestmark = pytest.mark.django_db


def test_reported_cells_are_stored() -> None:
    node = numa_host()
    assert [each["pcpuset"] for each in node.numa_topology["cells"]] == ["0-3", "4-7"]


def test_usage_in_a_report_is_ignored() -> None:
    node = numa_host(numa_topology={"cells": [cell(0, "0-3", pinned_cpus="0-3", memory_used_mib=4096)]})
    assert pinned_cpus(node) == [""]


def test_report_after_a_claim_keeps_its_usage() -> None:
    node = numa_host()
    destinations_select(request=pinned(), inputs=scheduling_inputs())
    numa_host()
    assert pinned_cpus(node) == ["0-1", ""]


def test_dedicated_cpus_become_pcpu_inventory_without_overcommit() -> None:
    node = numa_host(vcpus=4)
    usage = fleet_usage({node.pk})[node.pk]
    assert (usage["PCPU"].spec.total, usage["PCPU"].spec.allocation_ratio) == (8, 1.0)
    assert usage["VCPU"].spec.total == 4


def test_host_without_shared_cpus_has_no_vcpu_inventory() -> None:
    node = numa_host()
    assert "VCPU" not in fleet_usage({node.pk})[node.pk]


def test_pcpu_inventory_in_use_stays_when_the_host_reports_none() -> None:
    node = numa_host()
    destinations_select(request=pinned(), inputs=scheduling_inputs())
    numa_host(vcpus=8, dedicated_vcpus=0)
    assert fleet_usage({node.pk})[node.pk]["PCPU"].used == 2


def test_sibling_threads_and_sockets_become_traits() -> None:
    node = numa_host(numa_topology={"cells": [cell(0, "0-3", siblings=["0,1", "2,3"])]})
    assert {"HW_CPU_HYPERTHREADING", "COMPUTE_SOCKET_PCI_NUMA_AFFINITY"} <= set(trait_owners(node.pk))


def test_cell_that_vanished_while_claimed_is_noted_with_the_claim() -> None:
    numa_host()
    destinations_select(request=pinned(vcpus=4), inputs=scheduling_inputs())
    numa_host(numa_topology={"cells": [cell(1, "4-7")]})
    assert TopologyClaim.objects.get().problem == "guest cell 0 is on host cell 0, which is not there"


def test_cell_that_is_back_ends_the_problem() -> None:
    node = numa_host()
    destinations_select(request=pinned(vcpus=4), inputs=scheduling_inputs())
    numa_host(numa_topology={"cells": [cell(1, "4-7")]})
    numa_host()
    assert TopologyClaim.objects.get().problem == ""
    assert pinned_cpus(node) == ["0-3", ""]


def test_reported_devices_become_rows_and_pools() -> None:
    node = numa_host(pci_devices=(device("0000:81:00.0"), device("0000:82:00.0")))
    assert PciDevice.objects.filter(compute_node=node, state="available").count() == 2
    assert sum(pool["count"] for pool in node.pci_pools) == 2


def test_free_device_that_is_gone_leaves_no_row() -> None:
    numa_host(pci_devices=(device("0000:81:00.0"),))
    numa_host()
    assert not PciDevice.objects.exists()


def test_claimed_device_that_is_gone_stays_as_removed() -> None:
    numa_host(pci_devices=(device("0000:81:00.0"),))
    found = destinations_select(request=wanting(gpus=1, specs={"resources:VCPU": "0"}), inputs=scheduling_inputs())
    numa_host()
    row = PciDevice.objects.get()
    assert (row.state, row.owner_uuid) == ("removed", found.instances[0].instance_uuid)


def test_equal_report_writes_no_topology() -> None:
    node = numa_host(pci_devices=(device("0000:81:00.0"),))
    before = node.updated_at
    numa_host(pci_devices=(device("0000:81:00.0"),))
    assert ComputeNode.objects.get().updated_at == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"numa_topology": {"cells": [cell(0, "0-3"), cell(0, "4-7")]}}, "names a cell twice"),
        ({"numa_topology": {"cells": [cell(0, "0-3"), cell(1, "3-7")]}}, "CPU 3 is in two NUMA cells"),
        ({"numa_topology": {"nodes": []}}, "not of the expected form"),
        ({"pci_devices": (device("81:00"),)}, "no PCI address"),
        ({"pci_devices": (device("0000:81:00.0", dev_type="gpu"),)}, "dev_type 'gpu' is none of"),
        ({"pci_devices": (device("0000:81:00.0"),) * 2}, "reported twice"),
    ],
)
def test_report_that_cannot_be_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        numa_host(**changes)


def test_host_without_cells_has_no_topology() -> None:
    numa_host(numa_topology=TWO_CELLS)
    assert numa_host(numa_topology=None).numa_topology is None
