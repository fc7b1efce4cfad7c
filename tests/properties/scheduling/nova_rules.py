"""Nova's rules written out once more, host by host and without columns: what the engine is compared with."""

from collections.abc import Callable
from typing import Any

from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.extra_specs_ops import match
from tests.properties.scheduling.nova_filter_rules import MORE_FILTERS


def _values(state: HostState, key: str) -> set[str]:
    found: set[str] = set()
    for aggregate in state.aggregates:
        if key in aggregate.metadata:
            found |= {part.strip() for part in aggregate.metadata[key].split(",")}
    return found


def compute(state: HostState, spec: RequestSpecView) -> bool:
    return state.enabled and state.is_up


def aggregate_extra_specs(state: HostState, spec: RequestSpecView) -> bool:
    for key, wanted in spec.flavor.extra_specs.items():
        parts = key.split(":", 1)
        if len(parts) == 2 and parts[0] != "aggregate_instance_extra_specs":
            continue
        if not any(match(value, wanted) for value in _values(state, parts[-1])):
            return False
    return True


def multi_tenancy(state: HostState, spec: RequestSpecView) -> bool:
    keys = {key for each in state.aggregates for key in each.metadata if key.startswith("filter_tenant_id")}
    allowed = set().union(*(_values(state, key) for key in keys))
    return not allowed or spec.project_id in allowed


def capabilities(state: HostState, spec: RequestSpecView) -> bool:
    for key, wanted in spec.flavor.extra_specs.items():
        if not key.startswith("capabilities:"):
            continue
        value: Any = state
        for name in key.split(":")[1:]:
            value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        if value is None or not match(str(value), wanted):
            return False
    return True


def image_properties(state: HostState, spec: RequestSpecView) -> bool:
    wanted = [spec.image.properties.get(name) for name in ("hw_architecture", "img_hv_type", "hw_vm_mode")]
    if not any(wanted):
        return True
    return any(
        all(want in (None, offer) for want, offer in zip(wanted, triple, strict=True))
        for triple in state.supported_instances
    )


def same_host(state: HostState, spec: RequestSpecView) -> bool:
    wanted = spec.scheduler_hints.get("same_host", ())
    return not wanted or any(uuid in state.instances for uuid in wanted)


def different_host(state: HostState, spec: RequestSpecView) -> bool:
    return not any(uuid in state.instances for uuid in spec.scheduler_hints.get("different_host", ()))


def affinity(state: HostState, spec: RequestSpecView) -> bool:
    group = spec.instance_group
    return group is None or group.policy != "affinity" or not group.hosts or state.host in group.hosts


def anti_affinity(state: HostState, spec: RequestSpecView) -> bool:
    group = spec.instance_group
    if group is None or group.policy != "anti-affinity" or spec.instance_uuid in state.instances:
        return True
    return len(set(state.instances) & set(group.members)) < group.rules.get("max_server_per_host", 1)


def io_ops(state: HostState, spec: RequestSpecView) -> bool:
    return state.num_io_ops < spec.options.max_io_ops_per_host


def num_instances(state: HostState, spec: RequestSpecView) -> bool:
    return state.num_instances < spec.options.max_instances_per_host


FILTERS: dict[str, Callable[[HostState, RequestSpecView], bool]] = {
    "ComputeFilter": compute,
    "AggregateInstanceExtraSpecsFilter": aggregate_extra_specs,
    "AggregateMultiTenancyIsolation": multi_tenancy,
    "ComputeCapabilitiesFilter": capabilities,
    "ImagePropertiesFilter": image_properties,
    "SameHostFilter": same_host,
    "DifferentHostFilter": different_host,
    "ServerGroupAffinityFilter": affinity,
    "ServerGroupAntiAffinityFilter": anti_affinity,
    "IoOpsFilter": io_ops,
    "NumInstancesFilter": num_instances,
    "AllHostsFilter": lambda state, spec: True,
    **MORE_FILTERS,
}


def _members(state: HostState, spec: RequestSpecView, policy: str) -> int:
    group = spec.instance_group
    return len(set(state.instances) & set(group.members)) if group and group.policy == policy else 0


# Raw value, floor, sign, default multiplier, aggregate key.
Weigher = tuple[Callable[[HostState, RequestSpecView], float], float | None, float, float, str]

WEIGHERS: dict[str, Weigher] = {
    "RAMWeigher": (lambda h, s: h.free_ram_mb, 0, 1, 1.0, "ram_weight_multiplier"),
    "CPUWeigher": (
        lambda h, s: h.vcpus_total * h.cpu_allocation_ratio - h.vcpus_used,
        0,
        1,
        1.0,
        "cpu_weight_multiplier",
    ),
    "DiskWeigher": (lambda h, s: h.free_disk_mb, 0, 1, 1.0, "disk_weight_multiplier"),
    "IoOpsWeigher": (lambda h, s: h.num_io_ops, 0, 1, -1.0, "io_ops_weight_multiplier"),
    "NumInstancesWeigher": (lambda h, s: h.num_instances, None, 1, 0.0, "num_instances_weight_multiplier"),
    "HypervisorVersionWeigher": (
        lambda h, s: h.hypervisor_version,
        None,
        1,
        1.0,
        "hypervisor_version_weight_multiplier",
    ),
    "ServerGroupSoftAffinityWeigher": (
        lambda h, s: _members(h, s, "soft-affinity"),
        None,
        1,
        1.0,
        "soft_affinity_weight_multiplier",
    ),
    "ServerGroupSoftAntiAffinityWeigher": (
        lambda h, s: -_members(h, s, "soft-anti-affinity"),
        None,
        1,
        1.0,
        "soft_anti_affinity_weight_multiplier",
    ),
    "BuildFailureWeigher": (lambda h, s: h.failed_builds, None, -1, 1000000.0, "build_failure_weight_multiplier"),
    # Of these four the fleets here have nothing to weigh; weighing_rules.py has them in full.
    "PCIWeigher": (lambda h, s: 100, None, 1, 1.0, "pci_weight_multiplier"),
    "CrossCellWeigher": (lambda h, s: 0, None, 1, 1000000.0, "cross_cell_move_weight_multiplier"),
    "MetricsWeigher": (lambda h, s: 0, None, 1, 1.0, "metrics_weight_multiplier"),
    "ImagePropertiesWeigher": (lambda h, s: 0, None, 1, 0.0, "image_props_weight_multiplier"),
}


def scores(states: list[HostState], spec: RequestSpecView, names: list[str]) -> list[float]:
    """The score of each host, one weigher after the other."""
    totals = [0.0] * len(states)
    for name in names:
        weigh, floor, sign, default, key = WEIGHERS[name]
        raw = [float(weigh(state, spec)) for state in states]
        if floor is not None:
            raw = [max(value, floor) for value in raw]
        low, high = floor if floor is not None else min(raw), max(raw)
        for at, state in enumerate(states):
            overrides = [float(each.metadata[key]) for each in state.aggregates if key in each.metadata]
            scaled = 0.0 if low == high else (raw[at] - low) / (high - low)
            totals[at] += sign * min(overrides, default=default) * scaled
    return totals
