"""A trace without the names of its hosts and without times, which are kept apart.

Two runs that decide alike have the same content, and so the same digest. Names are the same for all decisions about
the same hosts, and are stored once for all of them.
"""

from dataclasses import replace
from typing import Any

from scheduling.domain.neighbours import MAX_INSTANCES, MAX_IO_OPS
from scheduling.domain.trace.codec import trace_to_dict
from scheduling.domain.trace.names import names_to_runs
from scheduling.domain.trace.trace import InstanceSelection, Round, Stage, Trace, TraceSelection

_LATER_LIMITS = frozenset({MAX_INSTANCES, MAX_IO_OPS})


def trace_content(trace: Trace) -> dict[str, Any]:
    """Plain JSON values. With names (as `names_of` gave them) `trace_from_dict` reads it, without times."""
    return trace_to_dict(replace(trace, hosts=(), nodes=()), with_times=False)


def names_of(hosts: tuple[str, ...], nodes: tuple[str, ...]) -> dict[str, Any]:
    """Names of hosts and nodes as traces are written: the same for all decisions about the same hosts."""
    return {"hosts": names_to_runs(hosts), "nodes": None if nodes == hosts else names_to_runs(nodes)}


def with_limits_known(trace: Trace, stored: Trace) -> Trace:
    """The trace without the limits that its filters give since a later release than the one that stored the other."""
    known = {name for each in stored.selections for one in (each.selected, *each.alternates) for name in one.limits}
    later = _LATER_LIMITS - known

    def without(one: TraceSelection) -> TraceSelection:
        return replace(one, limits={name: limit for name, limit in one.limits.items() if name not in later})

    selections = tuple(
        InstanceSelection(each.instance_uuid, without(each.selected), tuple(map(without, each.alternates)))
        for each in trace.selections
    )
    return replace(trace, selections=selections)


def with_rounds(trace: Trace, rounds: list[Round]) -> Trace:
    """The trace with other rounds, as many as its `all_rounds`."""
    if trace.alternates_round is None:
        return replace(trace, rounds=tuple(rounds))
    return replace(trace, rounds=tuple(rounds[:-1]), alternates_round=rounds[-1])


def times_of(trace: Trace) -> list[list[int]]:
    """Microseconds of the stages of each round, the weighing last."""
    return [[*(stage.micros for stage in each.stages), each.weigh_micros] for each in trace.all_rounds]


def with_times(trace: Trace, times: list[list[int]]) -> Trace:
    """The trace with these times, as `times_of` gave them."""
    timed = []
    for each, micros in zip(trace.all_rounds, times, strict=True):
        stages = tuple(
            Stage(stage.name, stage.hosts_in, stage.hosts_out, spent)
            for stage, spent in zip(each.stages, micros, strict=False)
        )
        timed.append(replace(each, stages=stages, weigh_micros=micros[-1]))
    return with_rounds(trace, timed)
