"""What filters, weighers and settings of a policy do, in one line each, for whoever edits one.

A plug-in that is not ours is described by the first sentence of its own documentation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.utils.translation import gettext

from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.texts import gettext_noop as _
from scheduling.filters.registry import filter_get
from scheduling.schedulers.registry import scheduler_get
from scheduling.weighers.base import Weigher
from scheduling.weighers.registry import weigher_get

LONGEST_LINE = 200

FILTERS: Mapping[str, str] = MappingProxyType(
    {
        "AggregateCoreFilter": _("Enough vCPUs, with the least overcommit that the host's aggregates name."),
        "AggregateDiskFilter": _("Enough disk, with the least overcommit that the host's aggregates name."),
        "AggregateImagePropertiesIsolation": _("The image's properties agree with the host's aggregates."),
        "AggregateInstanceExtraSpecsFilter": _("The flavor's extra specs agree with the host's aggregates."),
        "AggregateIoOpsFilter": _("Not too many heavy operations under way; the host's aggregates may name the limit."),
        "AggregateMultiTenancyIsolation": _(
            "Hosts whose aggregates name projects take instances of those projects only."
        ),
        "AggregateNumInstancesFilter": _("Not too many instances on the host; its aggregates may name the limit."),
        "AggregateRamFilter": _("Enough memory, with the least overcommit that the host's aggregates name."),
        "AggregateTypeAffinityFilter": _("The host's aggregates may list the flavors that they take."),
        "AllHostsFilter": _("Lets every host through."),
        "AvailabilityZoneFilter": _("The host is in the availability zone that was asked for."),
        "ComputeCapabilitiesFilter": _("The host has the capabilities that the flavor's extra specs ask for."),
        "ComputeFilter": _("The host is up and enabled."),
        "CoreFilter": _("Enough vCPUs on the host, overcommit included."),
        "DifferentHostFilter": _("Not where the servers of the hint different_host are."),
        "DiskFilter": _("Enough disk on the host, overcommit included."),
        "ExactCoreFilter": _("Exactly as many vCPUs are free as are asked for."),
        "ExactDiskFilter": _("Exactly as much disk is free as is asked for."),
        "ExactRamFilter": _("Exactly as much memory is free as is asked for."),
        "GroupAffinityFilter": _("All members of a legacy server group on the same hosts."),
        "GroupAntiAffinityFilter": _("Each member of a legacy server group on a host of its own."),
        "ImagePropertiesFilter": _("The host offers the architecture, hypervisor and VM mode that the image asks for."),
        "IoOpsFilter": _("Fewer heavy operations under way on the host than max_io_ops_per_host."),
        "IsolatedHostsFilter": _("Isolated images on isolated hosts only, and other images elsewhere."),
        "JsonFilter": _("The expression in the hint query is true of the host."),
        "MetricsFilter": _("The host reports every metric that metrics_weight_setting names."),
        "NUMATopologyFilter": _("The guest's NUMA cells, pinned CPUs and pages fit on the host's cells."),
        "NumInstancesFilter": _("Fewer instances on the host than max_instances_per_host."),
        "PciPassthroughFilter": _("The host has the PCI devices that the request asks for."),
        "RamFilter": _("Enough memory on the host, overcommit included."),
        "RetryFilter": _("Not a host that was tried for this request before."),
        "SameHostFilter": _("Where one of the servers of the hint same_host is."),
        "ServerGroupAffinityFilter": _("All members of an affinity group on the same host."),
        "ServerGroupAntiAffinityFilter": _("Members of an anti-affinity group on different hosts."),
        "SimpleCIDRAffinityFilter": _("The host's address is in the network that the hints name."),
        "TrustedFilter": _("The attestation service trusts the host as the flavor asks."),
        "TypeAffinityFilter": _("Only instances of the same flavor on the host."),
    }
)

WEIGHERS: Mapping[str, str] = MappingProxyType(
    {
        "BuildFailureWeigher": _("Failed builds since the last that worked. Above 0 avoids such hosts."),
        "CPUWeigher": _("Free vCPUs. Above 0 spreads, below 0 stacks."),
        "CrossCellWeigher": _("Whether a move stays in its cell. Above 0 keeps it there."),
        "DiskWeigher": _("Free disk. Above 0 spreads, below 0 stacks."),
        "HypervisorVersionWeigher": _("Version of the hypervisor. Above 0 prefers newer ones."),
        "ImagePropertiesWeigher": _("Instances with like images on the host. Above 0 packs them together."),
        "IoOpsWeigher": _("Heavy operations under way. Below 0 avoids busy hosts."),
        "MetricsWeigher": _("Sum of the metrics in metrics_weight_setting, each times its ratio."),
        "NumInstancesWeigher": _("Instances on the host. Above 0 packs, below 0 spreads."),
        "PCIWeigher": _("Free PCI devices. Above 0 keeps hosts with many of them free."),
        "RAMWeigher": _("Free memory. Above 0 spreads, below 0 stacks."),
        "ServerGroupSoftAffinityWeigher": _("Members of a soft-affinity group on the host. Above 0 packs the group."),
        "ServerGroupSoftAntiAffinityWeigher": _("Members of a soft-anti-affinity group. Above 0 spreads the group."),
    }
)

SCHEDULERS: Mapping[str, str] = MappingProxyType(
    {
        "caching_scheduler": _("As filter_scheduler, on a view of the fleet that may be cached_view_age_s old."),
        "chance_scheduler": _("Any host that is up and has the room, by chance: no filters, no weighers."),
        "filter_scheduler": _("The filters in their order, then the weighers."),
    }
)

SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "scheduler": _("The plug-in that decides, by these filters and weighers or by its own."),
        "host_subset_size": _("The winner is drawn from this many of the best hosts."),
        "shuffle_best_same_weighed_hosts": _("Hosts of equal score in random order."),
        "max_attempts": _("Hosts tried for one instance, the first included."),
        "default_availability_zone": _("The zone of hosts that no aggregate puts into one."),
        "max_io_ops_per_host": _("For IoOpsFilter: a host with so many heavy operations gets no more."),
        "max_instances_per_host": _("For NumInstancesFilter: a host with so many instances gets no more."),
        "image_properties_default_architecture": _("For ImagePropertiesFilter: of images that name no architecture."),
        "limit_tenants_to_placement_aggregate": _("Projects go to the aggregates that name them, by Placement."),
        "placement_aggregate_required_for_tenants": _("A project that no aggregate names gets no host at all."),
        "isolated_images": _("For IsolatedHostsFilter: ids of images, one a line."),
        "isolated_hosts": _("For IsolatedHostsFilter: names of hosts, one a line."),
        "restrict_isolated_hosts_to_isolated_images": _("Isolated hosts take isolated images only."),
        "aggregate_image_properties_isolation_namespace": _("For AggregateImagePropertiesIsolation: only such keys."),
        "aggregate_image_properties_isolation_separator": _("What stands between that prefix and the property."),
        "metrics_weight_setting": _("One name = ratio a line, for instance cpu.percent = -1."),
        "metrics_required": _("A host that does not report a metric fails the request."),
        "metrics_weight_of_unavailable": _("Weight of a host without a metric, where they are not required."),
        "image_props_weight_setting": _("One property = weight a line, for ImagePropertiesWeigher."),
        "query_placement_for_image_type_support": _("Ask Placement for hosts that support the image's format."),
        "enable_isolated_aggregate_filtering": _("Aggregates that require traits take only what asks for them."),
        "image_metadata_prefilter": _("Ask Placement for hosts that support the image's properties."),
        "query_placement_for_routed_network_aggregates": _("Ask Placement for hosts near the wanted networks."),
        "cached_view_age_s": _("For caching_scheduler: how old its view of the fleet may be, in seconds."),
        "packing_host_numa_cells_allocation_strategy": _("Guests fill the fullest NUMA cells of a host first."),
        "extra": _("A JSON object for plug-ins."),
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
        return PluginLine(name, gettext(known[name]))
    try:
        return PluginLine(name, first_sentence(get(name)))
    except KilonovaError as error:
        return PluginLine(name, refusal_text(error), loads=False)


def first_sentence(plugin: object) -> str:
    """Of the plug-in's own documentation, or of what it wraps."""
    wrapped = getattr(plugin, "_wrapped", plugin)
    text = " ".join((type(wrapped).__doc__ or "").split())
    end = text.find(". ")
    return (text if end < 0 else text[: end + 1])[:LONGEST_LINE] or gettext("It has no documentation.")
