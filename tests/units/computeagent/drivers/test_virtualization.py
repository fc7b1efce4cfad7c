"""KVM or emulation: what a trial says of a host, and what it does not say."""

import json
import logging
from pathlib import Path

import libvirt
import pytest

from computeagent.drivers.libvirt.virtualization import virt_type_choose

pytestmark = [
    pytest.mark.libvirt,
    pytest.mark.skipif(not Path("/dev/kvm").exists(), reason="without /dev/kvm nothing is tried"),
]


class Connection:
    """A libvirt that starts no guest of these types."""

    def __init__(self, *refused: str) -> None:
        self.refused, self.tried = refused, list[str]()

    def createXML(self, xml: str, _flags: int) -> None:  # noqa: N802 - libvirt's name
        (virt_type,) = (each for each in ("kvm", "qemu") if f'type="{each}"' in xml.partition("<name>")[0])
        self.tried.append(virt_type)
        if virt_type in self.refused:
            raise libvirt.libvirtError("Could not open the disk: Permission denied")

    def lookupByUUIDString(self, _uuid: str) -> None:  # noqa: N802
        raise libvirt.libvirtError("no such domain")

    def getCapabilities(self) -> str:  # noqa: N802
        return "<capabilities/>"

    def getDomainCapabilities(self, *_of: object) -> str:  # noqa: N802
        return "<domainCapabilities/>"

    def getVersion(self) -> int:  # noqa: N802
        return 7_002_022

    def getURI(self) -> str:  # noqa: N802
        return "qemu:///system"


def test_host_where_kvm_alone_starts_no_guest_emulates_and_remembers_why(tmp_path: Path) -> None:
    connection = Connection("kvm")
    assert virt_type_choose(connection, tmp_path, tmp_path) == "qemu"
    assert "Permission denied" in json.loads((tmp_path / "virt_type.json").read_bytes())["reason"]
    assert virt_type_choose(connection, tmp_path, tmp_path) == "qemu"
    assert connection.tried == ["kvm", "qemu"]


def test_host_that_starts_no_guest_at_all_is_tried_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    connection = Connection("kvm", "qemu")
    with caplog.at_level(logging.WARNING):
        assert virt_type_choose(connection, tmp_path, tmp_path) == "qemu"
    assert "no trial guest starts here" in caplog.text
    assert "Permission denied" in caplog.text
    assert not (tmp_path / "virt_type.json").exists()
    assert virt_type_choose(connection, tmp_path, tmp_path) == "qemu"
    assert connection.tried == ["kvm", "qemu"] * 2
