"""hw: keys: one test per kind of value, each key with what it takes and what it refuses."""

import pytest

from servers.catalog.domain.extra_specs import extra_spec_complaint

CHOICES = {
    "hw:cpu_policy": "dedicated, shared, mixed",
    "hw:cpu_thread_policy": "prefer, isolate, require",
    "hw:emulator_threads_policy": "isolate, share",
    "hw:pci_numa_affinity_policy": "required, preferred, legacy, socket",
    "hw:mem_encryption_model": "amd-sev, amd-sev-es, amd-sev-snp, intel-tdx",
    "hw:maxphysaddr_mode": "passthrough, emulate",
    "hw:tpm_model": "tpm-tis, tpm-crb",
    "hw:tpm_version": "1.2, 2.0",
    "hw:tpm_secret_security": "user, host, deployment",
    "hw:watchdog_action": "none, pause, poweroff, reset, disabled",
    "hw:viommu_model": "intel, smmuv3, virtio, auto",
    "hw:sound_model": "sb16, es1370, pcspk, ac97, ich6, ich9, usb, virtio",
    "hw:usb_model": "none, nec-xhci, qemu-xhci",
    "hw:ephemeral_encryption_format": "plain, luks, luksv2",
}
FLAGS = [
    "hw:cpu_realtime",
    "hw:locked_memory",
    "hw:boot_menu",
    "hw:vif_multiqueue_enabled",
    "hw:pmu",
    "hw:hide_hypervisor_id",
    "hw:virtio_packed_ring",
    "hw:mem_encryption",
    "hw:ephemeral_encryption",
]
NUMBERS = [  # key, least, most
    ("hw:numa_nodes", 1, 128),
    ("hw:numa_mem.0", 1, None),
    *((f"hw:cpu_{part}", 1, None) for part in ("sockets", "cores", "threads")),
    *((f"hw:cpu_max_{part}", 1, None) for part in ("sockets", "cores", "threads")),
    ("hw:serial_port_count", 0, None),
    ("hw:redirected_usb_ports", 0, 15),
    ("hw:maxphysaddr_bits", 1, 64),
]
MASKS = ["hw:cpu_dedicated_mask", "hw:cpu_realtime_mask", "hw:numa_cpus.0", "hw:numa_cpus.12"]


@pytest.mark.parametrize(("key", "words"), CHOICES.items())
def test_each_word_of_a_choice_is_taken(key, words):
    assert [extra_spec_complaint(key, word) for word in words.split(", ")] == [""] * len(words.split(", "))


@pytest.mark.parametrize(("key", "words"), CHOICES.items())
def test_other_word_is_refused_with_the_choice(key, words):
    assert extra_spec_complaint(key, "mine") == f"{key}: is 'mine'; it must be one of {words}."


@pytest.mark.parametrize("key", FLAGS)
@pytest.mark.parametrize("value", ["1", "0", "true", "False", "y", "NO", "on", "off", "t", "f", " yes "])
def test_truth_value_is_taken_as_nova_reads_it(key, value):
    assert extra_spec_complaint(key, value) == ""


@pytest.mark.parametrize("key", FLAGS)
@pytest.mark.parametrize("value", ["2", "00", "tru", "yah", ""])
def test_what_is_no_truth_value_is_refused(key, value):
    assert "it must be yes or no" in extra_spec_complaint(key, value)


@pytest.mark.parametrize(("key", "minimum", "maximum"), NUMBERS)
def test_number_within_its_bounds_is_taken(key, minimum, maximum):
    assert extra_spec_complaint(key, str(minimum)) == ""
    assert extra_spec_complaint(key, str(maximum or 10**6)) == ""


@pytest.mark.parametrize(("key", "minimum", "maximum"), NUMBERS)
def test_number_outside_its_bounds_is_refused_with_them(key, minimum, maximum):
    words = f"from {minimum} to {maximum}" if maximum else f"at least {minimum}"
    outside = [minimum - 1, *([maximum + 1] if maximum else [])]
    assert all(words in extra_spec_complaint(key, str(value)) for value in outside)


@pytest.mark.parametrize(("key", "minimum", "maximum"), NUMBERS)
def test_text_for_a_number_is_refused(key, minimum, maximum):
    assert "a whole number" in extra_spec_complaint(key, "five")


@pytest.mark.parametrize("key", MASKS)
@pytest.mark.parametrize("value", ["0", "^0", "^0,2-3,1", "0-4,^2,6", "0-3,^1-2", "65535"])
def test_cpu_list_is_taken(key, value):
    assert extra_spec_complaint(key, value) == ""


@pytest.mark.parametrize("key", MASKS)
@pytest.mark.parametrize("value", ["", "a", "0-", "3-1", "^0,2-3,b", "0,,1", "-1", "65536", "0-99999999999"])
def test_what_is_no_cpu_list_is_refused(key, value):
    assert "a list of CPUs from 0 to 65535" in extra_spec_complaint(key, value)


@pytest.mark.parametrize("value", ["large", "small", "any", "4", "2048", "2kbit", "2MB", "1GB", "1GiB", "1TiB"])
def test_page_size_is_taken(value):
    assert extra_spec_complaint("hw:mem_page_size", value) == ""


@pytest.mark.parametrize("value", ["largest", "2kbits", "1gigabyte", "-4", "", "2.5MB", "2 MB"])
def test_what_is_no_page_size_is_refused(value):
    assert "large, small, any, a number of KiB or a size" in extra_spec_complaint("hw:mem_page_size", value)


@pytest.mark.parametrize(
    ("value", "is_fine"), [("A", True), ("A,b_2", True), ("A,", True), ("", False), ("a b", False)]
)
def test_labels_of_persistent_memory(value, is_fine):
    assert (extra_spec_complaint("hw:pmem", value) == "") is is_fine


@pytest.mark.parametrize("key", ["hw:numa_cpus.01", "hw:numa_cpus.", "hw:numa_cpus.a", "hw:numa_cpus"])
def test_node_is_a_plain_number(key):
    assert extra_spec_complaint(key, "0").startswith(f"{key}: is not a key of the namespace hw.")
