"""What would make a host win that passed every filter but came behind: another multiplier of one weigher."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from controlplane.kernel.texts import Phrase, gettext_noop
from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_rows import HostRow
from scheduling.domain.policy import WeigherSetting
from scheduling.domain.trace.trace import Outcome
from scheduling.domain.trace.weighing import Ranking, WeigherColumn
from scheduling.whatif.domain.edits import world_edited
from scheduling.whatif.domain.nearest_fit.change import ChangeKind, ChangeStep, Trial
from scheduling.whatif.domain.nearest_fit.search import Fit
from scheduling.whatif.domain.world import World, world_run

# Beyond the exact point where two hosts are level: by so much the host is to be ahead.
_AHEAD = 0.01


def multipliers_to_win(world: World, trial: Trial, row: HostRow) -> list[Fit]:
    """Changes of one multiplier after which one instance goes to this host; each was run. The smallest first.

    Empty for a host that is refused or wins already. Weighers whose multiplier is set by aggregates are left alone.
    """
    one = replace(trial.request, instance_uuids=trial.request.instance_uuids[:1], min_count=None, num_alternates=0)
    alone = replace(trial, request=one)
    edited = world_edited(world, trial.edits)
    ranking = world_run(edited, one, trial.policy).rounds[0].ranking
    at = None if ranking is None else ranking.position_of(edited.table.row_by_uuid[row.uuid])
    if ranking is None or at is None or not ranking.weighers:
        return []
    steps = sorted(_steps(ranking, at, alone, row), key=lambda step: (step.size, step.sentence))
    runs = ((step, world_run(edited, one, step.trial.policy)) for step in steps)
    return [
        Fit((step,), trace)
        for step, trace in runs
        if trace.outcome is Outcome.SELECTED and trace.selections[0].selected.compute_node_uuid == row.uuid
    ]


def _steps(ranking: Ranking, at: int, trial: Trial, row: HostRow) -> Iterator[ChangeStep]:
    if float(ranking.scores[at]) >= float(ranking.scores.max()):
        return
    for weigher in ranking.weighers:
        if isinstance(weigher.multiplier, np.ndarray):
            continue
        before = float(weigher.multiplier)
        after = _multiplier(ranking.scores, weigher, before, at)
        if after is not None:
            sentence = Phrase(
                gettext_noop("set the multiplier of {weigher} from {before:g} to {after:g}"),
                weigher=weigher.name,
                before=before,
                after=after,
            )
            size = abs(after - before) / max(1.0, abs(before))
            yield ChangeStep(ChangeKind.POLICY, "multiplier", sentence, size, _with(trial, weigher.name, after), True)


def _multiplier(scores: FloatArray, weigher: WeigherColumn, before: float, at: int) -> float | None:
    """The multiplier nearest to `before` at which the host is ahead of all others; None where there is none.

    score = rest + multiplier * value is linear in the multiplier, so each rival leaves a half-line; they are cut.
    """
    value = weigher.normalised()
    rest = scores - before * value
    others = np.arange(len(scores)) != at
    gain, behind = (value[at] - value)[others], (rest - rest[at])[others]
    if np.any((gain == 0) & (behind >= 0)):
        return None
    above = behind[gain > 0] / gain[gain > 0]
    below = behind[gain < 0] / gain[gain < 0]
    low = float(above.max()) if len(above) else -np.inf
    high = float(below.min()) if len(below) else np.inf
    if low >= high:
        return None
    if before <= low:
        return _rounded(low, high, up=True)
    return _rounded(low, high, up=False) if before >= high else None


def _rounded(low: float, high: float, *, up: bool) -> float:
    """Just inside the bound that was crossed, to two digits where that is still inside."""
    near = low + _AHEAD if up else high - _AHEAD
    coarse = round(near, 2)
    if low < coarse < high:
        return float(coarse)
    return float((low + high) / 2)


def _with(trial: Trial, name: str, multiplier: float) -> Trial:
    weighers = tuple(WeigherSetting(one.name, multiplier) if one.name == name else one for one in trial.policy.weighers)
    return replace(trial, policy=replace(trial.policy, weighers=weighers))
