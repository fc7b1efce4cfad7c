"""What the audit says of cells and devices: nothing of a sound host, and a sentence of everything that cannot be."""

import uuid

import pytest

from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.models import ComputeNode, PciDevice, TopologyClaim
from scheduling.topology.selectors.audit import topology_findings
from scheduling.topology.selectors.claims import topology_nodes, topology_owners_older_than
from tests.services.scheduling.topology.topology_world import DEDICATED, cell, device, numa_host, wanting

pytestmark = pytest.mark.django_db
CARDS = (device("0000:81:00.0"), device("0000:82:00.0"))


def findings() -> list[str]:
    return [finding.message for finding in topology_findings()]


def guest(gpus: int = 0) -> uuid.UUID:
    asked = wanting(gpus=gpus, specs=DEDICATED, vcpus=2)
    return destinations_select(request=asked, inputs=scheduling_inputs()).instances[0].instance_uuid


@pytest.fixture
def node() -> ComputeNode:
    return numa_host(pci_devices=CARDS)


def test_sound_host_has_no_findings(node: ComputeNode) -> None:
    guest(gpus=1)
    guest()
    assert findings() == []


def test_cpu_of_two_instances_is_found(node: ComputeNode) -> None:
    first, second = guest(), guest()
    TopologyClaim.objects.filter(pk=second).update(numa=TopologyClaim.objects.get(pk=first).numa)
    assert any("has the dedicated CPU 4, and so has instance" in message for message in findings())


def test_cpu_of_nobody_is_found(node: ComputeNode) -> None:
    guest()
    TopologyClaim.objects.all().delete()
    assert findings() == ["cmp-00, NUMA cell 1: CPU 4-5 is pinned, and no instance has it"]


def test_claimed_cpu_that_counts_as_free_is_found(node: ComputeNode) -> None:
    guest()
    topology = {"cells": [cell(0, "0-3"), cell(1, "4-7")]}
    ComputeNode.objects.update(numa_topology=topology)
    assert "cmp-00, NUMA cell 1: CPU 4-5 is an instance's, and counts as free" in findings()


def test_wrong_memory_of_a_cell_is_found(node: ComputeNode) -> None:
    guest()
    node.refresh_from_db()
    node.numa_topology["cells"][1]["memory_used_mib"] = 1
    node.save()
    assert findings() == ["cmp-00, NUMA cell 1 is not what its instances have: memory_used_mib 1 instead of 1024"]


def test_claimed_cell_that_vanished_is_found(node: ComputeNode) -> None:
    guest()
    numa_host(numa_topology={"cells": [cell(0, "0-3")]}, pci_devices=CARDS)
    assert findings() == ["on cmp-00: guest cell 0 is on host cell 1, which is not there"]


def test_device_of_two_instances_is_found(node: ComputeNode) -> None:
    first, second = guest(gpus=1), guest(gpus=1)
    TopologyClaim.objects.filter(pk=second).update(pci_devices=TopologyClaim.objects.get(pk=first).pci_devices)
    assert any("has the PCI device" in message and "so has instance" in message for message in findings())


def test_device_of_nobody_is_found(node: ComputeNode) -> None:
    guest(gpus=2)
    TopologyClaim.objects.update(pci_devices=[])
    assert sum("is claimed, and no instance has it" in message for message in findings()) == 2


def test_device_that_lost_its_owner_is_found(node: ComputeNode) -> None:
    guest(gpus=2)
    PciDevice.objects.filter(address="0000:81:00.0").update(owner_uuid=None, state="available")
    assert findings() == ["was given 2 PCI devices, and has 1 recorded as claimed"]


def test_owners_are_known_with_their_nodes(node: ComputeNode) -> None:
    owner = guest()
    assert topology_nodes() == {owner: node.pk}
    assert topology_owners_older_than(seconds=3600) == []
    assert topology_owners_older_than(seconds=-1) == [owner]


def test_unpinned_guest_with_cells_is_sound(node: ComputeNode) -> None:
    numa_host(vcpus=8, numa_topology={"cells": [cell(0, "0-3", cpuset="0-3"), cell(1, "4-7", cpuset="4-7")]})
    asked = wanting(specs={"hw:numa_nodes": "2"}, vcpus=2)
    destinations_select(request=asked, inputs=scheduling_inputs())
    assert findings() == []
