"""What filters, weighers and settings of a policy do, in one line each, for whoever edits one.

A plug-in that is not ours is described by the first sentence of its own documentation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from controlplane.kernel.errors import KilonovaError
from scheduling.filters.registry import filter_get
from scheduling.schedulers.registry import scheduler_get
from scheduling.weighers.base import Weigher
from scheduling.weighers.registry import weigher_get

LONGEST_LINE = 200

FILTERS: Mapping[str, str] = MappingProxyType(
    {
        "AggregateCoreFilter": "Enough vCPUs, with the least overcommit that the host's aggregates name.",
        "AggregateDiskFilter": "Enough disk, with the least overcommit that the host's aggregates name.",
        "AggregateImagePropertiesIsolation": "The image's properties agree with the host's aggregates.",
        "AggregateInstanceExtraSpecsFilter": "The flavor's extra specs agree with the host's aggregates.",
        "AggregateIoOpsFilter": "Not too many heavy operations under way; the host's aggregates may name the limit.",
        "AggregateMultiTenancyIsolation": "Hosts whose aggregates name projects take instances of those projects only.",
        "AggregateNumInstancesFilter": "Not too many instances on the host; its aggregates may name the limit.",
        "AggregateRamFilter": "Enough memory, with the least overcommit that the host's aggregates name.",
        "AggregateTypeAffinityFilter": "The host's aggregates may list the flavors that they take.",
        "AllHostsFilter": "Lets every host through.",
        "AvailabilityZoneFilter": "The host is in the availability zone that was asked for.",
        "ComputeCapabilitiesFilter": "The host has the capabilities that the flavor's extra specs ask for.",
        "ComputeFilter": "The host is up and enabled.",
        "CoreFilter": "Enough vCPUs on the host, overcommit included.",
        "DifferentHostFilter": "Not where the servers of the hint different_host are.",
        "DiskFilter": "Enough disk on the host, overcommit included.",
        "ExactCoreFilter": "Exactly as many vCPUs are free as are asked for.",
        "ExactDiskFilter": "Exactly as much disk is free as is asked for.",
        "ExactRamFilter": "Exactly as much memory is free as is asked for.",
        "GroupAffinityFilter": "All members of a legacy server group on the same hosts.",
        "GroupAntiAffinityFilter": "Each member of a legacy server group on a host of its own.",
        "ImagePropertiesFilter": "The host offers the architecture, hypervisor and VM mode that the image asks for.",
        "IoOpsFilter": "Fewer heavy operations under way on the host than max_io_ops_per_host.",
        "IsolatedHostsFilter": "Isolated images on isolated hosts only, and other images elsewhere.",
        "JsonFilter": "The expression in the hint query is true of the host.",
        "MetricsFilter": "The host reports every metric that metrics_weight_setting names.",
        "NUMATopologyFilter": "The guest's NUMA cells, pinned CPUs and pages fit on the host's cells.",
        "NumInstancesFilter": "Fewer instances on the host than max_instances_per_host.",
        "PciPassthroughFilter": "The host has the PCI devices that the request asks for.",
        "RamFilter": "Enough memory on the host, overcommit included.",
        "RetryFilter": "Not a host that was tried for this request before.",
        "SameHostFilter": "Where one of the servers of the hint same_host is.",
        "ServerGroupAffinityFilter": "All members of an affinity group on the same host.",
        "ServerGroupAntiAffinityFilter": "Members of an anti-affinity group on different hosts.",
        "SimpleCIDRAffinityFilter": "The host's address is in the network that the hints name.",
        "TrustedFilter": "The attestation service trusts the host as the flavor asks.",
        "TypeAffinityFilter": "Only instances of the same flavor on the host.",
    }
)

WEIGHERS: Mapping[str, str] = MappingProxyType(
    {
        "BuildFailureWeigher": "Failed builds since the last that worked. Above 0 avoids such hosts.",
        "CPUWeigher": "Free vCPUs. Above 0 spreads, below 0 stacks.",
        "CrossCellWeigher": "Whether a move stays in its cell. Above 0 keeps it there.",
        "DiskWeigher": "Free disk. Above 0 spreads, below 0 stacks.",
        "HypervisorVersionWeigher": "Version of the hypervisor. Above 0 prefers newer ones.",
        "ImagePropertiesWeigher": "Instances with like images on the host. Above 0 packs them together.",
        "IoOpsWeigher": "Heavy operations under way. Below 0 avoids busy hosts.",
        "MetricsWeigher": "Sum of the metrics in metrics_weight_setting, each times its ratio.",
        "NumInstancesWeigher": "Instances on the host. Above 0 packs, below 0 spreads.",
        "PCIWeigher": "Free PCI devices. Above 0 keeps hosts with many of them free.",
        "RAMWeigher": "Free memory. Above 0 spreads, below 0 stacks.",
        "ServerGroupSoftAffinityWeigher": "Members of a soft-affinity group on the host. Above 0 packs the group.",
        "ServerGroupSoftAntiAffinityWeigher": "Members of a soft-anti-affinity group. Above 0 spreads the group.",
    }
)

SCHEDULERS: Mapping[str, str] = MappingProxyType(
    {
        "caching_scheduler": "As filter_scheduler, on a view of the fleet that may be cached_view_age_s old.",
        "chance_scheduler": "Any host that is up and has the room, by chance: no filters, no weighers.",
        "filter_scheduler": "The filters in their order, then the weighers.",
    }
)

SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "scheduler": "The plug-in that decides, by these filters and weighers or by its own.",
        "host_subset_size": "The winner is drawn from this many of the best hosts.",
        "shuffle_best_same_weighed_hosts": "Hosts of equal score in random order.",
        "max_attempts": "Hosts tried for one instance, the first included.",
        "default_availability_zone": "The zone of hosts that no aggregate puts into one.",
        "max_io_ops_per_host": "For IoOpsFilter: a host with so many heavy operations gets no more.",
        "max_instances_per_host": "For NumInstancesFilter: a host with so many instances gets no more.",
        "image_properties_default_architecture": "For ImagePropertiesFilter: of images that name no architecture.",
        "limit_tenants_to_placement_aggregate": "Projects go to the aggregates that name them, by Placement.",
        "placement_aggregate_required_for_tenants": "A project that no aggregate names gets no host at all.",
        "isolated_images": "For IsolatedHostsFilter: ids of images, one a line.",
        "isolated_hosts": "For IsolatedHostsFilter: names of hosts, one a line.",
        "restrict_isolated_hosts_to_isolated_images": "Isolated hosts take isolated images only.",
        "aggregate_image_properties_isolation_namespace": "For AggregateImagePropertiesIsolation: only such keys.",
        "aggregate_image_properties_isolation_separator": "What stands between that prefix and the property.",
        "metrics_weight_setting": "One name = ratio a line, for instance cpu.percent = -1.",
        "metrics_required": "A host that does not report a metric fails the request.",
        "metrics_weight_of_unavailable": "Weight of a host without a metric, where they are not required.",
        "image_props_weight_setting": "One property = weight a line, for ImagePropertiesWeigher.",
        "query_placement_for_image_type_support": "Ask Placement for hosts that support the image's format.",
        "enable_isolated_aggregate_filtering": "Aggregates that require traits take only what asks for them.",
        "image_metadata_prefilter": "Ask Placement for hosts that support the image's properties.",
        "query_placement_for_routed_network_aggregates": "Ask Placement for hosts near the wanted networks.",
        "cached_view_age_s": "For caching_scheduler: how old its view of the fleet may be, in seconds.",
        "packing_host_numa_cells_allocation_strategy": "Guests fill the fullest NUMA cells of a host first.",
        "extra": "A JSON object for plug-ins.",
    }
)


@dataclass(frozen=True, slots=True)
class PluginLine:
    """A filter or weigher and what it does. `loads` False: it cannot be used here, and `line` says why."""

    name: str
    line: str
    loads: bool = True


def filter_line(name: str) -> PluginLine:
    """What the filter of this name does."""
    return _line(name, FILTERS, filter_get)


def weigher_line(name: str) -> PluginLine:
    """What the weigher of this name does."""
    return _line(name, WEIGHERS, weigher_get)


def scheduler_line(name: str) -> PluginLine:
    """What the scheduler of this name does."""
    return _line(name, SCHEDULERS, scheduler_get)


def own_multiplier(name: str) -> str:
    """The multiplier that the weigher has where a policy names none; empty for one that does not load."""
    try:
        weigher: Weigher = weigher_get(name)
    except KilonovaError:
        return ""
    return f"{weigher.default_multiplier:.15g}"


def _line(name: str, known: Mapping[str, str], get: Callable[[str], Any]) -> PluginLine:
    if name in known:
        return PluginLine(name, known[name])
    try:
        return PluginLine(name, first_sentence(get(name)))
    except KilonovaError as error:
        return PluginLine(name, error.message, loads=False)


def first_sentence(plugin: object) -> str:
    """Of the plug-in's own documentation, or of what it wraps."""
    wrapped = getattr(plugin, "_wrapped", plugin)
    text = " ".join((type(wrapped).__doc__ or "").split())
    end = text.find(". ")
    return (text if end < 0 else text[: end + 1])[:LONGEST_LINE] or "It has no documentation."
