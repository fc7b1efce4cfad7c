"""Steps towards a fit that speak of volumes: one that is left out, or is made smaller."""

from collections.abc import Iterator
from dataclasses import replace

from controlplane.kernel.reasons import Refusal
from controlplane.kernel.texts import Phrase, gettext_noop
from controlplane.kernel.units import gib_text
from scheduling.domain.hosts.host_rows import HostRow
from scheduling.domain.request.volume_needs import VolumeNeed
from scheduling.whatif.domain.nearest_fit.change import ChangeKind, ChangeStep, Trial
from scheduling.whatif.domain.world import World


def without_volume(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """Without the volume whose pool is in the way."""
    for at, need in _refused(refusal, trial):
        volumes = tuple(one for place, one in enumerate(trial.request.volumes) if place != at)
        changed = replace(trial, request=replace(trial.request, volumes=volumes))
        yield ChangeStep(
            ChangeKind.REQUEST, "volume", Phrase(gettext_noop("ask without {volume}"), volume=need.words), 1.0, changed
        )


def smaller_volume(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """With so small a volume that it fits into what is left of the host's pools."""
    room = refusal.available
    if not isinstance(room, int) or room < 1:
        return
    for at, need in _refused(refusal, trial):
        volumes = tuple(
            replace(one, gib=room) if place == at else one for place, one in enumerate(trial.request.volumes)
        )
        changed = replace(trial, request=replace(trial.request, volumes=volumes))
        sentence = Phrase(
            gettext_noop("ask for {room} instead of {size} for {volume}"),
            room=gib_text(room),
            size=gib_text(need.gib),
            volume=need.words,
        )
        yield ChangeStep(ChangeKind.REQUEST, "volume_size", sentence, (need.gib - room) / need.gib, changed)


def _refused(refusal: Refusal, trial: Trial) -> Iterator[tuple[int, VolumeNeed]]:
    """The need that the refusal speaks of, and its place."""
    for at, need in enumerate(trial.request.volumes):
        if refusal.detail.startswith(need.words):
            yield at, need
            return
