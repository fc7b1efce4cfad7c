"""Traces as plain JSON values, small enough to store each one: what can be computed again is not written.

Scores, normalised values and the order follow from raw values and multipliers; the survivors of a stage follow
from the refusals. A shuffled or subset choice is stored as the head of the order.
"""

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.columns import FloatArray, IntArray
from scheduling.domain.hosts.host_slice import RefusalGroup
from scheduling.domain.trace.columns import column_from_json, column_to_json, rows_from_json, rows_to_json
from scheduling.domain.trace.names import names_from_runs, names_to_runs
from scheduling.domain.trace.trace import (
    InstanceSelection,
    Lack,
    Nearest,
    Outcome,
    Round,
    Stage,
    Trace,
    TraceSelection,
)
from scheduling.domain.trace.weighing import Ranking, WeigherColumn, best_first, score

FORMAT = 1
# A column is written as its changes when fewer than one row in four differs.
_SPARSE = 4
_SAME: dict[str, Any] = {"changed": [], "to": []}
_CHOSEN = tuple(each.name for each in fields(TraceSelection) if each.name != "allocations")


def trace_to_dict(trace: Trace, *, with_times: bool = True) -> dict[str, Any]:
    """Plain JSON values; `trace_from_dict` gives an equal trace, scores equal to the bit. Without times they are 0."""
    rounds: list[Any] = []
    before: Ranking | None = None
    for each in trace.rounds:
        rounds.append(_round_to_dict(each, before, with_times))
        before = each.ranking
    extra = trace.alternates_round
    return {
        "format": FORMAT,
        "request_id": trace.request_id,
        "policy_version": trace.policy_version,
        "seed": trace.seed,
        "outcome": trace.outcome.value,
        "instance_count": trace.instance_count,
        "hosts": names_to_runs(trace.hosts),
        "nodes": None if trace.nodes == trace.hosts else names_to_runs(trace.nodes),
        "resources": dict(trace.resources),
        "rounds": rounds,
        "alternates_round": None if extra is None else _round_to_dict(extra, before, with_times),
        "selections": [_selection_to_dict(each) for each in trace.selections],
        "nearest": None if trace.nearest is None else asdict(trace.nearest),
        "notes": list(trace.notes),
        "verdict": trace.verdict,
        "verdict_redacted": trace.verdict_redacted,
    }


def trace_from_dict(data: Mapping[str, Any]) -> Trace:
    """The inverse of `trace_to_dict`. Raises ValueError for a format it does not know."""
    if data.get("format") != FORMAT:
        raise ValueError(f"unknown trace format {data.get('format')!r}")
    hosts = names_from_runs(data["hosts"])
    rows: IntArray = np.arange(len(hosts), dtype=np.int64)
    rounds, rows, before = _rounds_from(data["rounds"], rows)
    extra, nearest = data["alternates_round"], data["nearest"]
    return Trace(
        request_id=data["request_id"],
        policy_version=data["policy_version"],
        seed=data["seed"],
        outcome=Outcome(data["outcome"]),
        instance_count=data["instance_count"],
        hosts=hosts,
        nodes=hosts if data["nodes"] is None else names_from_runs(data["nodes"]),
        resources=data["resources"],
        rounds=rounds,
        alternates_round=None if extra is None else _round_from_dict(extra, rows, before),
        selections=tuple(
            InstanceSelection(
                each["instance"],
                TraceSelection(**each["selected"]),
                tuple(TraceSelection(**alternate) for alternate in each["alternates"]),
            )
            for each in data["selections"]
        ),
        nearest=None if nearest is None else Nearest(nearest["host"], tuple(Lack(**each) for each in nearest["lacks"])),
        notes=tuple(data["notes"]),
        verdict=data["verdict"],
        verdict_redacted=data["verdict_redacted"],
    )


def _rounds_from(items: list[Any], rows: IntArray) -> tuple[tuple[Round, ...], IntArray, Ranking | None]:
    rounds: list[Round] = []
    before: Ranking | None = None
    for item in items:
        each = _round_from_dict(item, rows, before)
        rounds.append(each)
        before = each.ranking
        rows = rows[:0] if before is None else before.rows
    return tuple(rounds), rows, before


def _round_to_dict(each: Round, before: Ranking | None, with_times: bool) -> dict[str, Any]:
    return {
        "instance": each.instance_uuid,
        "stages": [
            [stage.name, stage.hosts_in, stage.hosts_out, stage.micros if with_times else 0] for stage in each.stages
        ],
        "refusals": [_group_to_dict(group) for group in each.refusals],
        "ranking": None if each.ranking is None else _ranking_to_dict(each.ranking, before),
        "weigh_micros": each.weigh_micros if with_times else 0,
    }


def _round_from_dict(data: Mapping[str, Any], rows: IntArray, before: Ranking | None) -> Round:
    groups = tuple(_group_from_dict(group) for group in data["refusals"])
    left = np.setdiff1d(rows, np.concatenate([group.rows for group in groups])) if groups else rows
    ranking = data["ranking"]
    return Round(
        instance_uuid=data["instance"],
        stages=tuple(Stage(*stage) for stage in data["stages"]),
        refusals=groups,
        ranking=None if ranking is None else _ranking_from_dict(ranking, left, before),
        weigh_micros=data["weigh_micros"],
    )


