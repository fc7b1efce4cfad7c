"""Which of flavor and image may say what: each rule of refusal, and what is fine."""

import pytest

from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from servers.instances.domain.flavor_image import CEILINGS, ONE_TRUTH, ONE_VALUE, flavor_image_problems

VALUES = {  # two different values of each key that both may set
    "os:secure_boot": ("required", "disabled"),
    "hw:tpm_version": ("2.0", "1.2"),
    "hw:tpm_model": ("tpm-tis", "tpm-crb"),
    "hw:sound_model": ("ich6", "ich9"),
    "hw:viommu_model": ("intel", "virtio"),
    "hw:usb_model": ("nec-xhci", "qemu-xhci"),
    "hw:redirected_usb_ports": ("1", "2"),
    "hw:maxphysaddr_mode": ("emulate", "passthrough"),
    "hw:maxphysaddr_bits": ("42", "48"),
    "hw:ephemeral_encryption_format": ("luks", "plain"),
    "hw:mem_encryption_model": ("amd-sev", "amd-sev-es"),
    "hw:pci_numa_affinity_policy": ("required", "socket"),
}


def findings(specs: dict[str, str], properties: dict[str, str]) -> list[str]:
    flavor = FlavorSnapshot(id="f", name="f", vcpus=4, memory_mib=4096, extra_specs=specs)
    return flavor_image_problems(flavor, ImageSnapshot(properties=properties))


def test_each_key_that_both_may_set_is_tried():
    assert set(VALUES) == set(ONE_VALUE)


@pytest.mark.parametrize(("key", "one", "other"), [(key, *both) for key, both in VALUES.items()])
def test_two_values_of_one_thing_are_refused(key, one, other):
    name = ONE_VALUE[key]
    assert findings({key: one}, {name: other}) == [
        f"{name}={other} of the image contradicts {key}={one} of the flavor."
    ]


@pytest.mark.parametrize(("key", "one", "other"), [(key, *both) for key, both in VALUES.items()])
def test_one_value_of_one_thing_is_fine_from_either_or_both(key, one, other):
    name = ONE_VALUE[key]
    assert findings({key: one}, {}) == findings({}, {name: one}) == findings({key: one}, {name: one}) == []


ENCRYPTED = {"hw_firmware_type": "uefi", "hw_machine_type": "q35"}


@pytest.mark.parametrize(("key", "name"), ONE_TRUTH.items())
@pytest.mark.parametrize(("wanted", "own"), [("yes", "false"), ("off", "1")])
def test_yes_and_no_to_one_thing_are_refused(key, name, wanted, own):
    assert findings({key: wanted}, {name: own, **ENCRYPTED}) == [
        f"{name}={own} of the image contradicts {key}={wanted} of the flavor."
    ]


@pytest.mark.parametrize(("key", "name"), ONE_TRUTH.items())
def test_yes_in_other_words_is_the_same_yes(key, name):
    assert findings({key: "yes"}, {name: "True", **ENCRYPTED}) == []


@pytest.mark.parametrize(("key", "name"), [*CEILINGS.items(), ("hw_video:ram_max_mb", "hw_video_ram")])
def test_image_stays_below_the_flavors_ceiling(key, name):
    assert findings({key: "4"}, {name: "4"}) == []
    assert findings({key: "4"}, {name: "5"}) == [f"{name}=5 of the image is above {key}=4 of the flavor."]


def test_video_memory_needs_the_flavors_leave():
    assert findings({}, {"hw_video_ram": "16"}) == [
        "hw_video_ram=16 of the image is above hw_video:ram_max_mb=0 of the flavor."
    ]


@pytest.mark.parametrize("part", ["sockets", "cores", "threads"])
def test_preferred_shape_stays_within_the_flavors_maxima(part):
    specs = {f"hw:cpu_max_{part}": "2"}
    assert findings(specs, {f"hw_cpu_{part}": "2"}) == []
    assert findings(specs, {f"hw_cpu_{part}": "4"}) == [
        f"hw_cpu_{part}=4 of the image is above hw:cpu_max_{part}=2 of the flavor."
    ]


def test_trait_that_the_flavor_forbids_and_the_image_requires_is_refused():
    key = "trait:HW_CPU_X86_AVX2"
    assert findings({key: "forbidden"}, {key: "required"}) == [
        f"{key}=required of the image contradicts {key}=forbidden of the flavor."
    ]
    assert findings({key: "required"}, {key: "required"}) == []


def test_flavor_that_encrypts_memory_needs_an_image_made_for_it():
    assert findings({"hw:mem_encryption": "yes"}, {}) == [
        "With the flavor's extra specs, hw_mem_encryption: needs hw_firmware_type=uefi."
    ]
    assert findings({"hw:mem_encryption": "yes"}, ENCRYPTED) == []


def test_tpm_of_both_together_must_exist():
    (sentence,) = findings({"hw:tpm_model": "tpm-crb"}, {"hw_tpm_version": "1.2"})
    assert "tpm-crb goes with hw_tpm_version=2.0 only" in sentence


@pytest.mark.parametrize(
    ("specs", "properties", "part"),
    [
        (
            {"hw:cpu_policy": "shared"},
            {"hw_cpu_policy": "dedicated"},
            "hw_cpu_policy=dedicated of the image contradicts",
        ),
        ({"hw:numa_nodes": "2"}, {"hw_numa_nodes": "2"}, "hw_numa_nodes of the image"),
        ({}, {"hw_mem_page_size": "large"}, "needs hw:mem_page_size in the flavor"),
    ],
)
def test_cpus_nodes_and_pages_are_judged_by_the_guest_that_they_make(specs, properties, part):
    (sentence,) = findings(specs, properties)
    assert part in sentence


def test_values_from_before_the_rules_are_left_out():
    assert findings({"hw:serial_port_count": "many"}, {"hw_serial_port_count": "x", "hw_cpu_cores": "?"}) == []


def test_earlier_name_of_a_property_counts_as_the_present_one():
    assert findings({"hw:cpu_policy": "dedicated"}, {"architecture": "x86_64", "hypervisor_type": "kvm"}) == []
