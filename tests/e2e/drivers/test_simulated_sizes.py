"""What simulated hosts report, and that libvirt takes what a placed guest is defined as."""

from pathlib import Path

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.device_spec import device_specs_of_text
from computeagent.drivers.host_options import HostOptions
from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.drivers.libvirt.host_profile import SizeOverrides
from computeagent.drivers.libvirt.simulated_host import simulated_host_write
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.power import PowerState
from computeagent.protocol.topology import CpuTopology
from computeagent.protocol.topology_json import guest_from_dict

pytestmark = pytest.mark.libvirt

PLACED = GuestSpec(
    uuid="f81d4fae-7dec-41d0-a765-00a0c91e6bf6",
    name="web-1",
    project_id="p1",
    vcpus=3,
    memory_mib=128,
    root_gib=1,
    ephemeral_gib=0,
    swap_mib=0,
    image_id="i1",
    image_checksum="",
    image_size_bytes=0,
    image_disk_format="raw",
    extra_specs={"quota:cpu_shares": "512"},
    numa_topology=guest_from_dict(
        {
            "cells": [
                {"id": 0, "cpuset": "0", "pcpuset": "", "memory_mib": 64, "host_cell": 1},
                {
                    "id": 1,
                    "cpuset": "",
                    "pcpuset": "1-2",
                    "memory_mib": 64,
                    "host_cell": 0,
                    "page_size": 2048,
                    "pinning": [[1, 0], [2, 1]],
                    "reserved": "2",
                },
            ],
            "emulator_threads": "isolate",
        }
    ),
    cpu_topology=CpuTopology(3, 1, 1),
    realtime_vcpus="2",
)
"""Two cells, pins, huge pages, an isolated CPU, real time: all that a definition can say of a host."""


def test_simulated_host_has_the_sizes_of_its_file(tmp_path: Path) -> None:
    uri = simulated_host_write(tmp_path / "host.xml", vcpus=96, memory_mib=393_216, disk_gib=4000)
    driver = LibvirtDriver(uri, tmp_path, "node")
    driver.open()

    report = driver.host_report()
    driver.close()
    assert (report.vcpus, report.memory_mib, report.disk_gib) == (96, 393_216, 4000)


def test_share_of_a_machine_is_reported_instead_of_all_of_it(tmp_path: Path) -> None:
    share = SizeOverrides(vcpus=3, memory_mib=1000, disk_gib=7)
    driver = LibvirtDriver("test:///default", tmp_path, "node", overrides=share)
    driver.open()

    report = driver.host_report()
    driver.close()
    assert (report.vcpus, report.memory_mib, report.disk_gib) == (3, 1000, 7)
    assert report.disk_available_least_gib == 7


def test_simulated_host_has_the_cells_and_pages_of_its_file(tmp_path: Path) -> None:
    uri = simulated_host_write(
        tmp_path / "host.xml", vcpus=16, memory_mib=65536, numa_cells=4, threads=2, huge_pages=100
    )
    driver = LibvirtDriver(uri, tmp_path, "node")
    driver.open()

    report = driver.host_report()
    driver.close()
    cells = report.numa_topology or ()
    assert [(len(cell.cpuset), cell.threads_per_core, cell.memory_mib) for cell in cells] == [(4, 2, 16384)] * 4
    assert [pages.total for cell in cells if (pages := cell.pages(2048))] == [100] * 4


def test_libvirts_own_simulated_host_reports_its_cells(tmp_path: Path) -> None:
    driver = LibvirtDriver("test:///default", tmp_path, "node", options=HostOptions(frozenset({0, 8})))
    driver.open()

    report = driver.host_report()
    driver.close()
    assert [cell.pcpuset for cell in report.numa_topology or ()] == [{0}, {8}]
    assert (report.vcpus, report.dedicated_vcpus) == (0, 2)


def test_share_of_a_divided_machine_is_at_most_its_shared_cpus(tmp_path: Path) -> None:
    options = HostOptions(frozenset({2, 3}), frozenset({0, 1}))
    for asked, expected in ((1, 1), (9, 2)):
        share = SizeOverrides(vcpus=asked)
        driver = LibvirtDriver("test:///default", tmp_path, "node", overrides=share, options=options)
        driver.open()
        assert (driver.host_report().vcpus, driver.host_report().dedicated_vcpus) == (expected, 2)
        driver.close()


def test_placed_guest_runs_on_a_simulated_host(tmp_path: Path) -> None:
    uri = simulated_host_write(tmp_path / "host.xml", vcpus=8, memory_mib=8192)
    driver = LibvirtDriver(uri, tmp_path, "node")
    driver.open()

    facts = driver.spawn(PLACED)
    driver.close()
    assert facts.power_state is PowerState.RUNNING


def test_host_without_pci_devices_reports_none_whatever_the_specs(tmp_path: Path) -> None:
    driver = LibvirtDriver(
        "test:///default", tmp_path, "node", options=HostOptions(device_specs=device_specs_of_text("{}"))
    )
    driver.open()

    assert driver.host_report().pci_devices == ()
    driver.close()


def test_host_that_lacks_a_dedicated_cpu_says_which(tmp_path: Path) -> None:
    driver = LibvirtDriver("test:///default", tmp_path, "node", options=HostOptions(frozenset({15, 16})))
    driver.open()

    with pytest.raises(DriverError, match="CPUs 16 of the dedicated set are not online here; online are 0-15"):
        driver.host_report()
    driver.close()