def _group_to_dict(group: RefusalGroup) -> dict[str, Any]:
    refusal = group.refusal
    data: dict[str, Any] = {"stage": refusal.stage, "reason": refusal.reason.value, "hosts": rows_to_json(group.rows)}
    for name in ("wanted", "unit", "detail", "available", "total", "ratio"):
        column = getattr(group, name, None)
        value = getattr(refusal, name) if column is None else _folded(column_to_json(column))
        if value not in (None, ""):
            data[name] = value
    return data


def _folded(column: dict[str, Any]) -> Any:
    """The value itself where all rows have the same."""
    return column.get("all", column)


def _group_from_dict(data: Mapping[str, Any]) -> RefusalGroup:
    columns = {name: column_from_json(value) for name, value in data.items() if isinstance(value, dict)}
    scalars = {name: value for name, value in data.items() if name not in columns and name not in ("hosts", "reason")}
    refusal = Refusal(RefusalReason(data["reason"]), **scalars)
    return RefusalGroup(refusal, rows_from_json(data["hosts"]), **columns)


def _ranking_to_dict(ranking: Ranking, before: Ranking | None) -> dict[str, Any]:
    weighers = [
        {
            "name": each.name,
            "raw": _raw_to_json(each, last, len(ranking.rows)),
            "multiplier": multiplier_to_json(each.multiplier),
            "bounds": [each.floor, each.ceiling],
        }
        for each, last in zip(ranking.weighers, _previous(before, ranking.rows, len(ranking.weighers)), strict=True)
    ]
    return {"weighers": weighers, "head": ranking.head().tolist()}


def _previous(before: Ranking | None, rows: IntArray, count: int) -> list[WeigherColumn | None]:
    """What each of so many weighers said of these hosts a round earlier; None for one that said nothing.

    Where nobody left, they are the very columns of that round: most rounds of a large batch.
    """
    if before is None:
        return [None] * count
    columns: list[WeigherColumn | None] = [*before.weighers[:count]]
    if before.rows is not rows:
        at = np.searchsorted(before.rows, rows)
        columns = [None if each is None else each.taken(at) for each in columns]
    return columns + [None] * (count - len(columns))


def _raw_to_json(column: WeigherColumn, before: WeigherColumn | None, rows: int) -> dict[str, Any]:
    """What changed since the round before, if that is less: a batch of ten takes a fifth less room, 40 % less CPU.

    Raw values are finite, so a column that is the very one of the round before has no change.
    """
    if before is not None:
        if before is column and rows:
            return _SAME
        changed, to = column.changes(before)
        if len(changed) * _SPARSE < rows:
            return {"changed": changed.tolist(), "to": to.tolist()}
    return column_to_json(column.raw)


def _raw_from_json(data: dict[str, Any], before: WeigherColumn | None) -> FloatArray:
    if "changed" not in data:
        return column_from_json(data)
    if before is None:
        raise ValueError("a changed column without the one before it")
    column = before.raw.copy()
    column[data["changed"]] = data["to"]
    return column


def multiplier_to_json(multiplier: float | FloatArray) -> Any:
    """A number; a column where it differs by host."""
    return _folded(column_to_json(multiplier)) if isinstance(multiplier, np.ndarray) else float(multiplier)


def multiplier_from_json(data: Any) -> float | FloatArray:
    """The inverse of `multiplier_to_json`."""
    return column_from_json(data) if isinstance(data, dict) else data


def _ranking_from_dict(data: Mapping[str, Any], rows: IntArray, before: Ranking | None) -> Ranking:
    weighers = tuple(
        WeigherColumn(
            item["name"],
            _raw_from_json(item["raw"], last),
            multiplier_from_json(item["multiplier"]),
            *item["bounds"],
        )
        for item, last in zip(data["weighers"], _previous(before, rows, len(data["weighers"])), strict=True)
    )
    scores = score(len(rows), weighers)
    if not data["head"]:
        return Ranking(rows, scores, weighers=weighers)
    head, order = np.array(data["head"], dtype=np.int64), best_first(scores)
    order = np.concatenate([head, order[~np.isin(order, head)]])
    return Ranking(rows, scores, order, weighers)


def _selection_to_dict(each: InstanceSelection) -> dict[str, Any]:
    return {
        "instance": each.instance_uuid,
        "selected": _chosen_to_dict(each.selected),
        "alternates": [_chosen_to_dict(alternate) for alternate in each.alternates],
    }


def _chosen_to_dict(chosen: TraceSelection) -> dict[str, Any]:
    data = {name: getattr(chosen, name) for name in _CHOSEN}
    data["limits"] = dict(chosen.limits)
    if chosen.allocations:
        data["allocations"] = {provider: dict(amounts) for provider, amounts in chosen.allocations.items()}
    return data
