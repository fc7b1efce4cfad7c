"""The plan of somebody else's scheduler is checked here: can it be claimed, stored and read? Ours are not checked."""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from controlplane.kernel.texts import phrase as _
from scheduling.decisions.ledger.record import trace_digest
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.request.resources import resource_request
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import Outcome, Round, Trace, TraceSelection
from scheduling.request_filters import filter_request, surroundings_of
from scheduling.topology.domain.numa.constraint import guest_topology


def resources_asked(call: ScheduleCall) -> dict[str, int]:
    """What each instance must claim in all. Raises Invalid for a flavor that contradicts itself, or its image."""
    guest_topology(call.request.flavor, call.request.image)
    filtered = filter_request(call.request, surroundings_of(call.table, call.policy)).request
    return dict(resource_request(filtered).amounts)


def trace_problem(trace: object, call: ScheduleCall, resources: Mapping[str, int]) -> str | None:
    """What is wrong with a plan for this question, in words; None where nothing is. May raise, for worse nonsense."""
    if not isinstance(trace, Trace):
        return _("it answered with a {name}, not with a Trace", name=type(trace).__name__)
    problems = chain(
        _head_problems(trace, call),
        _count_problems(trace, call.request),
        _resource_problems(trace, resources),
        _host_problems(trace, call.table),
        _row_problems(trace, len(call.table)),
    )
    found = next(problems, None)
    if found is None:
        trace_digest(trace)  # what the ledger cannot write is a mistake now, not later
    return found


def _head_problems(trace: Any, call: ScheduleCall) -> Iterator[str]:
    if trace.hosts != call.table.hosts or trace.nodes != call.table.nodes:
        yield _("its trace names other hosts than the table's")
    expected = (trace.request_id, trace.policy_version, trace.seed, trace.instance_count)
    asked = (call.request.request_id, call.policy.version, call.seed, len(call.request.instance_uuids))
    if expected != asked:
        yield _(
            "its trace is the answer to another question: {expected!r}, asked was {asked!r}",
            expected=expected,
            asked=asked,
        )
    if not isinstance(trace.outcome, Outcome):
        yield _("its outcome is {outcome!r}", outcome=trace.outcome)
    if not all(isinstance(text, str) and text for text in (trace.verdict, trace.verdict_redacted)):
        yield _("its trace has no verdict")


def _count_problems(trace: Trace, request: ScheduleRequest) -> Iterator[str]:
    count, maximum = len(trace.selections), len(request.instance_uuids)
    if trace.outcome is not Outcome.SELECTED:
        if count:
            yield _("it chose {count} hosts and says that there is none", count=count)
        return
    if count > maximum:
        yield _("it chose {count} hosts for {maximum} instances", count=count, maximum=maximum)
    if count < request.min_instances:
        yield _(
            "it chose {count} hosts for {maximum} instances, of which {min_instances} need one",
            count=count,
            maximum=maximum,
            min_instances=request.min_instances,
        )
    names = Counter(each.instance_uuid for each in trace.selections)
    if any(number > 1 for number in names.values()) or names.keys() - set(request.instance_uuids):
        yield _("it chose for an instance twice, or for one that was not asked for")


def _resource_problems(trace: Trace, resources: Mapping[str, int]) -> Iterator[str]:
    if dict(trace.resources) != dict(resources):
        yield _(
            "it would claim {resources!r} for each instance instead of {resources_2!r}",
            resources=dict(trace.resources),
            resources_2=dict(resources),
        )
    for one in _chosen(trace):
        given = Counter[str]()
        for classes in one.allocations.values():
            given.update({name: int(amount) for name, amount in classes.items() if amount > 0})
        if one.allocations and dict(given) != dict(resources):
            yield _(
                "on {host} it would claim {given!r} instead of {resources!r}",
                host=one.host,
                given=dict(given),
                resources=dict(resources),
            )


def _host_problems(trace: Trace, table: HostTable) -> Iterator[str]:
    for each in trace.selections:
        yield from _selection_problems(each.selected, table)
        for one in each.alternates:
            yield from _selection_problems(one, table)
            if one.cell_uuid != each.selected.cell_uuid or one.compute_node_uuid == each.selected.compute_node_uuid:
                yield _(
                    "the alternate {host} is in another cell than {selected_host}, or is that host itself",
                    host=one.host,
                    selected_host=each.selected.host,
                )


def _selection_problems(one: Any, table: HostTable) -> Iterator[str]:
    row = table.row_by_uuid.get(one.compute_node_uuid)
    if row is None or (table.hosts[row], table.nodes[row], table.cells[row]) != (one.host, one.nodename, one.cell_uuid):
        yield _(
            "it chose {host!r}, node {nodename!r}, which is not in the table like that",
            host=one.host,
            nodename=one.nodename,
        )
    if not isinstance(one.availability_zone, str) or not math.isfinite(one.score) or one.rank < 1:
        yield _("zone, score or rank of {host} are out of range", host=one.host)
    json.dumps(one.limits, allow_nan=False)


def _row_problems(trace: Trace, count: int) -> Iterator[str]:
    rounds: list[Round] = [*trace.rounds, *([trace.alternates_round] if trace.alternates_round else [])]
    for each in rounds:
        if not all(_are_rows(group.rows, count) for group in each.refusals):
            yield _("it refuses rows that are not in the table, or not in their order")
        ranking = each.ranking
        if ranking is not None and not (_are_rows(ranking.rows, count) and len(ranking.scores) == len(ranking.rows)):
            yield _("it ranks rows that are not in the table, or not in their order")


def _are_rows(rows: Any, count: int) -> bool:
    """Whole numbers below `count`, rising."""
    if not isinstance(rows, np.ndarray) or rows.dtype.kind != "i" or rows.ndim != 1:
        return False
    return not len(rows) or bool(rows[0] >= 0 and rows[-1] < count and (np.diff(rows) > 0).all())


def _chosen(trace: Trace) -> Iterator[TraceSelection]:
    for each in trace.selections:
        yield each.selected
        yield from each.alternates
