"""ComputeCapabilitiesFilter: the flavor's extra specs against what the hypervisor can do."""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.columns import IntArray, Interned
from scheduling.domain.hosts import Hosts, RefusalGroup, refuse_in_turn
from scheduling.domain.host_table import HostTable
from scheduling.domain.request_spec import RequestSpec
from scheduling.filters.base import Filter
from scheduling.filters.extra_specs_ops import match

SCOPE = "capabilities"
MAXPHYSADDR_KEY = "hw:maxphysaddr_bits"


class ComputeCapabilitiesFilter(Filter):
    """Keys `capabilities:A:B...` walk the host state's attributes, dictionaries and JSON text, its stats as a fallback;
    what cannot be found refuses the host. A key without namespace counts only if the host has that name at all.
    """

    run_filter_once_per_request: ClassVar[bool] = True

    def refusals(self, hosts: Hosts, spec: RequestSpec) -> list[RefusalGroup]:
        """Hosts that lack a capability or have another value, the first such key named."""
        rules = [
            partial(_refused, path, wanted, optional)
            for path, wanted, optional in _requirements(spec.flavor.extra_specs)
        ]
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


def _refused(path: list[str], wanted: str, optional: bool, hosts: Hosts) -> list[RefusalGroup]:
    return hosts.refuse_by(_column(hosts, path[0]), partial(_judge, path, wanted, optional))


def _judge(path: list[str], wanted: str, optional: bool, root: "_Root") -> Refusal | None:
    asked = f"{':'.join(path)} {wanted}"
    if root.value is None and not root.known and optional:
        return None
    found = _walk(root.value, path[1:])
    if found is None:
        return Refusal(RefusalReason.CAPABILITY_MISSING, wanted=asked)
    return None if _matches(str(found), wanted) else _mismatch(asked, str(found))
