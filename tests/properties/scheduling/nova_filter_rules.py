"""More of Nova's filters, host by host, as the research tells them; what a filter over columns must agree with."""

import json
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Any

from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.request.image_property_names import EARLIER_NAMES, KNOWN
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.filters.json_query import evaluate

Rule = Callable[[HostState, RequestSpecView], bool]


def words(state: HostState, key: str) -> set[str]:
    """All words that the host's aggregates have for a key."""
    texts = [each.metadata[key] for each in state.aggregates if key in each.metadata]
    return {word.strip() for text in texts for word in text.split(",")}


def minimum(state: HostState, key: str, default: float, read: Callable[[str], float]) -> float:
    """The least number of the aggregates, or the default."""
    texts = [each.metadata[key] for each in state.aggregates if key in each.metadata]
    try:
        return min([read(text) for text in texts], default=default)
    except ValueError:
        return default


def room(total: float, used: float, ratio: float, wanted: float) -> bool:
    """Not more than there is, and not more than is left after overcommit."""
    return total >= wanted and total * ratio - used >= wanted


def ram(state: HostState, spec: RequestSpecView, ratio: float) -> bool:
    total = state.total_usable_ram_mb
    return room(total, total - state.free_ram_mb, ratio, spec.memory_mb)


def core(state: HostState, spec: RequestSpecView, ratio: float) -> bool:
    return not state.vcpus_total or room(state.vcpus_total, state.vcpus_used, ratio, spec.vcpus)


def disk_wanted(spec: RequestSpecView) -> int:
    return 1024 * (spec.root_gb + spec.ephemeral_gb) + spec.swap


def disk(state: HostState, spec: RequestSpecView, ratio: float) -> bool:
    total = state.total_usable_disk_gb * 1024
    return room(total, total - state.free_disk_mb, ratio, disk_wanted(spec))


def zone(state: HostState, spec: RequestSpecView) -> bool:
    zones = words(state, "availability_zone") or {spec.options.default_availability_zone}
    return not spec.availability_zone or spec.availability_zone in zones


def image_isolation(state: HostState, spec: RequestSpecView) -> bool:
    properties = {EARLIER_NAMES.get(key, key): value for key, value in spec.image.properties.items()}
    return not any(
        properties.get(key) and str(properties[key]) not in words(state, key)
        for each in state.aggregates
        for key in each.metadata
        if key in KNOWN
    )


def cidr(state: HostState, spec: RequestSpecView) -> bool:
    near = spec.get_scheduler_hint("build_near_host_ip")
    if not near:
        return True
    network = ip_network(near + spec.get_scheduler_hint("cidr", "/24"), strict=False)
    return bool(state.host_ip) and ip_address(state.host_ip) in network


def query(state: HostState, spec: RequestSpecView) -> bool:
    text = spec.get_scheduler_hint("query")
    result: Any = evaluate(json.loads(text), vars(state)) if text else True
    return any(result) if isinstance(result, list) else bool(result)


def legacy(state: HostState, spec: RequestSpecView, *, together: bool) -> bool:
    group = spec.instance_group
    if group is None or group.policy != "legacy" or not group.hosts:
        return True
    return (state.host in group.hosts) is together


MORE_FILTERS: dict[str, Rule] = {
    "RamFilter": lambda h, s: ram(h, s, h.ram_allocation_ratio),
    "CoreFilter": lambda h, s: core(h, s, h.cpu_allocation_ratio),
    "DiskFilter": lambda h, s: disk(h, s, h.disk_allocation_ratio),
    "AggregateRamFilter": lambda h, s: ram(h, s, minimum(h, "ram_allocation_ratio", h.ram_allocation_ratio, float)),
    "AggregateCoreFilter": lambda h, s: core(h, s, minimum(h, "cpu_allocation_ratio", h.cpu_allocation_ratio, float)),
    "AggregateDiskFilter": lambda h, s: disk(h, s, minimum(h, "disk_allocation_ratio", h.disk_allocation_ratio, float)),
    "AggregateIoOpsFilter": lambda h, s: (
        h.num_io_ops < minimum(h, "max_io_ops_per_host", s.options.max_io_ops_per_host, int)
    ),
    "AggregateNumInstancesFilter": lambda h, s: (
        h.num_instances < minimum(h, "max_instances_per_host", s.options.max_instances_per_host, int)
    ),
    "ExactRamFilter": lambda h, s: h.free_ram_mb == s.memory_mb,
    "ExactCoreFilter": lambda h, s: bool(h.vcpus_total) and h.vcpus_total - h.vcpus_used == s.vcpus,
    "ExactDiskFilter": lambda h, s: h.free_disk_mb == disk_wanted(s),
    "AvailabilityZoneFilter": zone,
    "AggregateImagePropertiesIsolation": image_isolation,
    "AggregateTypeAffinityFilter": lambda h, s: (
        s.flavor.name in words(h, "instance_type") or not words(h, "instance_type")
    ),
    "TypeAffinityFilter": lambda h, s: True,  # host states do not tell the flavors of their instances
    "TrustedFilter": lambda h, s: not s.flavor.extra_specs.get("trust:trusted_host"),  # nobody is attested
    "IsolatedHostsFilter": lambda h, s: (
        (s.image.id in s.options.isolated_images) == (h.host in s.options.isolated_hosts)
    ),
    "JsonFilter": query,
    "MetricsFilter": lambda h, s: set(s.options.metrics_weight_setting) <= set(h.metrics),
    "SimpleCIDRAffinityFilter": cidr,
    "NUMATopologyFilter": lambda h, s: s.numa_topology is None,  # hosts of these fleets report no topology
    "PciPassthroughFilter": lambda h, s: not s.pci_requests,  # nor devices
    "RetryFilter": lambda h, s: (h.host, h.nodename) not in s.retry,
    "GroupAffinityFilter": lambda h, s: legacy(h, s, together=True),
    "GroupAntiAffinityFilter": lambda h, s: legacy(h, s, together=False),
}
