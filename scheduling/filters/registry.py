"""Filters by name: ours, those of installed packages (entry points `kilonova.filters`), and dotted paths."""

from functools import cache

from scheduling.domain.plugins.loading import PluginRegistry
from scheduling.filters.aggregate_extra_specs import AggregateInstanceExtraSpecsFilter
from scheduling.filters.aggregate_image_properties import AggregateImagePropertiesIsolation
from scheduling.filters.aggregate_multitenancy import AggregateMultiTenancyIsolation
from scheduling.filters.all_hosts import AllHostsFilter
from scheduling.filters.availability_zone import AvailabilityZoneFilter
from scheduling.filters.base import Filter, ForeignFilter, HasFilterAll, HasHostPasses
from scheduling.filters.cidr_affinity import SimpleCIDRAffinityFilter
from scheduling.filters.compute import ComputeFilter
from scheduling.filters.compute_capabilities import ComputeCapabilitiesFilter
from scheduling.filters.core import AggregateCoreFilter, CoreFilter
from scheduling.filters.different_host import DifferentHostFilter
from scheduling.filters.disk import AggregateDiskFilter, DiskFilter
from scheduling.filters.exact import ExactCoreFilter, ExactDiskFilter, ExactRamFilter
from scheduling.filters.image_properties import ImagePropertiesFilter
from scheduling.filters.io_ops import AggregateIoOpsFilter, IoOpsFilter
from scheduling.filters.isolated_hosts import IsolatedHostsFilter
from scheduling.filters.json_query import JsonFilter
from scheduling.filters.legacy_groups import GroupAffinityFilter, GroupAntiAffinityFilter
from scheduling.filters.metrics import MetricsFilter
from scheduling.filters.num_instances import AggregateNumInstancesFilter, NumInstancesFilter
from scheduling.filters.numa_topology import NUMATopologyFilter
from scheduling.filters.pci_passthrough import PciPassthroughFilter
from scheduling.filters.ram import AggregateRamFilter, RamFilter
from scheduling.filters.retry import RetryFilter
from scheduling.filters.same_host import SameHostFilter
from scheduling.filters.server_group import ServerGroupAffinityFilter, ServerGroupAntiAffinityFilter
from scheduling.filters.trusted import TrustedFilter
from scheduling.filters.type_affinity import AggregateTypeAffinityFilter, TypeAffinityFilter

ENTRY_POINTS = "kilonova.filters"

BUILT_IN: dict[str, type[Filter]] = {
    each.__name__: each
    for each in (
        AggregateCoreFilter,
        AggregateDiskFilter,
        AggregateImagePropertiesIsolation,
        AggregateInstanceExtraSpecsFilter,
        AggregateIoOpsFilter,
        AggregateMultiTenancyIsolation,
        AggregateNumInstancesFilter,
        AggregateRamFilter,
        AggregateTypeAffinityFilter,
        AllHostsFilter,
        AvailabilityZoneFilter,
        ComputeCapabilitiesFilter,
        ComputeFilter,
        CoreFilter,
        DifferentHostFilter,
        DiskFilter,
        ExactCoreFilter,
        ExactDiskFilter,
        ExactRamFilter,
        GroupAffinityFilter,
        GroupAntiAffinityFilter,
        ImagePropertiesFilter,
        IoOpsFilter,
        IsolatedHostsFilter,
        JsonFilter,
        MetricsFilter,
        NUMATopologyFilter,
        NumInstancesFilter,
        PciPassthroughFilter,
        RamFilter,
        RetryFilter,
        SameHostFilter,
        ServerGroupAffinityFilter,
        ServerGroupAntiAffinityFilter,
        SimpleCIDRAffinityFilter,
        TrustedFilter,
        TypeAffinityFilter,
    )
}


def _adapt(plugin: Filter | HasHostPasses | HasFilterAll) -> Filter:
    return plugin if isinstance(plugin, Filter) else ForeignFilter(plugin)


REGISTRY = PluginRegistry("filter", ENTRY_POINTS, BUILT_IN, Filter, ("host_passes", "filter_all"), _adapt)


@cache
def filter_get(name: str) -> Filter:
    """The filter a policy calls `name`. Raises PluginNotFound or PluginFailed."""
    return REGISTRY.load(name)


def filter_names() -> tuple[str, ...]:
    """All names that can be enabled without a dotted path."""
    return REGISTRY.names()
