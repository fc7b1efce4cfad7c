"""A decision as plain values for API and pages: the funnel, reasons by host, scores. Redacted for tenants."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from controlplane.kernel.reasons import Refusal
from scheduling.decisions.selectors.decisions import DecisionContent, decision_content
from scheduling.domain.trace.explanation import Explanation
from scheduling.domain.trace.trace import Round, Trace, reason_counts
from scheduling.domain.trace.weighing import Ranking
from scheduling.models import SchedulingDecision

HOSTS_SHOWN = 1000
RANKED_SHOWN = 100
# What tenants may read of a request: what they asked for themselves, by name, so that a part that is added later stays
# hidden until somebody thought of it. The other parts name hosts, aggregates, networks' devices and what was tried.
REQUEST_FOR_TENANTS = frozenset(
    {
        "request_id",
        "project_id",
        "user_id",
        "instance_uuids",
        "flavor",
        "image",
        "availability_zone",
        "hints",
        "min_count",
        "is_bfv",
        "required_traits",
        "forbidden_traits",
    }
)
GROUP_FOR_TENANTS = frozenset({"uuid", "name", "policy", "rules", "members"})


def decision_report(*, decision: SchedulingDecision, redacted: bool, round_number: int = 1) -> dict[str, Any]:
    """Everything about one decision. `redacted`: counts of reasons, but no host's name, number or score.

    Scores are those of round `round_number` (from 1; one round per instance of the batch), the best RANKED_SHOWN.
    `rows_stored`: hosts of each ranking that are left where a large trace was cut and its fleet is gone, else None.
    """
    content = decision_content(decision=decision)
    trace = content.trace
    report: dict[str, Any] = {
        "request": _request(content, redacted=redacted),
        "reasons": [] if trace is None else _reasons(trace.rounds),
        "rounds": [] if trace is None else [_round(each) for each in trace.rounds],
        "resources": {} if trace is None else dict(trace.resources),
        "nearest": None if trace is None else _nearest(trace, redacted=redacted),
    }
    if redacted:
        return report
    return report | {
        "policy": dict(content.policy),
        "lost_claims": [dict(each) for each in content.lost_claims],
        "notes": [] if trace is None else list(trace.notes),
        "selections": [] if trace is None else _selections(trace),
        "hosts": [] if trace is None else _hosts(trace),
        "scores": None if trace is None else _scores(trace, round_number, content.ranked),
        "rows_stored": content.rows_stored,
    }


def explanation_report(explanation: Explanation) -> dict[str, Any]:
    """The answer to "why not host X?" as plain values."""
    refusal = explanation.refusal
    return {
        "host": explanation.host,
        "result": explanation.result.value,
        "sentence": explanation.sentence,
        "refusal": None if refusal is None else refusal_report(refusal),
        "rank": explanation.rank,
        "ranked": explanation.ranked,
        "score": explanation.score,
        "behind_by": [{"weigher": name, "points": points} for name, points in explanation.behind_by],
    }


def refusal_report(refusal: Refusal) -> dict[str, Any]:
    """One refusal: code, stage, numbers, sentence."""
    return {**asdict(refusal), "reason": refusal.reason.value, "sentence": refusal.phrase()}


def _request(content: DecisionContent, *, redacted: bool) -> dict[str, Any]:
    if not redacted:
        return dict(content.request)
    request = {name: value for name, value in content.request.items() if name in REQUEST_FOR_TENANTS}
    group = content.request.get("group")
    if group:
        group = {name: value for name, value in group.items() if name in GROUP_FOR_TENANTS}
    return {**request, "group": group}


def _reasons(rounds: Iterable[Round]) -> list[dict[str, Any]]:
    counts = reason_counts(tuple(rounds))
    return [{"reason": reason.value, "label": reason.label, "hosts": count} for reason, count in counts.items()]


def _round(each: Round) -> dict[str, Any]:
    return {
        "instance_uuid": each.instance_uuid,
        "stages": [asdict(stage) for stage in each.stages],
        "weigh_micros": each.weigh_micros,
        "reasons": _reasons([each]),
    }


def _nearest(trace: Trace, *, redacted: bool) -> dict[str, Any] | None:
    if trace.nearest is None:
        return None
    lacks = [asdict(lack) for lack in trace.nearest.lacks]
    return {"lacks": lacks} if redacted else {"host": trace.nearest.host, "lacks": lacks}


def _selections(trace: Trace) -> list[dict[str, Any]]:
    return [
        {
            "instance_uuid": each.instance_uuid,
            "selected": asdict(each.selected),
            "alternates": [asdict(alternate) for alternate in each.alternates],
        }
        for each in trace.selections
    ]


def _hosts(trace: Trace) -> list[dict[str, Any]]:
    """Hosts that were refused, with the first refusal of each; the first HOSTS_SHOWN of them."""
    shown: dict[int, dict[str, Any]] = {}
    for row, refusal in trace.refusals():
        if len(shown) >= HOSTS_SHOWN:
            break
        if row not in shown:
            shown[row] = {"host": trace.hosts[row], "node": trace.nodes[row], **refusal_report(refusal)}
    return [shown[row] for row in sorted(shown)]


def _scores(trace: Trace, round_number: int, ranked: tuple[int, ...]) -> dict[str, Any] | None:
    if not 1 <= round_number <= len(trace.rounds):
        return None
    ranking = trace.rounds[round_number - 1].ranking
    if ranking is None:
        return None
    rows = [_score_row(trace, ranking, rank, int(at)) for rank, at in enumerate(ranking.order[:RANKED_SHOWN], 1)]
    count = ranked[round_number - 1] if ranked else len(ranking.rows)
    return {"round": round_number, "ranked": count, "hosts": _with_weighers(ranking, rows)}


def _score_row(trace: Trace, ranking: Ranking, rank: int, at: int) -> dict[str, Any]:
    row = int(ranking.rows[at])
    return {
        "host": trace.hosts[row],
        "node": trace.nodes[row],
        "rank": rank,
        "score": float(ranking.scores[at]),
        "weighers": {},
    }


def _with_weighers(ranking: Ranking, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each weigher's columns are computed once for all hosts, then spread over the rows."""
    for weigher in ranking.weighers:
        normalised, weighted = weigher.normalised(), weigher.weighted()
        for row, at in zip(rows, ranking.order, strict=False):
            multiplier = weigher.multiplier
            row["weighers"][weigher.name] = {
                "raw": float(weigher.raw[at]),
                "normalised": float(normalised[at]),
                "multiplier": float(multiplier if isinstance(multiplier, int | float) else multiplier[at]),
                "weighted": float(weighted[at]),
            }
    return rows
