"""Image properties (nova.objects.image_meta): each known one with what it takes and refuses; the rest are kept."""

import pytest

from scheduling.domain.request.image_property_names import BOOLEANS, EARLIER_VALUES, KNOWN, NUMBERS, present_value
from servers.images.domain.image_properties import (
    EARLIER_NAMES,
    PROPERTY_RULES,
    image_property_problems,
    property_complaint,
)
from servers.images.domain.image_rules import image_problems

BESIDE = {"os_shutdown_timeout"}
"""Nova's compute reads it of the instance; its image metadata, which the scheduler sees, has it not."""
NAMES = {rule.key.removesuffix(".{node}") for rule in PROPERTY_RULES}
FINE_AND_BAD = {  # one value that is taken, one that is refused; None where any text is
    "hw_architecture": ("X86_64", "x87"), "hw_emulation_architecture": ("aarch64", "arm"),
    "hw_cpu_policy": ("mixed", "pinned"), "hw_cpu_thread_policy": ("prefer", "preferred"),
    "hw_cpu_realtime_mask": ("^0-1", "a"), "hw_cpu_sockets": ("2", "two"), "hw_cpu_cores": ("2", "-1"),
    "hw_cpu_threads": ("2", "1.5"), "hw_cpu_max_sockets": ("0", "x"), "hw_cpu_max_cores": ("8", "x"),
    "hw_cpu_max_threads": ("8", "x"), "hw_mem_page_size": ("2048", "big"), "hw_locked_memory": ("true", "maybe"),
    "hw_numa_nodes": ("2", "0"), "hw_numa_cpus.1": ("0-3", "x"), "hw_numa_mem.0": ("512", "0"),
    "hw_pci_numa_affinity_policy": ("socket", "near"), "hw_mem_encryption": ("no", "perhaps"),
    "hw_mem_encryption_model": ("amd-sev-snp", "sev"), "hw_maxphysaddr_mode": ("emulate", "none"),
    "hw_maxphysaddr_bits": ("42", "65"), "hw_machine_type": ("pc-q35-7.2", None), "hw_vm_mode": ("HVM", "kvm"),
    "hw_firmware_type": ("uefi", "efi"), "hw_firmware_stateless": ("1", "2"), "hw_boot_menu": ("yes", "x"),
    "hw_ipxe_boot": ("no", "x"), "hw_auto_disk_config": ("disabled", None), "hw_device_id": ("2", "x"),
    "hw_tpm_model": ("tpm-tis", "tis"), "hw_tpm_version": ("2.0", "2"), "hw_viommu_model": ("auto", "amd"),
    "hw_ephemeral_encryption": ("yes", "x"), "hw_ephemeral_encryption_format": ("luks", "aes"),
    "hw_ephemeral_encryption_secret_uuid": ("6a3915c1-1e32-4d5c-8a4e-6b1f6f1d2c33", "secret"),
    "hw_disk_bus": ("virtio", "pata"), "hw_cdrom_bus": ("sata", "cd"), "hw_floppy_bus": ("fdc", "fd"),
    "hw_rescue_bus": ("usb", "x"), "hw_rescue_device": ("cdrom", "cd"), "hw_disk_type": ("preallocated", None),
    "hw_scsi_model": ("VIRTIO-SCSI", "adaptec"), "hw_vif_model": ("E1000", "ne1000"),
    "hw_vif_multiqueue_enabled": ("on", "x"), "hw_virtio_packed_ring": ("off", "x"),
    "hw_video_model": ("bochs", "voodoo"), "hw_video_ram": ("64", "-1"), "hw_input_bus": ("usb", "ps2"),
    "hw_pointer_model": ("usbtablet", "mouse"), "hw_rng_model": ("virtio", "x"),
    "hw_watchdog_action": ("reset", "bark"),
    "hw_serial_port_count": ("0", "-1"), "hw_qemu_guest_agent": ("yes", "x"), "hw_pmu": ("true", "x"),
    "hw_time_hpet": ("true", "x"), "hw_sound_model": ("ich9", "sb"), "hw_usb_model": ("qemu-xhci", "ehci"),
    "hw_redirected_usb_ports": ("15", "16"), "img_hv_type": ("KVM", "kmv"),
    "img_hv_requested_version": (">=6.0,<7.2", "new"), "img_config_drive": ("mandatory", "yes"),
    "img_hide_hypervisor_id": ("yes", "x"), "img_cache_in_nova": ("yes", "x"), "img_compression_level": ("9", "10"),
    "img_linked_clone": ("yes", "x"), "img_owner_id": ("p", None), "img_use_agent": ("yes", "x"),
    "img_version": ("1", "x"), "img_bittorrent": ("yes", "x"), "img_bdm_v2": ("True", "x"),
    "img_block_device_mapping": ('[{"boot_index": 0}]', "{}"), "img_mappings": ("[]", "[1]"),
    "img_root_device_name": ("/dev/vda", None), "img_signature": ("abc=", None),
    "img_signature_hash_method": ("SHA-256", "MD5"), "img_signature_key_type": ("RSA-PSS", "RSA"),
    "img_signature_certificate_uuid": ("6a3915c1-1e32-4d5c-8a4e-6b1f6f1d2c33", "x"), "os_admin_user": ("root", None),
    "os_command_line": ("quiet", None), "os_distro": ("debian", None), "os_type": ("Linux", "bsd"),
    "os_shutdown_timeout": ("0", "abc"), "os_require_quiesce": ("yes", "x"), "os_secure_boot": ("optional", "yes"),
    "os_skip_agent_inject_files_at_boot": ("yes", "x"), "os_skip_agent_inject_ssh": ("yes", "x"),
    "trait:HW_CPU_X86_AVX2": ("required", "forbidden"),
}  # fmt: skip


