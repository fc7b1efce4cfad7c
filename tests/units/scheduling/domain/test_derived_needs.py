"""Amounts and traits that follow from other keys: one row of the rules each."""

import pytest

from scheduling.domain.request.resources import derive_resources
from scheduling.engine import ImageSnapshot
from tests.units.scheduling.worlds import flavor

PLAIN = {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 10}


@pytest.mark.parametrize(
    ("specs", "traits"),
    [
        ({"os:secure_boot": "required"}, {"COMPUTE_SECURITY_UEFI_SECURE_BOOT"}),
        ({"os:secure_boot": "disabled"}, set()),
        ({"hw:maxphysaddr_mode": "passthrough"}, {"COMPUTE_ADDRESS_SPACE_PASSTHROUGH"}),
        ({"hw:maxphysaddr_mode": "emulate"}, {"COMPUTE_ADDRESS_SPACE_EMULATED"}),
        ({"hw:pci_numa_affinity_policy": "socket"}, {"COMPUTE_SOCKET_PCI_NUMA_AFFINITY"}),
        ({"hw:pci_numa_affinity_policy": "required"}, set()),
        ({"hw:tpm_version": "2.0"}, {"COMPUTE_SECURITY_TPM_2_0", "COMPUTE_SECURITY_TPM_TIS"}),
        (
            {"hw:tpm_version": "1.2", "hw:tpm_model": "tpm-tis"},
            {"COMPUTE_SECURITY_TPM_1_2", "COMPUTE_SECURITY_TPM_TIS"},
        ),
        (
            {"hw:tpm_version": "2.0", "hw:tpm_model": "tpm-crb"},
            {"COMPUTE_SECURITY_TPM_2_0", "COMPUTE_SECURITY_TPM_CRB"},
        ),
        ({"hw:mem_encryption": "true"}, {"HW_CPU_X86_AMD_SEV"}),
        ({"hw:mem_encryption": "yes", "hw:mem_encryption_model": "amd-sev-es"}, {"HW_CPU_X86_AMD_SEV_ES"}),
        ({"hw:mem_encryption": "1", "hw:mem_encryption_model": "amd-sev-snp"}, {"HW_CPU_X86_AMD_SEV_SNP"}),
        ({"hw:mem_encryption": "on", "hw:mem_encryption_model": "intel-tdx"}, {"HW_CPU_X86_INTEL_TDX"}),
        ({"hw:mem_encryption": "false", "hw:mem_encryption_model": "amd-sev"}, set()),
        ({"quota:cpu_shares": "10", "hw:boot_menu": "true"}, set()),
    ],
)
def test_key_requires_its_traits_of_flavor_and_image_alike(specs: dict[str, str], traits: set[str]) -> None:
    by_flavor = derive_resources(flavor(extra_specs=specs), ImageSnapshot())
    by_image = derive_resources(
        flavor(), ImageSnapshot(properties={key.replace(":", "_"): value for key, value in specs.items()})
    )
    assert by_flavor.required == by_image.required == traits


@pytest.mark.parametrize(
    ("properties", "is_required"),
    [
        ({"hw_firmware_stateless": True, "hw_firmware_type": "uefi"}, True),
        ({"hw_firmware_stateless": "yes", "hw_firmware_type": "uefi"}, True),
        ({"hw_firmware_stateless": "no", "hw_firmware_type": "uefi"}, False),
        ({"hw_firmware_stateless": "yes", "hw_firmware_type": "bios"}, False),
        ({"hw_firmware_stateless": "yes"}, False),
        ({"hw_firmware_type": "uefi"}, False),
    ],
)
def test_stateless_firmware_is_the_images_word_and_counts_with_uefi_only(
    properties: dict[str, object], is_required: bool
) -> None:
    needs = derive_resources(flavor(), ImageSnapshot(properties=properties))
    assert needs.required == ({"COMPUTE_SECURITY_STATELESS_FIRMWARE"} if is_required else set())


def test_memory_encryption_takes_one_context() -> None:
    needs = derive_resources(flavor(extra_specs={"hw:mem_encryption": "true"}), ImageSnapshot())
    assert needs.amounts == {**PLAIN, "MEM_ENCRYPTION_CONTEXT": 1}


def test_persistent_memory_is_counted_by_label() -> None:
    needs = derive_resources(flavor(extra_specs={"hw:pmem": "6gb,128gb, 6gb"}), ImageSnapshot())
    assert needs.amounts == {**PLAIN, "CUSTOM_PMEM_NAMESPACE_6GB": 2, "CUSTOM_PMEM_NAMESPACE_128GB": 1}


def test_throttling_asks_for_nothing() -> None:
    specs = {"quota:cpu_quota": "1000", "quota:disk_read_iops_sec": "10", "quota:vif_inbound_average": "1"}
    assert derive_resources(flavor(extra_specs=specs), ImageSnapshot()).amounts == PLAIN


@pytest.mark.parametrize("override", ["0", "1", "7"])
def test_derived_amount_replaces_what_resources_says(override: str) -> None:
    specs = {"hw:mem_encryption": "true", "resources:MEM_ENCRYPTION_CONTEXT": override}
    assert derive_resources(flavor(extra_specs=specs), ImageSnapshot()).amounts["MEM_ENCRYPTION_CONTEXT"] == 1
    specs = {"hw:pmem": "a,a", "resources:CUSTOM_PMEM_NAMESPACE_A": override}
    assert derive_resources(flavor(extra_specs=specs), ImageSnapshot()).amounts["CUSTOM_PMEM_NAMESPACE_A"] == 2
