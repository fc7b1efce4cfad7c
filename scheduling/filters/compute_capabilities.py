"""ComputeCapabilitiesFilter: the flavor's extra specs against what the hypervisor can do."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.columns import IntArray, Interned
from scheduling.domain.host_table import HostTable
from scheduling.domain.hosts import Hosts, RefusalGroup, refuse_in_turn
from scheduling.domain.request_spec import RequestSpec
from scheduling.filters.base import Filter
from scheduling.filters.extra_specs_ops import match

SCOPE = "capabilities"
MAXPHYSADDR_KEY = "hw:maxphysaddr_bits"

# Attributes of a host state that stand in columns, so that they need not be looked at host by host.
_REPEATED: dict[str, Callable[[HostTable], Interned[Any]]] = {
    "cpu_info": lambda table: table.cpu_info,
    "stats": lambda table: table.stats,
    "metrics": lambda table: table.metrics,
    "hypervisor_type": lambda table: table.hypervisor_type,
}
_NUMBERS: dict[str, Callable[[HostTable], IntArray]] = {
    "hypervisor_version": lambda table: table.hypervisor_version,
    "vcpus_total": lambda table: table.inventory("VCPU").total,
    "vcpus_used": lambda table: table.vcpus_used,
    "total_usable_ram_mb": lambda table: table.inventory("MEMORY_MB").total,
    "free_ram_mb": lambda table: table.free_ram_mb,
    "total_usable_disk_gb": lambda table: table.inventory("DISK_GB").total,
    "free_disk_mb": lambda table: table.free_disk_mb,
    "num_instances": lambda table: table.num_instances,
    "num_io_ops": lambda table: table.num_io_ops,
}


@dataclass(frozen=True, slots=True)
class _Root:
    """The first step of a path: its value, and whether the host knows the name at all."""

    value: Any
    is_known: bool = True


class ComputeCapabilitiesFilter(Filter):
    """Keys `capabilities:A:B...` walk the host state's attributes, dictionaries and JSON text, its stats as a fallback;
    what cannot be found refuses the host. A key without namespace counts only where the host has that name at all.
    """

    run_filter_once_per_request: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpec) -> list[RefusalGroup]:
        """Hosts that lack a capability or have another value, the first such key named."""
        rules = [partial(_refused, *each) for each in _requirements(spec.flavor.extra_specs)]
        return refuse_in_turn(hosts, rules)


def _requirements(extra_specs: Mapping[str, str]) -> Iterator[tuple[list[str], str, bool]]:
    """Path, requirement, and whether a host without that name passes."""
    for key, wanted in extra_specs.items():
        path = key.split(":")
        if key == MAXPHYSADDR_KEY:
            yield ["cpu_info", "maxphysaddr", "bits"], f">= {wanted}", False
        elif len(path) == 1:
            yield path, wanted, True
        elif path[0] == SCOPE:
            yield path[1:], wanted, False


def _refused(path: list[str], wanted: str, is_optional: bool, hosts: Hosts) -> list[RefusalGroup]:
    return hosts.refuse_by(_roots(hosts, path[0]), partial(_judge, path, wanted, is_optional))


def _judge(path: list[str], wanted: str, is_optional: bool, root: _Root) -> Refusal | None:
    if is_optional and not root.is_known:
        return None
    asked = f"{':'.join(path)} {wanted}"
    found = _walk(root.value, path[1:])
    if found is None:
        return Refusal(RefusalReason.CAPABILITY_MISSING, wanted=asked)
    try:
        fits = match(str(found), wanted)
    except ValueError:
        # Text compared as a number: Nova fails the whole request here; a host without a number does not fit.
        fits = False
    return None if fits else Refusal(RefusalReason.CAPABILITY_MISMATCH, wanted=asked, available=str(found))


def _walk(value: Any, path: list[str]) -> Any:
    for name in path:
        if isinstance(value, str):
            value = _parsed(value)
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    return value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _roots(hosts: Hosts, name: str) -> Interned[_Root]:
    """The values of a host state's attribute, else of its stats, each distinct value once."""
    table = hosts.table
    if name in _REPEATED:
        column = _REPEATED[name](table)
        return Interned(tuple(_Root(value) for value in column.values), column.codes)
    if name in _NUMBERS:
        values, codes = np.unique(_NUMBERS[name](table), return_inverse=True)
        return Interned(tuple(_Root(value) for value in values.tolist()), codes.astype(np.int64))
    if name in vars(hosts.state(int(hosts.rows[0]))):
        return _by_state(hosts, name)
    stats = table.stats
    return Interned(tuple(_Root(each.get(name), name in each) for each in stats.values), stats.codes)


def _by_state(hosts: Hosts, name: str) -> Interned[_Root]:
    """The slow way for attributes that differ by host anyway."""
    codes = np.zeros(len(hosts.table), dtype=np.int64)
    values: list[_Root] = []
    for row in hosts.rows.tolist():
        state = hosts.state(row)
        found = getattr(state, name)
        codes[row] = len(values)
        values.append(_Root(state.stats.get(name) if found is None else found))
    return Interned(tuple(values), codes)
