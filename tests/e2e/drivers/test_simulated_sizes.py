"""What simulated hosts report."""

from pathlib import Path

import pytest

from computeagent.drivers.libvirt.driver import LibvirtDriver
from computeagent.drivers.libvirt.host_profile import SizeOverrides
from computeagent.drivers.libvirt.simulated_host import simulated_host_write

pytestmark = pytest.mark.libvirt


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
