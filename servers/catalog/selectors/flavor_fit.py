"""Which flavors a provider still has room for: shown before an operator changes its inventories."""

from collections.abc import Mapping, Sequence

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import Translate, gettext_noop, in_english
from placement.domain import InventoryUsage, ProviderKind
from placement.selectors.inventory_effect import StatedAnew
from scheduling.domain.request.resources import DISK_GB, MEMORY_MB, PCPU, VCPU, derive_resources
from scheduling.domain.snapshots import FlavorSnapshot, ImageSnapshot
from servers.catalog.selectors.flavor import flavor_snapshot
from servers.models import Flavor

ONE_FITTING = gettext_noop("{name} ({count} more)")
LARGEST_FITTING = gettext_noop("Largest flavors that still fit: {flavors}.")
NONE_FITS = gettext_noop("No flavor fits then.")
LOST = gettext_noop("No longer fit: {flavors}.")
LOST_AND_MORE = gettext_noop("No longer fit: {flavors} and {count} others.")
STATED_BY_AGENT = gettext_noop(
    "The host's agent states {resource_class} anew when it registers: total and max_unit from the hypervisor, reserved "
    "from the settings. Of these numbers only the ratio lasts beyond that."
)
LARGEST_SHOWN = 3
LOST_SHOWN = 5
# What a host's agent states itself, each time that it registers.
AGENTS_CLASSES = (VCPU, MEMORY_MB, DISK_GB)


def effect_notes(change: StatedAnew, translate: Translate = in_english) -> list[str]:
    """For a compute node: who else states these numbers, the largest flavors that still fit, those that no longer do.

    One query.
    """
    if change.provider.kind is not ProviderKind.COMPUTE:
        return []
    flavors = list(Flavor.objects.filter(disabled=False).order_by("-vcpus", "-memory_mib", "-root_gib", "name"))
    wanted = {flavor.name: _amounts(flavor, has_pcpu=PCPU in change.after) for flavor in flavors}
    then = {name: rooms(amounts, change.after) for name, amounts in wanted.items()}
    lost = [name for name, amounts in wanted.items() if rooms(amounts, change.before) and not then[name]]
    return [*_flavor_notes(then, lost, translate), *_agent_notes(change, translate)]


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


def _flavor_notes(then: Mapping[str, int], lost: Sequence[str], translate: Translate) -> list[str]:
    if not then:
        return []
    one = translate(ONE_FITTING)
    fitting = [one.format(name=name, count=count) for name, count in then.items() if count][:LARGEST_SHOWN]
    said = [translate(LARGEST_FITTING).format(flavors=", ".join(fitting)) if fitting else translate(NONE_FITS)]
    if lost:
        template = translate(LOST_AND_MORE if len(lost) > LOST_SHOWN else LOST)
        said.append(template.format(flavors=", ".join(lost[:LOST_SHOWN]), count=len(lost) - LOST_SHOWN))
    return said


def _agent_notes(change: StatedAnew, translate: Translate) -> list[str]:
    name = change.resource_class
    if name not in AGENTS_CLASSES:
        return []
    before, after = change.before[name].spec, change.after[name].spec
    if (before.total, before.reserved, before.max_unit) == (after.total, after.reserved, after.max_unit):
        return []
    return [translate(STATED_BY_AGENT).format(resource_class=name)]
