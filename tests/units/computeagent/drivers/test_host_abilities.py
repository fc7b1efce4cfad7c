"""What a host says it can give to guests, by what libvirt, QEMU and its other programs say."""

from pathlib import Path

import os_traits
import pytest

from computeagent.drivers import device_traits
from computeagent.drivers.libvirt import guest_hardware, guest_options
from computeagent.drivers.libvirt.firmware import Firmware
from computeagent.drivers.libvirt.host_abilities import HostAbilities, abilities_parse, qemu_devices
from computeagent.protocol import guest_disks
from computeagent.protocol.process_traits import PROCESS_TRAITS
from scheduling.request_filters.by_hardware import GIVEN_ANYWHERE

LIBVIRT_9, LIBVIRT_7 = 9_000_000, 7_000_000
PLAIN = Firmware(Path("/c"), Path("/v"), "x86_64", ("pc-*",))
SECURE = Firmware(Path("/c"), Path("/v"), "x86_64", ("pc-q35-*",), is_secure=True, has_smm=True)
DOCUMENT = """
<domainCapabilities><path>{qemu}</path><devices>
<disk supported='yes'><enum name='bus'><value>virtio</value><value>scsi</value></enum></disk>
<video supported='yes'><enum name='modelType'><value>vga</value><value>qxl</value></enum></video>
<tpm supported='yes'><enum name='model'><value>tpm-tis</value><value>tpm-crb</value></enum>
<enum name='backendModel'><value>passthrough</value>{emulator}</enum>
<enum name='backendVersion'><value>2.0</value></enum></tpm>
</devices></domainCapabilities>"""
EMULATOR = "<value>emulator</value>"


def abilities(
    *, emulator: str = EMULATOR, has_tpm: bool = True, qemu: str = "", version: int = LIBVIRT_9
) -> HostAbilities:
    text = DOCUMENT.format(qemu=qemu, emulator=emulator)
    return abilities_parse([text], arch="x86_64", libvirt_version=version, has_tpm=has_tpm)


def test_every_trait_of_a_device_is_a_standard_one() -> None:
    assert set(os_traits.get_traits()) >= device_traits.SIMULATED - PROCESS_TRAITS
    assert {*device_traits.SOUND_MODELS.values(), device_traits.ADDRESSES_OF_HOST} <= set(os_traits.get_traits())


def test_every_host_gives_what_no_request_asks_of_it() -> None:
    assert GIVEN_ANYWHERE <= device_traits.EVERY_HOST


def test_each_model_that_a_guest_may_have_has_its_trait() -> None:
    assert {*device_traits.VIF_MODELS} <= {*guest_hardware.VIF_MODELS}
    assert {*device_traits.VIDEO_MODELS} <= {*guest_hardware.VIDEO_MODELS}
    assert {*device_traits.DISK_BUSES} <= {*guest_disks.DISK_BUSES}
    assert {*device_traits.SOUND_MODELS} >= {*guest_options.SOUND_MODELS}
    assert {*device_traits.VIOMMU_MODELS} == {*guest_options.VIOMMU_MODELS}
    assert {*device_traits.USB_MODELS} == {*guest_options.USB_MODELS} - {"none"}


def test_host_that_cannot_be_asked_has_what_every_host_has() -> None:
    assert HostAbilities().traits == device_traits.EVERY_HOST | {device_traits.PACKED_VIRTQUEUES}


def test_buses_and_video_models_are_those_of_libvirt() -> None:
    found = abilities().traits

    assert {"COMPUTE_STORAGE_BUS_SCSI", "COMPUTE_GRAPHICS_MODEL_QXL"} <= found
    assert not {"COMPUTE_STORAGE_BUS_USB", "COMPUTE_GRAPHICS_MODEL_BOCHS"} & found


@pytest.mark.parametrize(("emulator", "has_tpm"), [("", True), (EMULATOR, False)])
def test_tpm_needs_libvirt_and_the_programs(emulator: str, has_tpm: bool) -> None:
    tpm = {"COMPUTE_SECURITY_TPM_CRB", "COMPUTE_SECURITY_TPM_TIS", "COMPUTE_SECURITY_TPM_2_0", device_traits.TPM_SECRET}

    assert tpm <= abilities().traits
    assert "COMPUTE_SECURITY_TPM_1_2" not in abilities().traits
    assert not tpm & abilities(emulator=emulator, has_tpm=has_tpm).traits


def test_uefi_and_secure_boot_need_their_firmware() -> None:
    def found(*firmwares: Firmware) -> frozenset[str]:
        return HostAbilities("x86_64", LIBVIRT_9, firmwares=firmwares).traits

    assert {device_traits.UEFI, device_traits.STATELESS_FIRMWARE} <= found(PLAIN)
    assert device_traits.SECURE_BOOT not in found(PLAIN)
    assert device_traits.SECURE_BOOT in found(SECURE)
    assert device_traits.UEFI not in found(SECURE)
    assert device_traits.UEFI not in HostAbilities("aarch64", LIBVIRT_9, firmwares=(PLAIN,)).traits


def test_width_of_addresses_needs_a_libvirt_that_knows_it_and_that_of_the_host_kvm() -> None:
    assert device_traits.ADDRESSES_EMULATED in HostAbilities("x86_64", LIBVIRT_9).traits
    assert device_traits.ADDRESSES_EMULATED not in HostAbilities("x86_64", LIBVIRT_7).traits
    assert device_traits.ADDRESSES_OF_HOST not in HostAbilities("x86_64", LIBVIRT_9).traits
    assert device_traits.ADDRESSES_OF_HOST in HostAbilities("x86_64", LIBVIRT_9, is_kvm=True).traits


def test_devices_are_those_of_qemu_itself(tmp_path: Path) -> None:
    program = tmp_path / "qemu"
    program.write_text("#!/bin/sh\necho 'name \"vmxnet3\", bus PCI'\necho 'name \"virtio-iommu-pci\", bus PCI'\n")
    program.chmod(0o755)

    found = abilities(qemu=str(program)).traits

    assert {"COMPUTE_NET_VIF_MODEL_VMXNET3", "COMPUTE_VIOMMU_MODEL_VIRTIO", "COMPUTE_VIOMMU_MODEL_AUTO"} <= found
    assert not {"COMPUTE_NET_VIF_MODEL_IGB", "COMPUTE_VIOMMU_MODEL_INTEL"} & found


@pytest.mark.parametrize("text", [None, "#!/bin/sh\nexit 1\n", "no program"])
def test_qemu_that_does_not_answer_has_no_devices(tmp_path: Path, text: str | None) -> None:
    program = tmp_path / "qemu"
    if text is not None:
        program.write_text(text)
        program.chmod(0o755)

    assert qemu_devices(str(program)) == frozenset()
