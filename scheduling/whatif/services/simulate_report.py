"""A run as plain values for API and pages. `redacted` is for tenants: counts and zones, no host and no score."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from scheduling.decisions.selectors.report import refusal_report
from scheduling.domain.hosts.host_slice import RefusalGroup
from scheduling.domain.trace.trace import Round, Trace, reason_counts
from scheduling.whatif.services.simulate import Simulation

HOSTS_NAMED = 20
RANKED_SHOWN = 20


def simulation_report(simulation: Simulation, *, redacted: bool) -> dict[str, Any]:
    """Verdict, funnel, reasons; for operators also who was chosen, alternates, groups of refusals and scores."""
    shown = run_report(simulation.trace, redacted=redacted)
    return {**shown, "duration_us": simulation.duration_us}


def run_report(trace: Trace, *, redacted: bool) -> dict[str, Any]:
    """One run of the scheduler."""
    zones = Counter(each.selected.availability_zone for each in trace.selections)
    shown: dict[str, Any] = {
        "outcome": trace.outcome.value,
        "verdict": trace.verdict_redacted if redacted else trace.verdict,
        "policy_version": trace.policy_version,
        "host_count": trace.host_count,
        "instance_count": trace.instance_count,
        "placed": len(trace.selections),
        "zones": dict(sorted(zones.items())),
        "resources": dict(trace.resources),
        "funnel": _funnel(trace),
        "reasons": _reasons(trace.rounds),
        "nearest": _nearest(trace, redacted=redacted),
    }
    if redacted:
        return shown
    return shown | {
        "seed": trace.seed,
        "notes": list(trace.notes),
        "selections": _selections(trace),
        "refusals": [_group(trace, group) for each in trace.rounds for group in each.refusals],
        "scores": _scores(trace),
    }


def _funnel(trace: Trace) -> list[dict[str, Any]]:
    """Stages of the first instance, which sees the whole fleet; later ones start from what it left."""
    if not trace.rounds:
        return []
    first = trace.rounds[0]
    reasons = {stage.name: _reasons([first], stage.name) for stage in first.stages}
    return [{**asdict(stage), "reasons": reasons[stage.name]} for stage in first.stages]


def _reasons(rounds: Iterable[Round], stage: str | None = None) -> list[dict[str, Any]]:
    counts = reason_counts(tuple(rounds)) if stage is None else _counts_at(rounds, stage)
    return [{"reason": reason.value, "label": reason.label, "hosts": hosts} for reason, hosts in counts.items()]


def _counts_at(rounds: Iterable[Round], stage: str) -> dict[Any, int]:
    counts: Counter[Any] = Counter()
    for each in rounds:
        for group in each.refusals:
            if group.refusal.stage == stage:
                counts[group.refusal.reason] += len(group)
    return dict(counts.most_common())


def _nearest(trace: Trace, *, redacted: bool) -> dict[str, Any] | None:
    if trace.nearest is None:
        return None
    lacks = [asdict(lack) for lack in trace.nearest.lacks]
    return {"lacks": lacks} if redacted else {"host": trace.nearest.host, "lacks": lacks}


def _selections(trace: Trace) -> list[dict[str, Any]]:
    return [
        {"selected": asdict(each.selected), "alternates": [asdict(one) for one in each.alternates]}
        for each in trace.selections
    ]


def _group(trace: Trace, group: RefusalGroup) -> dict[str, Any]:
    """Hosts refused for one reason: how many, the first of them by name, and the refusal of the first."""
    names = [trace.hosts[row] for row in group.rows[:HOSTS_NAMED].tolist()]
    return {"hosts": len(group), "named": names, "first": refusal_report(group.refusal_at(0))}


def _scores(trace: Trace) -> list[dict[str, Any]]:
    """The best of the first round, with what each weigher added."""
    ranking = trace.rounds[0].ranking if trace.rounds else None
    if ranking is None:
        return []
    best: list[int] = ranking.order[:RANKED_SHOWN].tolist()
    weighted = {weigher.name: weigher.weighted() for weigher in ranking.weighers}
    return [
        {
            "host": trace.hosts[int(ranking.rows[at])],
            "rank": rank,
            "score": float(ranking.scores[at]),
            "weighers": {name: float(column[at]) for name, column in weighted.items()},
        }
        for rank, at in enumerate(best, 1)
    ]
