"""Nova's weighing written out once more, host by host over plain rows: what the engine's columns are compared with."""

from collections.abc import Callable, Sequence

from scheduling.domain.policy import Policy
from scheduling.engine import AggregateRow, HostRow, ScheduleRequest

Raw = Callable[[HostRow, ScheduleRequest, Policy, float], float]


def _free(row: HostRow, name: str) -> float:
    one = row.inventories[name]
    return one.total - one.reserved - one.used


def _ram(row: HostRow, asked: ScheduleRequest, policy: Policy, multiplier: float) -> float:
    return _free(row, "MEMORY_MB")


def _cpu(row: HostRow, asked: ScheduleRequest, policy: Policy, multiplier: float) -> float:
    vcpu = row.inventories["VCPU"]
    return vcpu.total * vcpu.allocation_ratio - vcpu.used


def _disk(row: HostRow, asked: ScheduleRequest, policy: Policy, multiplier: float) -> float:
    free, minimum = _free(row, "DISK_GB"), row.disk_available_least_gib
    return 1024 * (free if minimum is None else min(free, minimum))


def _members(row: HostRow, asked: ScheduleRequest, policy: str) -> int:
    group = asked.group
    members = {*group.members, *asked.instance_uuids} if group and group.policy == policy else set()
    return len(members & row.instances)


def _metrics(row: HostRow, asked: ScheduleRequest, policy: Policy, multiplier: float) -> float:
    total = 0.0
    for name, ratio in policy.options.metrics_weight_setting.items():
        if name in row.metrics:
            total += row.metrics[name] * ratio
        elif ratio * multiplier != 0:
            return policy.options.metrics_weight_of_unavailable
    return total


def _image(row: HostRow, asked: ScheduleRequest, policy: Policy, multiplier: float) -> float:
    configured = {each.name: each.multiplier for each in policy.weighers}["ImagePropertiesWeigher"]
    if not configured:
        return 0.0
    setting = policy.options.image_props_weight_setting
    total = 0.0
    for pair in asked.image.properties.items():
        total += (setting.get(pair[0], 0.0) if setting else 1.0) * row.image_properties.get(pair, 0)
    return total


def _cell(row: HostRow, asked: ScheduleRequest, policy: Policy, multiplier: float) -> float:
    wanted = asked.requested_destination
    if wanted is None or not wanted.cell or not wanted.allow_cross_cell_move:
        return 0
    return 1 if row.cell_uuid == wanted.cell else -1


# Raw value, floor, sign, default multiplier, aggregate key.
RULES: dict[str, tuple[Raw, float | None, float, float, str]] = {
    "RAMWeigher": (_ram, 0, 1, 1.0, "ram_weight_multiplier"),
    "CPUWeigher": (_cpu, 0, 1, 1.0, "cpu_weight_multiplier"),
    "DiskWeigher": (_disk, 0, 1, 1.0, "disk_weight_multiplier"),
    "IoOpsWeigher": (lambda h, r, p, m: h.num_io_ops, 0, 1, -1.0, "io_ops_weight_multiplier"),
    "NumInstancesWeigher": (lambda h, r, p, m: len(h.instances), None, 1, 0.0, "num_instances_weight_multiplier"),
    "HypervisorVersionWeigher": (
        lambda h, r, p, m: h.hypervisor_version,
        None,
        1,
        1.0,
        "hypervisor_version_weight_multiplier",
    ),
    "ServerGroupSoftAffinityWeigher": (
        lambda h, r, p, m: _members(h, r, "soft-affinity"),
        None,
        1,
        1.0,
        "soft_affinity_weight_multiplier",
    ),
    "ServerGroupSoftAntiAffinityWeigher": (
        lambda h, r, p, m: -_members(h, r, "soft-anti-affinity"),
        None,
        1,
        1.0,
        "soft_anti_affinity_weight_multiplier",
    ),
    "BuildFailureWeigher": (lambda h, r, p, m: h.failed_builds, None, -1, 1e6, "build_failure_weight_multiplier"),
    "PCIWeigher": (
        lambda h, r, p, m: 100 - min(sum(pool["count"] for pool in h.pci_pools), 99),
        None,
        1,
        1.0,
        "pci_weight_multiplier",
    ),
    "CrossCellWeigher": (_cell, None, 1, 1e6, "cross_cell_move_weight_multiplier"),
    "MetricsWeigher": (_metrics, None, 1, 1.0, "metrics_weight_multiplier"),
    "ImagePropertiesWeigher": (_image, None, 1, 0.0, "image_props_weight_multiplier"),
}


def multiplier_of(row: HostRow, aggregates: Sequence[AggregateRow], key: str, default: float) -> float:
    """The least that the host's aggregates say; the default where they say nothing or one says no number."""
    said = [each.metadata[key] for each in aggregates if row.host in each.hosts and key in each.metadata]
    try:
        return min(map(float, said), default=default)
    except ValueError:
        return default


def scaled(values: Sequence[float], floor: float | None, ceiling: float | None) -> list[float]:
    """From 0 to 1 between the extremes seen, or the declared ones, which also clamp."""
    clamped = [value if floor is None else max(value, floor) for value in values]
    clamped = [value if ceiling is None else min(value, ceiling) for value in clamped]
    low = min(clamped) if floor is None else floor
    high = max(clamped) if ceiling is None else ceiling
    return [0.0 if low == high else (value - low) / (high - low) for value in clamped]


def scores(
    rows: Sequence[HostRow], aggregates: Sequence[AggregateRow], asked: ScheduleRequest, policy: Policy
) -> list[float]:
    """The score of each host, one weigher of the policy after the other."""
    totals = [0.0] * len(rows)
    for setting in policy.weighers:
        raw, floor, sign, default, key = RULES[setting.name]
        base = default if setting.multiplier is None else setting.multiplier
        multipliers = [multiplier_of(row, aggregates, key, base) for row in rows]
        values = [float(raw(row, asked, policy, m)) for row, m in zip(rows, multipliers, strict=True)]
        for at, value in enumerate(scaled(values, floor, None)):
            totals[at] += sign * multipliers[at] * value
    return totals
