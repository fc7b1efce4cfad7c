"""Which flavors a provider still has room for: shown before an operator changes its inventories."""

from collections.abc import Mapping, Sequence

from controlplane.kernel.errors import Invalid
from placement.domain import InventoryUsage, ProviderKind
from placement.selectors.inventory_effect import StatedAnew
from scheduling.domain.request.resources import DISK_GB, MEMORY_MB, PCPU, VCPU, derive_resources
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from servers.catalog.selectors.flavor import flavor_snapshot
from servers.models import Flavor

LARGEST_SHOWN = 3
LOST_SHOWN = 5
# What a host's agent states itself, each time that it registers.
AGENTS_CLASSES = (VCPU, MEMORY_MB, DISK_GB)


def effect_notes(change: StatedAnew) -> list[str]:
    """For a compute node: who else states these numbers, the largest flavors that still fit, those that no longer do.

    One query.
    """
    if change.provider.kind is not ProviderKind.COMPUTE:
        return []
    flavors = list(Flavor.objects.filter(disabled=False).order_by("-vcpus", "-memory_mib", "-root_gib", "name"))
    wanted = {flavor.name: _amounts(flavor, has_pcpu=PCPU in change.after) for flavor in flavors}
    then = {name: rooms(amounts, change.after) for name, amounts in wanted.items()}
    lost = [name for name, amounts in wanted.items() if rooms(amounts, change.before) and not then[name]]
    return [*_flavor_notes(then, lost), *_agent_notes(change)]


def rooms(amounts: Mapping[str, int], usages: Mapping[str, InventoryUsage]) -> int:
    """How many instances that take these amounts each still fit, one after the other."""
    return min((_rooms_of(amount, usages.get(name)) for name, amount in amounts.items()), default=0)


def _rooms_of(amount: int, usage: InventoryUsage | None) -> int:
    if usage is None or not usage.min_unit <= amount <= usage.max_unit or amount % usage.step_size:
        return 0
    return usage.free // amount


def _amounts(flavor: Flavor, *, has_pcpu: bool) -> Mapping[str, int]:
    """Nothing for a flavor that contradicts itself: it fits nowhere."""
    try:
        found = derive_resources(FlavorSnapshot(**flavor_snapshot(flavor)), ImageSnapshot())
    except Invalid:
        return {}
    return found.on(has_pcpu=has_pcpu).amounts


def _flavor_notes(then: Mapping[str, int], lost: Sequence[str]) -> list[str]:
    if not then:
        return []
    fitting = [f"{name} ({count} more)" for name, count in then.items() if count][:LARGEST_SHOWN]
    sentence = f"Largest flavors that still fit: {', '.join(fitting)}." if fitting else "No flavor fits then."
    more = f" and {len(lost) - LOST_SHOWN} others" if len(lost) > LOST_SHOWN else ""
    return [sentence, *([f"No longer fit: {', '.join(lost[:LOST_SHOWN])}{more}."] if lost else [])]


def _agent_notes(change: StatedAnew) -> list[str]:
    name = change.resource_class
    if name not in AGENTS_CLASSES:
        return []
    before, after = change.before[name].spec, change.after[name].spec
    if (before.total, before.reserved, before.max_unit) == (after.total, after.reserved, after.max_unit):
        return []
    sentence = f"The host's agent states {name} anew when it registers: total and max_unit from the hypervisor,"
    return [f"{sentence} reserved from the settings. Of these numbers only the ratio lasts beyond that."]
