"""What stating an inventory anew would change. Only reads; a constant number of queries."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from controlplane.kernel.errors import NotFound
from controlplane.kernel.texts import Translate, in_english
from controlplane.kernel.texts import phrase as _
from placement.domain import InventorySpec, InventoryUsage, ProviderView
from placement.domain.inventory_effect import InventoryEffect
from placement.models import Allocation
from placement.selectors.providers import provider_get
from placement.selectors.usage import fleet_usage


@dataclass(frozen=True, slots=True)
class StatedAnew:
    """What a source of notes gets: the provider, the class, and all its inventories now and then."""

    provider: ProviderView
    resource_class: str
    before: Mapping[str, InventoryUsage]
    after: Mapping[str, InventoryUsage]


NoteSource = Callable[[StatedAnew, Translate], Sequence[str]]
"""Says its notes in the language of the translation."""
# Placement knows no flavors and no agents; the apps above it that do add their sentences here.
_SOURCES: dict[str, NoteSource] = {}


def effect_notes_register(name: str, source: NoteSource) -> None:
    """Let an app above placement add sentences to every effect, once per process."""
    _SOURCES[name] = source


def inventory_effect(
    provider_uuid: UUID, resource_class: str, spec: InventorySpec, translate: Translate = in_english
) -> InventoryEffect:
    """The effect of stating `spec`, with notes in the language of `translate`.

    Raises NotFound when provider or inventory are not there.
    """
    # The generation first: what is read after it can only be newer, and then saving fails.
    provider = provider_get(provider_uuid)
    usages = fleet_usage([provider_uuid])[provider_uuid]
    if resource_class not in usages:
        raise NotFound(
            _(
                "{provider} has no inventory of {resource_class}.",
                provider=provider.name,
                resource_class=resource_class,
            ),
            field="resource_class",
        )
    held = Allocation.objects.filter(provider__uuid=provider_uuid, resource_class__name=resource_class)
    effect = InventoryEffect(
        provider_uuid=provider_uuid,
        provider_name=provider.name,
        resource_class=resource_class,
        generation=provider.generation,
        before=usages[resource_class],
        after=spec,
        consumers=held.count(),
        larger_than_max=held.filter(used__gt=spec.max_unit).count(),
    )
    after = {**usages, resource_class: effect.usage_after}
    stated = StatedAnew(provider=provider, resource_class=resource_class, before=usages, after=after)
    return replace(effect, notes=tuple(note for source in _SOURCES.values() for note in source(stated, translate)))