def test_there_are_86_known_properties_as_in_novas_image_metadata_and_one_that_it_reads_beside():
    assert len(NAMES - BESIDE) == 86


def test_each_known_property_is_tried_below():
    assert {name.split(".")[0] if "numa" in name else name for name in FINE_AND_BAD if "trait" not in name} == {
        name for name in NAMES if "trait" not in name
    }


@pytest.mark.parametrize(("key", "fine", "bad"), [(key, *values) for key, values in FINE_AND_BAD.items()])
def test_property_takes_what_nova_takes_and_names_what_is_allowed(key, fine, bad):
    assert property_complaint(key, fine) == ""
    if bad is not None:
        assert property_complaint(key, bad).startswith(f"{key}: is {bad!r}; it must be ")


OLDER_WORDS = [
    ("hw_architecture", "i386"),
    ("hw_architecture", "amd64"),
    ("hw_vif_model", "VirtualE1000"),
    ("hw_scsi_model", "paravirtual"),
    ("img_hv_type", "xapi"),
    ("hw_vm_mode", "pv"),
]


@pytest.mark.parametrize("older", OLDER_WORDS)
def test_older_spelling_of_a_value_is_taken(older):
    assert property_complaint(*older) == ""


@pytest.mark.parametrize("earlier", EARLIER_NAMES)
def test_earlier_name_is_judged_as_the_present_one(earlier):
    fine, bad = FINE_AND_BAD[EARLIER_NAMES[earlier]]
    assert property_complaint(earlier, fine) == ""
    assert bad is None or property_complaint(earlier, bad).startswith(f"{earlier}: is ")


@pytest.mark.parametrize(("value", "is_fine"), [("ide", True), ("lsiLogic", True), ("virtio", False)])
def test_adapter_of_vmware_is_a_bus_or_a_controller(value, is_fine):
    assert (property_complaint("vmware_adaptertype", value) == "") is is_fine


@pytest.mark.parametrize("key", ["os_version", "mine", "hw_unheard_of", "com.example:build"])
def test_unknown_property_is_its_owners_own(key):
    assert property_complaint(key, "") == ""


@pytest.mark.parametrize(
    ("properties", "at", "part"),
    [
        ({"a": 1}, "a", "Must be text"),
        ({"a/b": "1"}, "a/b", "1 to 255 letters"),
        ({"os_command_line": "x" * 4097}, "os_command_line", "at most 4096"),
        ({"trait:NOPE": "required"}, "trait:NOPE", "neither a standard trait"),
        ("x", "", "Must be an object"),
        ({str(index): "" for index in range(129)}, "", "at most 128"),
    ],
)
def test_bad_pair_is_refused_at_its_key(properties, at, part):
    ((key, (reason,)),) = image_property_problems(properties).items()
    assert key == at
    assert part in reason


