"""Weighers by name: ours, those of installed packages (entry points `kilonova.weighers`), and dotted paths."""

from functools import cache

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.domain.plugins.loading import PluginRegistry
from scheduling.weighers.base import ForeignWeigher, HasWeighObject, Weigher
from scheduling.weighers.build_failure import BuildFailureWeigher
from scheduling.weighers.cpu import CPUWeigher
from scheduling.weighers.cross_cell import CrossCellWeigher
from scheduling.weighers.disk import DiskWeigher
from scheduling.weighers.hypervisor_version import HypervisorVersionWeigher
from scheduling.weighers.image_properties import ImagePropertiesWeigher
from scheduling.weighers.io_ops import IoOpsWeigher
from scheduling.weighers.metrics import MetricsWeigher
from scheduling.weighers.num_instances import NumInstancesWeigher
from scheduling.weighers.pci import PCIWeigher
from scheduling.weighers.ram import RAMWeigher
from scheduling.weighers.soft_affinity import ServerGroupSoftAffinityWeigher, ServerGroupSoftAntiAffinityWeigher

ENTRY_POINTS = "kilonova.weighers"

BUILT_IN: dict[str, type[Weigher]] = {
    each.__name__: each
    for each in (
        BuildFailureWeigher,
        CPUWeigher,
        CrossCellWeigher,
        DiskWeigher,
        HypervisorVersionWeigher,
        ImagePropertiesWeigher,
        IoOpsWeigher,
        MetricsWeigher,
        NumInstancesWeigher,
        PCIWeigher,
        RAMWeigher,
        ServerGroupSoftAffinityWeigher,
        ServerGroupSoftAntiAffinityWeigher,
    )
}


def _adapt(plugin: Weigher | HasWeighObject) -> Weigher:
    return plugin if isinstance(plugin, Weigher) else ForeignWeigher(plugin)


REGISTRY = PluginRegistry("weigher", ENTRY_POINTS, BUILT_IN, Weigher, ("_weigh_object",), _adapt)


@cache
def weigher_get(name: str) -> Weigher:
    """The weigher a policy calls `name`. Raises PluginNotFound or PluginFailed."""
    return REGISTRY.load(name)


def multiplier_check(name: str, multiplier: float | None) -> None:
    """Raises Invalid for a multiplier below the least that the weigher allows, and what `weigher_get` raises."""
    minimum = weigher_get(name).min_multiplier
    if minimum is not None and multiplier is not None and multiplier < minimum:
        raise Invalid(
            _("the multiplier of {name} is at least {minimum:g}", name=name, minimum=minimum), field=f"weighers.{name}"
        )


def weigher_names() -> tuple[str, ...]:
    """All names that can be enabled without a dotted path."""
    return REGISTRY.names()
