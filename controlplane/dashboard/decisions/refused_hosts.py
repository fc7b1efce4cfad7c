"""The refused hosts of a decision, by stage and reason, filtered, written out only as far as a page shows them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import overload

import numpy as np

from controlplane.kernel.natural import natural_key
from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.columns import BoolArray, IntArray
from scheduling.domain.hosts.host_slice import RefusalGroup
from scheduling.domain.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class RefusedQuery:
    """Which refusals to show: of a stage, for a reason (its code), of hosts or nodes with this in their name."""

    stage: str = ""
    reason: str = ""
    name: str = ""

    @property
    def is_any(self) -> bool:
        """Whether nothing is asked for."""
        return not (self.stage or self.reason or self.name)


@dataclass(frozen=True, slots=True)
class RefusalCount:
    """How many hosts a stage refused for a reason; over all instances of a batch."""

    stage: str
    reason: RefusalReason
    hosts: int


@dataclass(frozen=True, slots=True)
class RefusedHost:
    """One host, with its numbers in a sentence."""

    host: str
    node: str
    sentence: str


@dataclass(frozen=True, slots=True)
class RefusedGroup:
    """Hosts that one stage refused for one reason: those of this page, of `hosts` that were found."""

    rule: RefusalCount
    shown: list[RefusedHost]


_Entry = tuple[int, RefusalGroup, int]


class RefusedHosts(Sequence[_Entry]):
    """The refusals found, rule by rule in the order of the stages, hosts in the order in which people count."""

    def __init__(self, trace: Trace, query: RefusedQuery) -> None:
        self._trace = trace
        self.counts = rule_counts(trace)
        self._rules = {(one.stage, one.reason): at for at, one in enumerate(self.counts)}
        found = [_matching(group, mask) for group, mask in _groups(trace, query)]
        self._groups = [group for group, _ in found]
        sizes = [len(positions) for _, positions in found]
        self._group_of = np.repeat(np.arange(len(found)), sizes)
        self._position_of = np.concatenate([each for _, each in found]) if found else np.zeros(0, dtype=np.int64)
        rules = np.repeat([self._rules[_rule(group)] for group in self._groups] or [0], sizes or [0])
        rows = np.concatenate([group.rows[at] for group, at in found]) if found else np.zeros(0, dtype=np.int64)
        self._order = np.lexsort((_places(trace)[rows], rules))
        self._found = np.bincount(rules, minlength=len(self.counts))

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> _Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[_Entry]: ...
    def __getitem__(self, index: int | slice) -> _Entry | list[_Entry]:
        if isinstance(index, slice):
            return [self._entry(at) for at in self._order[index].tolist()]
        return self._entry(int(self._order[index]))

    def grouped(self, entries: Sequence[_Entry]) -> list[RefusedGroup]:
        """Some of the entries by rule, each with the number of hosts found of that rule."""
        return [
            RefusedGroup(self._counted(number), [self._host(group, position) for _, group, position in those])
            for number, those in groupby(entries, key=lambda one: one[0])
        ]

    def _entry(self, at: int) -> _Entry:
        group = self._groups[int(self._group_of[at])]
        return self._rules[_rule(group)], group, int(self._position_of[at])

    def _counted(self, number: int) -> RefusalCount:
        rule = self.counts[number]
        return RefusalCount(rule.stage, rule.reason, int(self._found[number]))

    def _host(self, group: RefusalGroup, position: int) -> RefusedHost:
        row = int(group.rows[position])
        return RefusedHost(self._trace.hosts[row], self._trace.nodes[row], group.refusal_at(position).phrase())


def _places(trace: Trace) -> IntArray:
    """By row of the fleet: its place when hosts are sorted as people count, hv-2 before hv-10."""
    places = np.empty(len(trace.hosts), dtype=np.int64)
    places[sorted(range(len(places)), key=lambda row: natural_key(trace.hosts[row]))] = np.arange(len(places))
    return places


def rule_counts(trace: Trace) -> list[RefusalCount]:
    """Hosts by stage and reason: stages in their order, the most frequent reason of each first."""
    stages: dict[str, int] = {}
    counts: dict[tuple[str, RefusalReason], int] = {}
    for each in trace.rounds:
        for stage in each.stages:
            stages.setdefault(stage.name, len(stages))
        for group in each.refusals:
            counts[_rule(group)] = counts.get(_rule(group), 0) + len(group)
    found = [RefusalCount(stage, reason, hosts) for (stage, reason), hosts in counts.items() if hosts]
    return sorted(found, key=lambda one: (stages.get(one.stage, len(stages)), -one.hosts, one.reason.value))


def _groups(trace: Trace, query: RefusedQuery) -> list[tuple[RefusalGroup, BoolArray | None]]:
    mask = _named(trace, query.name) if query.name else None
    return [
        (group, mask)
        for each in trace.rounds
        for group in each.refusals
        if query.stage in ("", group.refusal.stage) and query.reason in ("", group.refusal.reason.value)
    ]


def _matching(
    group: RefusalGroup, mask: BoolArray | None
) -> tuple[RefusalGroup, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    positions = np.arange(len(group), dtype=np.int64)
    return group, positions if mask is None else positions[mask[group.rows]]


def _named(trace: Trace, name: str) -> BoolArray:
    wanted = name.lower()
    names = zip(trace.hosts, trace.nodes, strict=True)
    return np.array([wanted in host.lower() or wanted in node.lower() for host, node in names], dtype=np.bool_)


def _rule(group: RefusalGroup) -> tuple[str, RefusalReason]:
    return group.refusal.stage, group.refusal.reason
