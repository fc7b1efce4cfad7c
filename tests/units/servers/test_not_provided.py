"""No key is accepted, documented and ignored: each is given to the guest, judged, refused, or without effect."""

from pathlib import Path

import pytest

from computeagent.drivers.libvirt import guest_hardware, guest_options
from computeagent.drivers.libvirt.guest_tuning import QUOTAS
from computeagent.protocol import guest_disks
from servers.catalog.domain.extra_specs import EXTRA_SPEC_RULES
from servers.images.domain.image_properties import PROPERTY_RULES
from servers.instances.domain.key_effects import KEY_EFFECTS
from servers.instances.domain.not_provided import (
    CDROM_BUSES,
    CPU_QUOTAS,
    DISK_BUSES,
    FLAVOR_KEYS,
    IMAGE_KEYS,
    SCSI_MODELS,
    SERIAL_PORTS,
    SOUND_MODELS,
    VIDEO_MODELS,
    VIF_MODELS,
    VIOMMU_MODELS,
    WITHOUT_EFFECT,
    NotProvided,
    not_provided,
)

TESTS = Path(__file__).resolve().parents[2]
EFFECTIVE = {key for each in KEY_EFFECTS for key in each.keys}


def is_accounted_for(key: str, refused: tuple[NotProvided, ...]) -> bool:
    return (
        key in EFFECTIVE
        or key.startswith("capabilities:")
        or key in WITHOUT_EFFECT
        or any(rule.refuses(key, "a value of no rule") or (rule.is_switch and rule.key == key) for rule in refused)
    )


def test_each_effect_is_of_a_key_that_exists_and_is_said_once() -> None:
    known = {rule.key for rule in (*EXTRA_SPEC_RULES, *PROPERTY_RULES)} | {"capabilities:{key}"}
    said = [key for each in KEY_EFFECTS for key in each.keys]

    assert set(said) <= known
    assert len(said) == len(set(said))
    assert not EFFECTIVE & set(WITHOUT_EFFECT)


@pytest.mark.parametrize("shown_by", sorted({each.shown_by for each in KEY_EFFECTS}))
def test_each_test_that_shows_an_effect_exists(shown_by: str) -> None:
    path, _, name = shown_by.partition("::")

    assert f"def {name}(" in (TESTS / path).read_text()


@pytest.mark.parametrize("key", [rule.key for rule in EXTRA_SPEC_RULES])
def test_each_extra_spec_has_its_effect_or_is_refused(key: str) -> None:
    assert is_accounted_for(key, FLAVOR_KEYS)


@pytest.mark.parametrize("key", [rule.key for rule in PROPERTY_RULES])
def test_each_image_property_has_its_effect_is_refused_or_is_said_to_have_none(key: str) -> None:
    assert is_accounted_for(key, IMAGE_KEYS)


@pytest.mark.parametrize(
    ("specs", "properties", "reported"),
    [
        ({"quota:cpu_limit": "1000"}, {}, "quota:cpu_limit=1000 of the flavor"),
        ({"vmware:hw_version": "9"}, {}, "VMware"),
        ({"hw:viommu_model": "smmuv3"}, {}, "it is for ARM"),
        ({"hw:viommu_model": "auto"}, {"hw_machine_type": "pc"}, "an IOMMU (auto) needs q35"),
        ({"hw:serial_port_count": "17"}, {}, "at most 16 serial ports"),
        ({"hw:sound_model": "pcspk"}, {}, "QEMU has no such device"),
        ({"os:secure_boot": "required"}, {}, "Secure boot needs an image with hw_firmware_type=uefi"),
        (
            {"os:secure_boot": "required"},
            {"hw_firmware_type": "uefi", "hw_machine_type": "pc"},
            "secure boot needs q35",
        ),
        ({}, {"hw_firmware_type": "uefi", "os_secure_boot": "required", "hw_firmware_stateless": "yes"}, "its keys"),
        ({}, {"hw_firmware_stateless": "yes"}, "needs hw_firmware_type=uefi"),
        ({}, {"hw_machine_type": "pc-q35-7.2", "hw_disk_bus": "ide"}, "has no IDE"),
        ({"hw:viommu_model": "virtio"}, {"hw_cdrom_bus": "ide"}, "has no IDE"),
        ({"hw:maxphysaddr_bits": "40"}, {}, "needs hw:maxphysaddr_mode=emulate"),
        ({"hw:maxphysaddr_mode": "emulate"}, {}, "from 32 to 52, not none"),
        ({"hw:maxphysaddr_mode": "emulate"}, {"hw_maxphysaddr_bits": "64"}, "from 32 to 52, not 64"),
        ({"hw:usb_model": "none"}, {"hw_pointer_model": "usbtablet"}, "which hw_pointer_model asks for"),
        ({"hw:usb_model": "none", "hw:sound_model": "usb"}, {}, "which hw:sound_model asks for"),
        ({"quota:cpu_shares": "1"}, {}, "from 2 to 262144"),
        ({"quota:disk_total_bytes_sec": "1", "quota:disk_read_bytes_sec": "1"}, {}, "goes without"),
        ({"quota:vif_inbound_peak": "1"}, {}, "needs quota:vif_inbound_average"),
        ({}, {"hw_disk_bus": "fdc"}, "virtio, sata, ide, scsi, usb"),
        ({}, {"hw_ipxe_boot": "yes"}, "configures the network"),
        ({}, {"os_require_quiesce": "yes"}, "cannot be kept without hw_qemu_guest_agent"),
    ],
)
def test_what_cannot_be_given_is_refused(specs: dict[str, str], properties: dict[str, str], reported: str) -> None:
    (sentence,) = not_provided(specs, properties)

    assert reported in sentence


def test_values_that_ask_for_nothing_are_fine() -> None:
    specs = {"quota:cpu_limit": "0", "quota:cpu_quota": "-1", "quota:cpu_shares": "0", "hw:redirected_usb_ports": "0"}
    properties = {"hw_firmware_type": "bios", "hw_vif_model": "E1000", "hw_ipxe_boot": "no", "os_distro": "debian"}
    properties |= {"hw_usb_model": "none", "hw_pointer_model": "usbtablet", "hw_input_bus": "virtio"}
    properties |= {"os_secure_boot": "optional", "hw_machine_type": "pc"}
    properties |= {"os_require_quiesce": "yes", "hw_qemu_guest_agent": "yes"}

    assert list(not_provided(specs, properties)) == []


def test_what_may_be_asked_for_is_what_the_driver_gives() -> None:
    possible = {rule.key: rule.possible for rule in IMAGE_KEYS}

    assert possible["hw_disk_bus"] == DISK_BUSES == tuple(guest_disks.DISK_BUSES)
    assert possible["hw_cdrom_bus"] == CDROM_BUSES == tuple(guest_hardware.CDROM_BUSES)
    assert possible["hw_vif_model"] == VIF_MODELS == guest_hardware.VIF_MODELS
    assert possible["hw_video_model"] == VIDEO_MODELS == guest_hardware.VIDEO_MODELS
    assert possible["hw_scsi_model"] == SCSI_MODELS == guest_options.SCSI_MODELS
    assert possible["hw_sound_model"] == SOUND_MODELS == guest_options.SOUND_MODELS
    assert possible["hw_viommu_model"] == VIOMMU_MODELS == guest_options.VIOMMU_MODELS
    assert int(SERIAL_PORTS[-1]) == guest_options.SERIAL_PORTS_MAX
    assert {key.removeprefix("quota:"): limits for key, limits in CPU_QUOTAS.items()} == QUOTAS
