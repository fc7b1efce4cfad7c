"""Traits that nobody asked for by name: they follow from other keys of flavor or image, which can be left out."""

from collections.abc import Iterator

from controlplane.kernel.errors import KilonovaError
from controlplane.kernel.reasons import Refusal
from controlplane.kernel.texts import Phrase, gettext_noop
from scheduling.domain.hosts.host_rows import HostRow
from scheduling.domain.request.resources import resource_request
from scheduling.request_filters import filter_request, surroundings_of
from scheduling.whatif.domain.nearest_fit.change import ChangeKind, ChangeStep, Trial, spec_step, without_properties
from scheduling.whatif.domain.world import World

_TRAIT = "trait"


def derived_traits(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """Without a key of which one of these traits is the consequence."""
    names = {name.strip() for name in str(refusal.wanted).split(",")} & _traits(trial, world)
    if not names:
        return
    for key in trial.request.flavor.extra_specs:
        if not key.startswith(_TRAIT):
            sentence = Phrase(gettext_noop("use a flavor without the extra spec {key}"), key=key)
            yield from (one for one in spec_step(trial, {key: None}, sentence) if names - _traits(one.trial, world))
    for name in trial.request.image.properties:
        if not name.startswith(_TRAIT):
            then = without_properties(trial, frozenset({name}))
            if names - _traits(then, world):
                sentence = Phrase(gettext_noop("use an image without the property {name}"), name=name)
                yield ChangeStep(ChangeKind.REQUEST, "image_property", sentence, 1.0, then)


def _traits(trial: Trial, world: World) -> set[str]:
    """All that the request requires or forbids in the end; none where it contradicts itself."""
    try:
        asked = filter_request(trial.request, surroundings_of(world.table, trial.policy)).request
        needs = resource_request(asked)
    except KilonovaError:
        return set()
    return {*needs.required, *needs.forbidden, *asked.root_required, *asked.root_forbidden}