SEALED = {"hw_mem_encryption": "yes", "hw_firmware_type": "uefi"}


@pytest.mark.parametrize(
    ("properties", "at", "part"),
    [
        ({"hw_mem_encryption": "yes"}, "hw_mem_encryption", "needs hw_firmware_type=uefi"),
        (SEALED | {"hw_machine_type": "pc"}, "hw_mem_encryption", "needs a q35 machine"),
        (SEALED | {"hw_mem_encryption_model": "amd-sev-snp"}, "hw_mem_encryption_model", "hw_firmware_stateless=yes"),
        (
            SEALED | {"hw_mem_encryption_model": "intel-tdx", "hw_firmware_stateless": "yes"},
            "hw_mem_encryption_model",
            "hw_video_model=none",
        ),
        ({"hw_tpm_model": "tpm-crb", "hw_tpm_version": "1.2"}, "hw_tpm_model", "hw_tpm_version=2.0 only"),
        ({"hw_cpu_cores": "4", "hw_cpu_max_cores": "2"}, "hw_cpu_cores", "above hw_cpu_max_cores, which is 2"),
        (
            {"hw_cpu_thread_policy": "isolate", "trait:HW_CPU_HYPERTHREADING": "required"},
            "trait:HW_CPU_HYPERTHREADING",
            "cannot go with hw_cpu_thread_policy=isolate",
        ),
    ],
)
def test_properties_that_exclude_each_other_are_refused(properties, at, part):
    ((key, (reason,)),) = image_property_problems(properties).items()
    assert key == at
    assert part in reason


@pytest.mark.parametrize(
    "properties",
    [
        SEALED,
        SEALED | {"hw_machine_type": "pc-q35-7.2"},
        SEALED | {"hw_mem_encryption_model": "intel-tdx", "hw_firmware_stateless": "yes", "hw_video_model": "none"},
        {"hw_cpu_cores": "4", "hw_cpu_max_cores": "0"},
        {"hw_tpm_model": "tpm-crb"},
        {"hw_cpu_thread_policy": "isolate", "hw_cpu_policy": "dedicated"},
    ],
)
def test_properties_that_go_together_are_left_alone(properties):
    assert image_property_problems(properties) == {}


def test_problem_is_found_at_the_dotted_field():
    assert list(image_problems({"properties": {"hw_disk_bus": "pata"}})) == ["properties.hw_disk_bus"]


def test_what_was_wrong_before_does_not_stop_an_edit():
    stored = {"hw_disk_bus": "pata"}
    assert image_problems({"properties": {**stored, "mine": "1"}}, stored_properties=stored) == {}


def test_scheduler_knows_exactly_the_properties_that_are_judged_here() -> None:
    # Of a family (hw_numa_cpus.0) the scheduler knows the name before the number; required traits are one name there.
    judged = {rule.key.partition(".")[0] for rule in PROPERTY_RULES if not rule.key.startswith("trait:")}
    assert judged - BESIDE | {"traits_required"} == KNOWN


def test_scheduler_reads_values_of_the_kinds_that_the_rules_allow() -> None:
    """Three kinds are not compared to the letter: truth values, numbers, and words in any case of letters."""
    rules = {rule.key: rule.allowed for rule in PROPERTY_RULES if not rule.is_family}
    listed = {key: allowed.words.removeprefix("one of ").split(", ")[0] for key, allowed in rules.items()}
    assert {key for key, allowed in rules.items() if allowed.words.startswith("yes or no")} == BOOLEANS
    assert {key for key, allowed in rules.items() if allowed.words.startswith("a whole number")} - BESIDE == NUMBERS
    assert {
        key
        for key, allowed in rules.items()
        if allowed.words.startswith("one of ") and allowed.fits(listed[key].upper()) and listed[key].islower()
    } == set(EARLIER_VALUES)


@pytest.mark.parametrize(("key", "earlier"), [(key, one) for key, values in EARLIER_VALUES.items() for one in values])
def test_earlier_values_are_allowed_and_become_allowed_ones(key: str, earlier: str) -> None:
    assert property_complaint(key, earlier) == ""
    assert property_complaint(key, present_value(key, earlier.upper())) == ""
