"""What Placement would refuse of a flavor's groups and traits, whatever the image."""

import re
from collections.abc import Iterable, Mapping

from controlplane.kernel.booleans import is_true
from controlplane.kernel.texts import phrase as _
from servers.catalog.domain.extra_specs.facts import Contradiction, Findings, FlavorFacts
from servers.catalog.domain.extra_specs.rules import SUFFIX

_GROUPED = re.compile(rf"(?P<kind>resources|trait)(?P<group>{SUFFIX}):.*")
_IMPLIED = {
    ("os:secure_boot", "required"): "COMPUTE_SECURITY_UEFI_SECURE_BOOT",
    ("hw:maxphysaddr_mode", "passthrough"): "COMPUTE_ADDRESS_SPACE_PASSTHROUGH",
    ("hw:maxphysaddr_mode", "emulate"): "COMPUTE_ADDRESS_SPACE_EMULATED",
    ("hw:tpm_version", "1.2"): "COMPUTE_SECURITY_TPM_1_2",
    ("hw:tpm_version", "2.0"): "COMPUTE_SECURITY_TPM_2_0",
    ("hw:pci_numa_affinity_policy", "socket"): "COMPUTE_SOCKET_PCI_NUMA_AFFINITY",
}
_TPM_MODELS = {"tpm-tis": "COMPUTE_SECURITY_TPM_TIS", "tpm-crb": "COMPUTE_SECURITY_TPM_CRB"}
_ENCRYPTION = {
    "amd-sev": "HW_CPU_X86_AMD_SEV",
    "amd-sev-es": "HW_CPU_X86_AMD_SEV_ES",
    "amd-sev-snp": "HW_CPU_X86_AMD_SEV_SNP",
    "intel-tdx": "HW_CPU_X86_INTEL_TDX",
}


def implied_traits(specs: Mapping[str, str]) -> dict[str, str]:
    """{trait: the key and value that make it required}, for what no image can change."""
    found = {trait: f"{key}={value}" for (key, value), trait in _IMPLIED.items() if specs.get(key) == value}
    model = specs.get("hw:tpm_model", "")
    if "hw:tpm_version" in specs and model in _TPM_MODELS:
        found[_TPM_MODELS[model]] = f"hw:tpm_model={model}"
    encryption = specs.get("hw:mem_encryption_model", "")
    if is_true(specs.get("hw:mem_encryption")) and encryption in _ENCRYPTION:
        found[_ENCRYPTION[encryption]] = f"hw:mem_encryption_model={encryption}"
    return found


def _groups(flavor: FlavorFacts) -> Findings:
    """A named group asks for resources, and from two groups on group_policy says how they relate."""
    specs = flavor.specs
    keys = [(match["kind"], match["group"], key) for key in specs if (match := _GROUPED.fullmatch(key))]
    asking = {group for kind, group, key in keys if kind == "resources" and int(specs[key]) > 0}
    for kind, group, key in keys:
        if kind == "trait" and group not in asking:
            yield (
                key,
                _(
                    "{key}: group {group} asks for no resources; a group of traits alone finds no provider.",
                    key=key,
                    group=group,
                ),
            )
    if len(asking) > 1 and "group_policy" not in specs:
        yield (
            "group_policy",
            _("group_policy: is missing; the groups {listed} need none or isolate.", listed=_listed(asking)),
        )


def _forbidden_yet_implied(flavor: FlavorFacts) -> Findings:
    """A trait is not forbidden while another key requires it."""
    specs = flavor.specs
    for trait, cause in implied_traits(specs).items():
        key = f"trait:{trait}"
        if specs.get(key) == "forbidden":
            yield key, _("{key}: is forbidden, and {cause} requires it.", key=key, cause=cause)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)[:10])


PLACEMENT_CONTRADICTIONS: tuple[Contradiction, ...] = (_groups, _forbidden_yet_implied)
