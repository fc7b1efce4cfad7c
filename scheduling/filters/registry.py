"""Filters by name: ours, those of installed packages (entry points `kilonova.filters`), and dotted paths."""

from functools import cache

from scheduling.domain.errors import PluginFailed
from scheduling.domain.plugins import load_plugin, plugin_names
from scheduling.filters.aggregate_extra_specs import AggregateInstanceExtraSpecsFilter
from scheduling.filters.aggregate_multitenancy import AggregateMultiTenancyIsolation
from scheduling.filters.all_hosts import AllHostsFilter
from scheduling.filters.base import Filter, ForeignFilter, HasHostPasses
from scheduling.filters.compute import ComputeFilter
from scheduling.filters.compute_capabilities import ComputeCapabilitiesFilter
from scheduling.filters.different_host import DifferentHostFilter
from scheduling.filters.image_properties import ImagePropertiesFilter
from scheduling.filters.io_ops import IoOpsFilter
from scheduling.filters.num_instances import NumInstancesFilter
from scheduling.filters.same_host import SameHostFilter
from scheduling.filters.server_group import ServerGroupAffinityFilter, ServerGroupAntiAffinityFilter

ENTRY_POINTS = "kilonova.filters"

BUILT_IN: dict[str, type[Filter]] = {
    each.__name__: each
    for each in (
        AggregateInstanceExtraSpecsFilter,
        AggregateMultiTenancyIsolation,
        AllHostsFilter,
        ComputeCapabilitiesFilter,
        ComputeFilter,
        DifferentHostFilter,
        ImagePropertiesFilter,
        IoOpsFilter,
        NumInstancesFilter,
        SameHostFilter,
        ServerGroupAffinityFilter,
        ServerGroupAntiAffinityFilter,
    )
}


@cache
def filter_get(name: str) -> Filter:
    """The filter a policy calls `name`. Raises PluginNotFound or PluginFailed."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    return adapt(name, load_plugin(ENTRY_POINTS, name))


def filter_names() -> tuple[str, ...]:
    """All names that can be enabled without a dotted path."""
    return tuple(sorted({*BUILT_IN, *plugin_names(ENTRY_POINTS)}))


def adapt(name: str, plugin: object) -> Filter:
    """A filter from any object that is one or has `host_passes`. Raises PluginFailed for others."""
    if isinstance(plugin, Filter):
        return plugin
    if isinstance(plugin, HasHostPasses):
        return ForeignFilter(plugin)
    raise PluginFailed(f"{name} is no filter: it has no host_passes", plugin=name)
