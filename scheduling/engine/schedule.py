"""Nova's filter scheduler as one pure function: it takes a snapshot and a request, and gives a plan with reasons."""

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from controlplane.kernel.reasons import Refusal
from scheduling.domain.columns import FloatArray, IntArray
from scheduling.domain.hosts.candidates import CandidateSet
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.hosts.topologies import consume_topology
from scheduling.domain.hosts.topology_needs import filters_wanted
from scheduling.domain.policy import Policy
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.domain.request.resources import PCPU, ResourceRequest, resource_request
from scheduling.domain.request.schedule_request import GroupSnapshot, ScheduleRequest
from scheduling.domain.schedule_call import ScheduleCall
from scheduling.domain.trace.trace import InstanceSelection, Outcome, Round, Stage, Trace, TraceSelection
from scheduling.domain.trace.verdict import failure_verdict, own_words_of, success_verdict
from scheduling.domain.trace.weighing import Ranking
from scheduling.engine.candidates import Candidates
from scheduling.engine.placement import nearest, refuse_unfit
from scheduling.engine.plugin_answers import filter_answer
from scheduling.engine.rank import Ranker
from scheduling.engine.targets import refuse_untargeted
from scheduling.filters.base import Filter
from scheduling.filters.registry import filter_get
from scheduling.request_filters import filter_request, refuse_by_request, refuse_lost, surroundings_of
from scheduling.topology.domain.numa.constraint import guest_topology
from scheduling.weighers.registry import multiplier_check, weigher_get

StageRun = tuple[str, Callable[[Hosts], list[RefusalGroup]]]


def schedule(call: ScheduleCall) -> Trace:
    """Choose a host for each instance of the batch, with alternates, and say why not the others.

    Equal calls give an equal trace. Raises PluginNotFound, PluginFailed, and Invalid for a request that contradicts
    itself.
    """
    return _Run(call).trace()


def validate_policy(policy: Policy) -> None:
    """Raises PluginNotFound or PluginFailed if a filter or weigher of the policy cannot be had, Invalid for a
    multiplier that its weigher does not allow.
    """
    for name in policy.filters:
        filter_get(name)
    for setting in policy.weighers:
        multiplier_check(setting.name, setting.multiplier)


def refusals_by_stage(
    snapshot: HostTable, request: ScheduleRequest, policy: Policy, row: int, *, candidates: CandidateSet | None = None
) -> list[Refusal]:
    """What each stage says against one host, asked by itself: not the first refusal alone, as in a trace."""
    return _Run(ScheduleCall(snapshot, request, policy, 0, candidates=candidates)).refusals_of(row)


