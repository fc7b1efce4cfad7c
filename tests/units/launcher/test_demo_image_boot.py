"""The demo image, booted for real under plain emulation."""

from pathlib import Path

import pytest

from controlplane.launcher.demo_image.build import MIN_RAM_MIB, demo_image_build
from tests.fixtures.guests import BareGuest, config_drive
from tests.fixtures.patience import eventually
from tests.fixtures.processes import Processes

pytestmark = [pytest.mark.qemu, pytest.mark.processes, pytest.mark.long]

SCRIPT = b"#!/bin/sh\necho computed $((6 * 7))\n"
META_DATA = {
    "uuid": "7f8f1f3c-3a0c-4b3a-9a9e-0d6c7b7a1f11",
    "keys": [{"name": "not this name", "data": "ssh-ed25519 AAAA"}],
    "name": 'web "one"',
    "hostname": "web-one",
}


@pytest.fixture(scope="module")
def demo_image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_image_build(tmp_path_factory.mktemp("cache"))


def _booted(processes: Processes, tmp_path: Path, demo_image: Path, *, line: str, **options: str) -> BareGuest:
    drive = config_drive(tmp_path / "config.iso", meta_data=META_DATA, user_data=SCRIPT)
    guest = BareGuest(
        processes, tmp_path, disk=demo_image, drive=drive, ram_mib=MIN_RAM_MIB, drive_bus=options.get("bus", "ide")
    )
    eventually(lambda: line in guest.output(), f"{line!r} on the serial console")
    return guest


def test_guest_says_its_name_and_runs_its_user_data(processes: Processes, tmp_path: Path, demo_image: Path) -> None:
    guest = _booted(processes, tmp_path, demo_image, line="User data ended with status 0")
    assert 'Hello from web "one"' in guest.output()
    assert f"Instance {META_DATA['uuid']}" in guest.output()
    assert "| echo computed $((6 * 7))" in guest.output()
    assert "computed 42" in guest.output()


def test_guest_gets_an_address_by_dhcp(processes: Processes, tmp_path: Path, demo_image: Path) -> None:
    guest = _booted(processes, tmp_path, demo_image, line="Network: eth0 has 10.0.2.15/24")
    assert guest.process.poll() is None


def test_config_drive_on_a_virtio_disk_is_found(processes: Processes, tmp_path: Path, demo_image: Path) -> None:
    guest = _booted(processes, tmp_path, demo_image, line="Hello from web", bus="virtio")
    assert guest.process.poll() is None


def test_power_button_stops_the_guest(processes: Processes, tmp_path: Path, demo_image: Path) -> None:
    guest = _booted(processes, tmp_path, demo_image, line="Network: eth0")
    guest.press_power_button()
    eventually(lambda: guest.process.poll() is not None, "the guest is off")
    assert "Power button: going down" in guest.output()
    assert guest.process.returncode == 0
