"""ComputeCapabilitiesFilter: the flavor's extra specs against what the hypervisor can do."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.columns import Interned
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup, refuse_in_turn
from scheduling.domain.hosts.host_state import OWN_ATTRIBUTES
from scheduling.domain.hosts.host_stats import row_stats, stats_column
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.base import Filter
from scheduling.filters.extra_specs_ops import match
from scheduling.filters.host_attributes import attribute_column

SCOPE = "capabilities"
MAXPHYSADDR_KEY = "hw:maxphysaddr_bits"


@dataclass(frozen=True, slots=True)
class _Root:
    """The first step of a path: its value, and whether the host knows the name at all."""

    value: Any
    is_known: bool = True


class ComputeCapabilitiesFilter(Filter):
    """Keys `capabilities:A:B...` walk the host state's attributes, dictionaries and JSON text, its stats as a fallback;
    what cannot be found refuses the host. A key without namespace counts only where the host has that name at all, and
    never for the attributes that Nova's host states lack (such as availability_zone, which aggregates match).
    """

    run_filter_once_per_request: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpecView) -> list[RefusalGroup]:
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
    return hosts.refuse_by(_roots(hosts, path[0], is_optional), partial(_judge, path, wanted, is_optional))


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


def _roots(hosts: Hosts, name: str, is_optional: bool) -> Interned[_Root]:
    """The values of a host state's attribute, else of its stats, each distinct value once."""
    column = None if is_optional and name in OWN_ATTRIBUTES else _attribute(hosts, name)
    if column is None:
        stats = stats_column(hosts.table)
        return Interned(tuple(_Root(each.get(name), name in each) for each in stats.values), stats.codes)
    if any(value is None for value in column.values):
        return _or_stats(hosts, name, column)
    return Interned(tuple(_Root(value) for value in column.values), column.codes)


def _attribute(hosts: Hosts, name: str) -> Interned[Any] | None:
    """Flavors are made by operators, who may ask for all stats."""
    return stats_column(hosts.table) if name == "stats" else attribute_column(hosts, name)


def _or_stats(hosts: Hosts, name: str, column: Interned[Any]) -> Interned[_Root]:
    """An attribute that some hosts lack; those fall back on their stats."""
    codes = np.zeros(len(hosts.table), dtype=np.int64)
    codes[hosts.rows] = np.arange(len(hosts), dtype=np.int64)
    values = ((column[row], row_stats(hosts.table, row)) for row in hosts.rows.tolist())
    return Interned(tuple(_Root(stats.get(name) if value is None else value) for value, stats in values), codes)