class _Run:
    """The state of one call: what is left of the fleet after each instance of the batch."""

    def __init__(self, call: ScheduleCall) -> None:
        self.table = snapshot = call.table
        self.rows: IntArray = np.arange(len(snapshot), dtype=np.int64)
        self.filtered = filter_request(call.request, surroundings_of(snapshot, call.policy))
        self.request = request = self.filtered.request
        self.policy = policy = call.policy
        self.seed = call.seed
        self.candidates = None if call.candidates is None else Candidates(snapshot, call.candidates)
        self.claims_lost = call.claims_lost
        self.stopwatch = call.stopwatch
        self.rng = random.Random(call.seed)  # noqa: S311 - a repeatable choice among equals, no secret
        self.resources = resource_request(request)
        guest_topology(request.flavor, request.image)  # a contradiction is the request's fault, no filter's
        self.filters = [filter_get(name) for name in filters_wanted(policy.filters, request)]
        weighers = [(weigher_get(each.name), each.multiplier) for each in policy.weighers]
        self.ranker = Ranker(weighers, policy, self.rng)
        self.notes: dict[str, None] = dict.fromkeys((*self.resources.notes, *self.filtered.notes))
        self.group = _with_members(request)
        self.rounds: list[Round] = []
        self.states: dict[int, HostState] = {}
        self.limits: dict[str, FloatArray] = {}
        self.chosen: list[tuple[int, TraceSelection]] = []

    def trace(self) -> Trace:
        """Run all instances, then find alternates."""
        for index in range(len(self.request.instance_uuids)):
            if not self._place(index):
                break
        if len(self.chosen) < self.request.min_instances:
            return self._failure()
        return self._success()

    def refusals_of(self, row: int) -> list[Refusal]:
        """The refusal of this row by each stage of the first instance."""
        only = np.array([row], dtype=np.int64)
        return [
            group.refusal_at(0)
            for name, refuse in self._stages(self._spec(0))
            for group in refuse(Hosts(self.table, only, name, self.states, self.limits))
        ]

    def _place(self, index: int) -> bool:
        each = self._round(index)
        self.rounds.append(each)
        if each.ranking is None:
            return False
        best = int(each.ranking.leaders(1)[0])
        row = int(each.ranking.rows[best])
        self.chosen.append((row, self._selection(each.ranking, best, 1)))
        self._consume(row, self.request.instance_uuids[index])
        return True

    def _round(self, index: int) -> Round:
        spec = self._spec(index)
        for state in self.states.values():
            state.limits = {}
        hosts = Hosts(self.table, self.rows, "", self.states, self.limits)
        hosts, stages, refusals = self._refuse(hosts, self._stages(spec))
        self.rows = hosts.rows
        start = self.stopwatch()
        ranking = self.ranker.rank(hosts, spec) if len(hosts) else None
        spent = self.stopwatch() - start
        return Round(spec.instance_uuid, stages, refusals, ranking, spent)

    def _spec(self, index: int) -> RequestSpecView:
        # Past the batch (the ranking for alternates) the last instance stands for all.
        return RequestSpecView(
            self.request,
            self.resources,
            self.policy.options,
            self.notes,
            index=min(index, len(self.request.instance_uuids) - 1),
            group=self.group,
        )

    def _refuse(
        self, hosts: Hosts, runs: Iterator[StageRun]
    ) -> tuple[Hosts, tuple[Stage, ...], tuple[RefusalGroup, ...]]:
        """Ask stage after stage until no host is left: each host leaves with its first refusal."""
        stages: list[Stage] = []
        refusals: list[RefusalGroup] = []
        for name, refuse in runs:
            if not len(hosts):
                break
            start = self.stopwatch()
            refused = refuse(Hosts(hosts.table, hosts.rows, name, hosts.states, hosts.limits))
            left = hosts.without(refused)
            stages.append(Stage(name, len(hosts), len(left), self.stopwatch() - start))
            refusals += refused
            hosts = left
        return hosts, tuple(stages), tuple(refusals)

    def _stages(self, spec: RequestSpecView) -> Iterator[StageRun]:
        """The stages of an instance. After the first, only room and filters whose answer can change are asked."""
        if not self.rounds:
            if self.claims_lost:
                yield "claim", partial(refuse_lost, self.claims_lost)
            if not self.request.is_rebuild:
                yield "request_filters", partial(refuse_by_request, spec, self.filtered.additions)
        if not self.request.is_rebuild:
            judge = refuse_unfit if self.candidates is None else self.candidates.refuse
            yield "placement", partial(judge, spec)
        if not self.rounds:
            yield "target", partial(refuse_untargeted, spec)
        for each in self._filters():
            ask = partial(filter_answer, each, spec)
            yield each.name, partial(_ask_placed, ask) if self.rounds and each.judges_hosts_alone else ask

    def _filters(self) -> list[Filter]:
        if self.request.is_forced:
            return []
        filters = [each for each in self.filters if each.RUN_ON_REBUILD] if self.request.is_rebuild else self.filters
        return [each for each in filters if not (self.rounds and each.run_filter_once_per_request)]

    def _consume(self, row: int, instance_uuid: str) -> None:
        if self.request.is_rebuild:
            return
        amounts = self._needs(row).amounts
        if self.candidates is not None:
            amounts = self.candidates.take(self.table.uuids[row], amounts)
        self.table = self.table.consume(row, flavor=self.request.flavor, amounts=amounts, instance_uuid=instance_uuid)
        pack = self.policy.options.packing_host_numa_cells_allocation_strategy
        self.table = consume_topology(self.table, row, self.request, pack=pack)
        self.states.pop(row, None)
        if self.group is not None:
            host = self.table.hosts[row]
            hosts = self.group.hosts if host in self.group.hosts else (*self.group.hosts, host)
            self.group = replace(self.group, hosts=hosts)

    def _success(self) -> Trace:
        extra, selections = self._with_alternates()
        words = partial(
            success_verdict,
            host_count=len(self.table),
            selections=selections,
            instance_count=len(self.request.instance_uuids),
        )
        trace = self._trace(Outcome.SELECTED, words(redacted=False), words(redacted=True))
        return replace(trace, selections=selections, alternates_round=extra)

    def _failure(self) -> Trace:
        rounds = tuple(self.rounds)
        is_spread = None if self.candidates is None else self.candidates.is_spread
        close = nearest(self.table, self.resources, rounds, is_spread)
        words = partial(
            failure_verdict,
            host_count=len(self.table),
            rounds=rounds,
            instance_count=len(self.request.instance_uuids),
            nearest=close,
            own_words=own_words_of(self.request),
        )
        trace = self._trace(Outcome.NO_VALID_HOST, words(redacted=False), words(redacted=True))
        return replace(trace, nearest=close)

    def _trace(self, outcome: Outcome, verdict: str, verdict_redacted: str) -> Trace:
        return Trace(
            request_id=self.request.request_id,
            policy_version=self.policy.version,
            seed=self.seed,
            outcome=outcome,
            instance_count=len(self.request.instance_uuids),
            hosts=self.table.hosts,
            nodes=self.table.nodes,
            resources=dict(self.resources.amounts),
            rounds=tuple(self.rounds),
            selections=(),
            verdict=verdict,
            verdict_redacted=verdict_redacted,
            notes=tuple(self.notes),
        )

    def _with_alternates(self) -> tuple[Round | None, tuple[InstanceSelection, ...]]:
        extra, ranking = self._alternates_ranking()
        taken = {row for row, _ in self.chosen}
        by_cell: dict[int, tuple[TraceSelection, ...]] = {}
        selections: list[InstanceSelection] = []
        for (row, selected), uuid in zip(self.chosen, self.request.instance_uuids, strict=False):
            cell = int(self.table.cells.codes[row])
            if cell not in by_cell:
                by_cell[cell] = self._alternates(ranking, cell, taken)
            selections.append(InstanceSelection(uuid, selected, by_cell[cell]))
        return extra, tuple(selections)

    def _alternates_ranking(self) -> tuple[Round | None, Ranking | None]:
        """The first ranking for a single instance; for a batch one more, after all of it was placed."""
        if not self.request.num_alternates:
            return None, None
        if len(self.rounds) == 1:
            return None, self.rounds[0].ranking
        extra = replace(self._round(len(self.chosen)), instance_uuid="")
        return extra, extra.ranking

    def _alternates(self, ranking: Ranking | None, cell: int, taken: set[int]) -> tuple[TraceSelection, ...]:
        """The next best hosts of the same cell that no instance of the batch was given."""
        if ranking is None:
            return ()
        found: list[TraceSelection] = []
        for place, position in enumerate(_from_best(ranking, self.request.num_alternates + len(taken)), 1):
            row = int(ranking.rows[position])
            if row not in taken and self.table.cells.codes[row] == cell:
                found.append(self._selection(ranking, position, place))
                if len(found) == self.request.num_alternates:
                    break
        return tuple(found)

    def _selection(self, ranking: Ranking, position: int, place: int) -> TraceSelection:
        row = int(ranking.rows[position])
        return TraceSelection(
            host=self.table.hosts[row],
            nodename=self.table.nodes[row],
            compute_node_uuid=self.table.uuids[row],
            cell_uuid=self.table.cells[row],
            availability_zone=self.table.zones[row] or self.policy.options.default_availability_zone,
            score=float(ranking.scores[position]),
            rank=place,
            limits=self._limits(row),
            allocations=self._allocations(row),
        )

    def _allocations(self, row: int) -> dict[str, dict[str, int]]:
        """The amounts by provider; empty where they are just the request's amounts on the host's own provider."""
        node = self.table.uuids[row]
        found = self.candidates.allocations(node) if self.candidates else {}
        if found:
            return {str(provider): dict(classes) for provider, classes in found.items()}
        needs = self._needs(row)
        return {} if needs is self.resources else {node: dict(needs.amounts)}

    def _needs(self, row: int) -> ResourceRequest:
        """What the request is on this host: dedicated CPUs are PCPU where it offers some, else VCPU."""
        return self.resources.on(has_pcpu=bool(self.table.inventory(PCPU).total[row] > 0))

    def _limits(self, row: int) -> dict[str, Any]:
        """The limits that filters give the host: from columns, and what per-host filters wrote into its state."""
        columns = {name: float(column[row]) for name, column in self.limits.items()}
        limits: dict[str, Any] = {name: limit for name, limit in columns.items() if not math.isnan(limit)}
        return {**limits, **self.states[row].limits} if row in self.states else limits


def _ask_placed(ask: Callable[[Hosts], list[RefusalGroup]], hosts: Hosts) -> list[RefusalGroup]:
    """Ask only about the host that the instance before went to: of all others the answer is the same as then."""
    changed = hosts.only(hosts.table.last_placed())
    return ask(changed) if len(changed) else []


def _from_best(ranking: Ranking, likely: int) -> Iterator[int]:
    """Positions from the best on; more than the `likely` ones are put in order only if they are asked for."""
    first = ranking.leaders(likely).tolist()
    yield from first
    yield from ranking.order[len(first) :].tolist()


def _with_members(request: ScheduleRequest) -> GroupSnapshot | None:
    """The group with the instances of this batch among its members."""
    if request.group is None:
        return None
    members = dict.fromkeys((*request.group.members, *request.instance_uuids))
    return replace(request.group, members=tuple(members))
