"""Which firmware a host has, and which of it a guest gets."""

import json
from pathlib import Path
from typing import Any

import pytest

from computeagent.drivers.base import DriverError
from computeagent.drivers.libvirt.firmware import Firmware, firmware_choose, firmwares_found, has_firmware


class Host:
    """Two directories of descriptions, and files that they name."""

    def __init__(self, root: Path) -> None:
        self.shipped, self.own, self.files = root / "usr", root / "etc", root / "files"
        for directory in (self.shipped, self.own, self.files):
            directory.mkdir()

    def describe(self, name: str, *features: str, where: Path | None = None, **changes: Any) -> None:
        """Put a description of a firmware of 8 bytes of code and 4 of variables."""
        for suffix, size in (("CODE", 8), ("VARS", changes.pop("variables_bytes", 4))):
            (self.files / f"{name}-{suffix}.fd").write_bytes(b"x" * size)
        described = {
            "interface-types": ["uefi"],
            "mapping": {
                "device": "flash",
                "executable": {"filename": str(self.files / f"{name}-CODE.fd"), "format": "raw"},
                "nvram-template": {"filename": str(self.files / f"{name}-VARS.fd"), "format": "raw"},
            },
            "targets": [{"architecture": "x86_64", "machines": ["pc-i440fx-*", "pc-q35-*"]}],
            "features": list(features),
        }
        ((where or self.shipped) / f"{name}.json").write_text(json.dumps({**described, **changes}))

    def found(self) -> tuple[Firmware, ...]:
        """What is there to choose from."""
        return firmwares_found((self.shipped, self.own))


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_first_by_name_that_fits_is_chosen(host: Host) -> None:
    host.describe("60-plain")
    host.describe("50-other")
    host.describe("40-signed", "secure-boot", "enrolled-keys", "requires-smm")

    chosen = firmware_choose(host.found(), arch="x86_64", machine="pc", is_secure=False, variables=None)
    signed = firmware_choose(host.found(), arch="x86_64", machine="q35", is_secure=True, variables=None)

    assert (chosen.code.name, chosen.has_smm) == ("50-other-CODE.fd", False)
    assert (signed.code.name, signed.has_smm, signed.is_secure) == ("40-signed-CODE.fd", True, True)


def test_secure_boot_without_keys_counts_as_neither(host: Host) -> None:
    host.describe("50-no-keys", "secure-boot", "requires-smm")

    assert host.found() == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"interface-types": ["bios"]},
        {"mapping": {"device": "memory", "filename": "/x"}},
        {"mapping": {"device": "flash", "mode": "stateless", "executable": {"filename": "/x", "format": "raw"}}},
        {"mapping": 3},
        {"targets": [{}]},
    ],
)
def test_description_of_another_kind_offers_nothing(host: Host, changes: dict[str, Any]) -> None:
    host.describe("60-plain", **changes)

    assert host.found() == ()


def test_own_description_stands_for_the_shipped_one_and_an_empty_one_takes_it_away(host: Host) -> None:
    host.describe("60-plain")
    host.describe("70-other")
    host.describe("60-plain", "secure-boot", "enrolled-keys", where=host.own)
    (host.own / "70-other.json").write_text("")

    assert [(one.code.name, one.is_secure) for one in host.found()] == [("60-plain-CODE.fd", True)]


def test_description_that_is_no_json_and_files_that_are_gone_offer_nothing(host: Host) -> None:
    (host.shipped / "10-broken.json").write_text("{")
    host.describe("60-plain")
    (host.files / "60-plain-VARS.fd").unlink()

    assert host.found() == ()
    assert not has_firmware(host.found(), "x86_64", is_secure=False)


@pytest.mark.parametrize(("machine", "arch"), [("pc-i440fx-7.2", "aarch64"), ("virt-7.2", "x86_64")])
def test_machine_without_a_firmware_is_refused(host: Host, machine: str, arch: str) -> None:
    host.describe("60-plain")

    with pytest.raises(DriverError, match=f"no firmware of UEFI for a machine of type {machine}"):
        firmware_choose(host.found(), arch=arch, machine=machine, is_secure=False, variables=None)


def test_kept_variables_stay_with_the_firmware_that_they_were_made_for(host: Host, tmp_path: Path) -> None:
    host.describe("50-new", variables_bytes=6)
    host.describe("60-old")
    kept = tmp_path / "nvram.fd"

    def chosen() -> str:
        found = firmware_choose(host.found(), arch="x86_64", machine="q35", is_secure=False, variables=kept)
        return found.code.name

    assert chosen() == "50-new-CODE.fd"
    kept.write_bytes(b"vars")
    assert chosen() == "60-old-CODE.fd"
    kept.write_bytes(b"variables")
    with pytest.raises(DriverError, match="9 bytes, are of a firmware that this host no more has"):
        chosen()
