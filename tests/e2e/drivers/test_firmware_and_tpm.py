"""UEFI, secure boot and TPMs of real guests: what the guest itself sees of them, and what is left of them afterwards.

OVMF writes what it starts to the serial port, and its shell runs `startup.nsh` of the disk; SeaBIOS answers a boot
sector that asks for a TPM.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from computeagent.drivers.libvirt.boot_sector import SECTOR_BYTES, boot_sector
from computeagent.drivers.libvirt.firmware import VARIABLES, firmwares_found
from computeagent.protocol.guests import GuestSpec
from tests.e2e.drivers.conftest import Hypervisor
from tests.fixtures.patience import eventually

pytestmark = [pytest.mark.libvirt, pytest.mark.qemu, pytest.mark.long]

UEFI = {"hw_firmware_type": "uefi"}
# The shell keeps a variable over restarts, and says it.
SCRIPT = (
    b"dmpstore Kept -guid 11111111-2222-3333-4444-555555555555\r\n"
    b"setvar Kept -guid 11111111-2222-3333-4444-555555555555 -nv -bs =0x4B455054\r\n"
    b"echo DONE\r\n"
)


@pytest.fixture(autouse=True)
def needed() -> None:
    """OVMF and swtpm, which `make test` installs."""
    if not firmwares_found() or shutil.which("swtpm") is None:
        pytest.skip("ovmf and swtpm are not installed")


@pytest.fixture(scope="module")
def shell_disk(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A disk whose only file is a script of the UEFI shell."""
    directory = tmp_path_factory.mktemp("shell")
    disk, script = directory / "disk", directory / "startup.nsh"
    script.write_bytes(SCRIPT)
    disk.touch()
    with disk.open("r+b") as file:
        file.truncate(34 * 2**20)
    subprocess.run(["mformat", "-i", str(disk), "-F", "::"], check=True)
    subprocess.run(["mcopy", "-i", str(disk), str(script), "::/"], check=True)
    return disk.read_bytes()


def console(qemu: Hypervisor, guest: GuestSpec) -> str:
    return qemu.driver.console_log(guest.uuid, max_bytes=2**20).decode(errors="replace")


def built(qemu: Hypervisor, content: bytes, **changes: object) -> GuestSpec:
    return qemu.build(qemu.guest(content, memory_mib=128, **changes), content)


@pytest.mark.parametrize("machine", ["pc", "q35"])
def test_uefi_guest_keeps_its_variables_over_hard_reboots_and_leaves_none(
    qemu: Hypervisor, shell_disk: bytes, machine: str
) -> None:
    guest = built(qemu, shell_disk, image_properties={**UEFI, "hw_machine_type": machine})
    variables = qemu.state_dir / "i" / guest.uuid / VARIABLES
    eventually(lambda: "DONE" in console(qemu, guest).replace("echo DONE", ""))
    first = console(qemu, guest)
    assert "EDK II" in first
    assert "*TPEK*" not in first

    qemu.driver.hard_reboot(guest)
    eventually(lambda: "*TPEK*" in console(qemu, guest)[len(first) :])

    assert variables.stat().st_mode & 0o077 == 0
    qemu.driver.destroy(guest.uuid)
    assert not variables.exists()


def test_secure_boot_starts_nothing_unsigned(qemu: Hypervisor, shell_disk: bytes) -> None:
    properties = {**UEFI, "os_secure_boot": "required"}
    guest = built(qemu, shell_disk, image_properties=properties)

    eventually(lambda: "No bootable option" in console(qemu, guest))
    assert 'EFI Internal Shell" from' in console(qemu, guest)
    assert "Security Violation" in console(qemu, guest)
    assert "DONE" not in console(qemu, guest)


def test_stateless_firmware_keeps_nothing(qemu: Hypervisor, shell_disk: bytes) -> None:
    guest = built(qemu, shell_disk, image_properties={**UEFI, "hw_firmware_stateless": "yes"})

    eventually(lambda: "DONE" in console(qemu, guest).replace("echo DONE", ""))
    assert not (qemu.state_dir / "i" / guest.uuid / VARIABLES).exists()


def tpm_sector() -> bytes:
    """A boot sector that says its text if the BIOS has a TPM for it (INT 1Ah, TCG_StatusCheck), else nothing."""
    asks = bytes(
        [
            0x66, 0xB8, 0x00, 0xBB, 0x00, 0x00,  # mov eax, 0xbb00    TCG_StatusCheck
            0xCD, 0x1A,  # int 0x1a
            0x66, 0x85, 0xC0,  # test eax, eax
            0x74, 0x02,  # jz says
            0xEB, 0xFE,  # jmp $
        ]
    )  # fmt: skip
    says = bytearray(boot_sector("the BIOS has a TPM"))
    says[6] += len(asks)  # the text has moved by as much
    return (asks + bytes(says))[: SECTOR_BYTES - 2] + b"\x55\xaa"


@pytest.mark.parametrize(("model", "version"), [("tpm-tis", "1.2"), ("tpm-tis", "2.0"), ("tpm-crb", "2.0")])
def test_guest_finds_its_tpm_whose_state_is_kept_until_it_goes(qemu: Hypervisor, model: str, version: str) -> None:
    sector = tpm_sector().ljust(2**20, b"\0")
    guest = built(qemu, sector, extra_specs={"hw:tpm_model": model, "hw:tpm_version": version})

    def state() -> list[Path]:
        return list((qemu.state_dir / "hv").glob(f"**/swtpm/{guest.uuid}/*/*permall"))

    def found() -> int:
        return console(qemu, guest).count("the BIOS has a TPM")

    eventually(lambda: found() == 1)
    (kept,) = state()
    qemu.driver.hard_reboot(guest)
    eventually(lambda: found() == 2)
    assert state() == [kept]

    qemu.driver.destroy(guest.uuid)
    assert state() == []


def test_guest_without_a_tpm_finds_none(qemu: Hypervisor) -> None:
    sector = tpm_sector().ljust(2**20, b"\0")
    without = built(qemu, sector)
    control = built(qemu, boot_sector("control").ljust(2**20, b"\0"))

    eventually(lambda: "control" in console(qemu, control))
    assert "TPM" not in console(qemu, without)
