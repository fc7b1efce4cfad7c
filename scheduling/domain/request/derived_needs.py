"""Amounts and traits that follow from what a flavor or image asks of the hypervisor.

Source: Nova's resource request rules. Where flavor and image both speak, the flavor's word counts here; that they do
not contradict each other is checked when an instance is asked for.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.kernel.booleans import is_true
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot

_NO_NAME = re.compile(r"[^A-Z0-9]+")
_ENCRYPTION_MODELS = {
    "amd-sev": "HW_CPU_X86_AMD_SEV",
    "amd-sev-es": "HW_CPU_X86_AMD_SEV_ES",
    "amd-sev-snp": "HW_CPU_X86_AMD_SEV_SNP",
    "intel-tdx": "HW_CPU_X86_INTEL_TDX",
}
_DEFAULT_ENCRYPTION = "amd-sev"
_TPM_MODELS = {"tpm-tis": "COMPUTE_SECURITY_TPM_TIS", "tpm-crb": "COMPUTE_SECURITY_TPM_CRB"}
_TPM_VERSIONS = {"1.2": "COMPUTE_SECURITY_TPM_1_2", "2.0": "COMPUTE_SECURITY_TPM_2_0"}
_DEFAULT_TPM_MODEL = "tpm-tis"
# Key of the flavor: {value: trait}. The image's property has `_` for `:`.
_CHOICES = {
    "os:secure_boot": {"required": "COMPUTE_SECURITY_UEFI_SECURE_BOOT"},
    "hw:maxphysaddr_mode": {
        "passthrough": "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
        "emulate": "COMPUTE_ADDRESS_SPACE_EMULATED",
    },
    "hw:pci_numa_affinity_policy": {"socket": "COMPUTE_SOCKET_PCI_NUMA_AFFINITY"},
}


@dataclass(frozen=True, slots=True)
class DerivedNeeds:
    """What the un-suffixed group asks for in addition."""

    amounts: Mapping[str, int] = field(default_factory=dict)
    required: frozenset[str] = frozenset()


def derived_needs(flavor: FlavorSnapshot, image: ImageSnapshot) -> DerivedNeeds:
    """The needs that follow from memory encryption, persistent memory, TPM, secure boot, stateless firmware, address
    space and PCI by socket.
    """
    words = _Words(flavor, image)
    amounts: Counter[str] = Counter()
    required = {traits[word] for key, traits in _CHOICES.items() if (word := words.of(key)) in traits}
    if is_true(image.properties.get("hw_firmware_stateless")) and image.properties.get("hw_firmware_type") == "uefi":
        required.add("COMPUTE_SECURITY_STATELESS_FIRMWARE")  # no flavor's word, and without UEFI of no account in Nova
    if words.of("hw:mem_encryption") == "true":
        amounts["MEM_ENCRYPTION_CONTEXT"] += 1
        model = words.of("hw:mem_encryption_model") or _DEFAULT_ENCRYPTION
        required |= {_ENCRYPTION_MODELS[model]} if model in _ENCRYPTION_MODELS else set()
    version = words.of("hw:tpm_version")
    if version in _TPM_VERSIONS:
        model = words.of("hw:tpm_model") or _DEFAULT_TPM_MODEL
        required |= {_TPM_VERSIONS[version], *({_TPM_MODELS[model]} if model in _TPM_MODELS else ())}
    for label in flavor.extra_specs.get("hw:pmem", "").split(","):
        if label.strip():
            amounts[f"CUSTOM_PMEM_NAMESPACE_{_NO_NAME.sub('_', label.strip().upper())}"] += 1
    return DerivedNeeds(amounts, frozenset(required))


class _Words:
    """What flavor or image say of a key, in lower case; all words for yes become `true`."""

    def __init__(self, flavor: FlavorSnapshot, image: ImageSnapshot) -> None:
        self._specs, self._properties = flavor.extra_specs, image.properties

    def of(self, key: str) -> str:
        """The word for a key; empty where neither speaks."""
        found = self._specs.get(key)
        if found is None:
            found = self._properties.get(key.replace(":", "_"), "")
        word = str(found).strip().lower()
        return "true" if is_true(word) else word
