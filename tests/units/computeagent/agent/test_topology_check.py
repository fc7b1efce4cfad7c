"""The claim on the host: what a guest was placed on must still be there."""

from dataclasses import replace

import pytest

from computeagent.agent.failures import ComputeResourcesUnavailable, GuestContradicts, HostTopologyChanged
from computeagent.agent.resource_tracker import ResourceTracker, Usage
from computeagent.agent.topology_check import topology_complaints
from computeagent.protocol.hosts import HostReport
from computeagent.protocol.pci import DeviceType, GivenDevice, PciDeviceRecord
from computeagent.protocol.steps import FailureClass
from computeagent.protocol.topology import GuestTopology
from computeagent.protocol.topology_json import guest_from_dict, host_from_dict
from computeagent.protocol.work import WorkKind
from tests.fixtures.patience import eventually
from tests.units.computeagent.agent.conftest import World, guest_spec

CELLS = host_from_dict(
    {
        "cells": [
            {
                "id": 0,
                "cpuset": "0-1",
                "pcpuset": "2-3",
                "memory_mib": 1024,
                "mempages": [[4, 200000, 0, 0], [2048, 100, 0, 10]],
            }
        ]
    }
)
REPORT = HostReport(
    hypervisor_hostname="n",
    hypervisor_type="test",
    hypervisor_version=1,
    vcpus=2,
    memory_mib=1024,
    disk_gib=10,
    numa_topology=CELLS,
    pci_devices=(PciDeviceRecord("0000:0a:00.0", "10de", "1db6", DeviceType.STANDARD),),
    dedicated_vcpus=2,
)
CELL = {"id": 0, "cpuset": "0", "pcpuset": "1-2", "memory_mib": 128, "host_cell": 0, "pinning": [[1, 2], [2, 3]]}


def placed(**changes: object) -> GuestTopology:
    return guest_from_dict({"cells": [CELL | changes]})


def complaint(**changes: object) -> str:
    return "; ".join(topology_complaints(guest_spec(vcpus=3, numa_topology=placed(**changes)), REPORT))


def test_guest_that_fits_is_counted_whole() -> None:
    tracker = ResourceTracker()
    tracker.claim(guest_spec(vcpus=3, numa_topology=placed(), pci_devices=(GivenDevice("0000:0a:00.0"),)), REPORT)

    # Three vCPUs on two shared CPUs: two of them are pinned, and take none of those.
    assert tracker.used() == Usage(vcpus=3, memory_mib=128, disk_gib=1)


def test_more_floating_vcpus_than_shared_cpus_are_refused() -> None:
    with pytest.raises(ComputeResourcesUnavailable, match="vcpus: wants 3, host has 2"):
        ResourceTracker().claim(guest_spec(vcpus=3), REPORT)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"host_cell": 1}, "NUMA cell: wants 1, host has 0"),
        ({"pinning": [[1, 2], [2, 7]]}, "pinned CPUs of NUMA cell 0: wants 7, host offers 2-3"),
        ({"reserved": "0"}, "pinned CPUs of NUMA cell 0: wants 0, host offers 2-3"),
        ({"cpuset": "0,3-5"}, "shared CPUs of NUMA cell 0: wants 4, host offers 2"),
        ({"memory_mib": 2048}, "memory of NUMA cell 0: wants 2048 MiB, host has 1024 MiB"),
        ({"memory_mib": 256, "page_size": 2048}, "pages of 2048 KiB of NUMA cell 0: wants 128, host has 90"),
        ({"page_size": 1048576, "memory_mib": 1024}, "pages of 1048576 KiB of NUMA cell 0: wants 1, host has 0"),
    ],
)
def test_what_the_host_lost_is_named_with_its_numbers(changes: dict[str, object], reason: str) -> None:
    assert complaint(**changes) == reason


def test_pages_that_are_there_fit() -> None:
    assert complaint(page_size=2048) == ""


def test_host_without_cells_refuses_a_placed_guest() -> None:
    guest = guest_spec(vcpus=3, numa_topology=placed())

    assert topology_complaints(guest, replace(REPORT, numa_topology=None)) == ["NUMA cell: wants 0, host has none"]


def test_device_that_is_gone_is_named() -> None:
    guest = guest_spec(pci_devices=(GivenDevice("0000:0b:00.0"),))

    assert topology_complaints(guest, REPORT) == ["PCI device: wants 0000:0b:00.0, host offers 1 others"]


def test_topology_without_a_place_is_refused() -> None:
    with pytest.raises(HostTopologyChanged, match="no topology"):
        ResourceTracker().claim(guest_spec(numa_topology=placed(host_cell=None)), REPORT)


def test_contradiction_of_flavor_and_image_is_the_users_fault() -> None:
    with pytest.raises(GuestContradicts, match="cores") as caught:
        ResourceTracker().claim(guest_spec(fault="too many cores"), REPORT)
    assert caught.value.failure_class is FailureClass.USER


def test_guest_placed_on_what_is_gone_goes_to_another_host(world: World) -> None:
    guest = guest_spec(numa_topology=placed(cpuset="0", pcpuset="", pinning=[], host_cell=9))
    row = world.conductor.place(guest, vm_state="building")
    world.conductor.order(WorkKind.BUILD, guest)
    world.start()

    eventually(lambda: row.failures)
    assert (row.failures[0].failure_class, row.failures[0].step) == (FailureClass.HOST, "claim")
    assert "NUMA cell: wants 9" in row.failures[0].message
    assert row.host == "another"


def test_change_of_the_machine_is_reported_again(world: World) -> None:
    world.start()
    eventually(lambda: world.conductor.reports)

    world.driver.numa_topology = CELLS
    eventually(lambda: world.conductor.reports[-1].numa_topology == CELLS)
