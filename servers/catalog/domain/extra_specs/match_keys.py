"""Keys that filters compare with what a host says of itself or with the metadata of its aggregates.

Source: the operators of ComputeCapabilitiesFilter and AggregateInstanceExtraSpecsFilter, and the capabilities that
Nova's own table of extra specs names.
"""

from controlplane.kernel.texts import gettext_noop
from servers.catalog.domain.allowed import Allowed, allowed_values
from servers.catalog.domain.extra_specs.rules import KeyRule

_NUMERIC = frozenset(["=", "==", "!=", ">=", "<="])
_OF_TEXT = frozenset(["s==", "s!=", "s>=", "s>", "s<=", "s<", "<in>", "<all-in>"])
_OR = "<or>"

PLAIN_CAPABILITIES = allowed_values(
    "id uuid service_id host vcpus memory_mb local_gb vcpus_used memory_mb_used local_gb_used hypervisor_type "
    "hypervisor_version hypervisor_hostname free_ram_mb free_disk_gb current_workload running_vms disk_available_least "
    "host_ip mapped cpu_allocation_ratio ram_allocation_ratio disk_allocation_ratio total_usable_ram_mb "
    "total_usable_disk_gb disk_mb_used free_disk_mb vcpus_total num_instances num_io_ops failed_builds aggregates "
    "cell_uuid updated"
)
"""Attributes of a host that are one value."""

NESTED_CAPABILITIES = allowed_values(
    "cpu_info metrics stats numa_topology supported_hv_specs pci_device_pools nodename pci_stats supported_instances "
    "limits instances"
)
"""Attributes of a host into which further words of the key may lead, such as cpu_info:topology:cores."""


def can_match(requirement: str) -> bool:
    """Whether any value could satisfy it: an operator has its operands, and numbers where it compares numbers."""
    words = requirement.split()
    if not words or words[0] not in _NUMERIC | _OF_TEXT | {_OR}:
        # `>=1` is an operator that lacks its space, and would be compared to the letter.
        return bool(requirement) and not requirement.lstrip().startswith(tuple(_NUMERIC | _OF_TEXT | {_OR}))
    operands = words[1:]
    if words[0] in _NUMERIC:
        return bool(operands) and _is_number(operands[0])
    if words[0] == _OR:
        return bool(operands) and all(word == _OR for word in operands[1::2]) and len(operands) % 2 == 1
    return bool(operands)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


REQUIREMENT = Allowed(
    gettext_noop(
        "a plain value; or an operator, a space, and what it compares with: one of = (at least) == != >= <= with a "
        "number; s== s!= s>= s> s<= s< <in> with a text; <all-in> with several; or <or> before each of several"
    ),
    can_match,
)

MATCH_RULES: tuple[KeyRule, ...] = (
    KeyRule(
        "aggregate_instance_extra_specs:{key}",
        REQUIREMENT,
        gettext_noop(
            "What the metadata of the host's aggregates must say under this key (AggregateInstanceExtraSpecsFilter)."
        ),
    ),
    *(
        KeyRule(
            f"capabilities:{name}",
            REQUIREMENT,
            gettext_noop("What the host must say of itself (ComputeCapabilitiesFilter)."),
        )
        for name in PLAIN_CAPABILITIES
    ),
    *(
        KeyRule(
            f"capabilities:{name}{{fields}}",
            REQUIREMENT,
            gettext_noop("The same, further words after colons leading inside (ComputeCapabilitiesFilter)."),
        )
        for name in NESTED_CAPABILITIES
    ),
)
