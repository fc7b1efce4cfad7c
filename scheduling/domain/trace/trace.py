"""The answer of the scheduler: what was chosen, and for each host why it was not."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.hosts.host_slice import RefusalGroup
from scheduling.domain.trace.weighing import Ranking


class Outcome(StrEnum):
    """How a run of the scheduler ended."""

    SELECTED = "selected"
    NO_VALID_HOST = "no_valid_host"


@dataclass(frozen=True, slots=True)
class Stage:
    """One step that hosts pass: how many came in, how many stayed, how long it took (0 without a stopwatch)."""

    name: str
    hosts_in: int
    hosts_out: int
    micros: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """The choice for one instance of the batch. Later rounds start from the hosts the former ones left."""

    instance_uuid: str
    stages: tuple[Stage, ...]
    refusals: tuple[RefusalGroup, ...]
    ranking: Ranking | None = None
    weigh_micros: int = 0


@dataclass(frozen=True, slots=True)
class TraceSelection:
    """A host to be claimed. `rank` is from 1; `limits` go to the host with the instance.

    `allocations` is {provider: {class: amount}} where that is not just the trace's `resources` of the compute node.
    """

    host: str
    nodename: str
    compute_node_uuid: str
    cell_uuid: str
    availability_zone: str
    score: float = 0.0
    rank: int = 1
    limits: Mapping[str, Any] = field(default_factory=dict)
    allocations: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InstanceSelection:
    """One instance with its host, and hosts to try if that one fails (not claimed, same cell)."""

    instance_uuid: str
    selected: TraceSelection
    alternates: tuple[TraceSelection, ...] = ()


@dataclass(frozen=True, slots=True)
class Lack:
    """How much of one resource class a host lacks."""

    resource_class: str
    amount: int


@dataclass(frozen=True, slots=True)
class Nearest:
    """The host that came closest among those refused for want of room, and all that it lacks."""

    host: str
    lacks: tuple[Lack, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """One run of the scheduler, whole. It is a plan: nothing was claimed.

    `hosts` and `nodes` name the rows of the snapshot. `resources` is what each instance claims in all.
    `alternates_round` is the extra ranking from which alternates of a batch were taken. `verdict` is one sentence for
    operators, `verdict_redacted` the same without host names. `notes` are remarks about settings that were ignored.
    """

    request_id: str
    policy_version: str
    seed: int
    outcome: Outcome
    instance_count: int
    hosts: tuple[str, ...]
    nodes: tuple[str, ...]
    resources: Mapping[str, int]
    rounds: tuple[Round, ...]
    selections: tuple[InstanceSelection, ...]
    verdict: str
    verdict_redacted: str
    alternates_round: Round | None = None
    nearest: Nearest | None = None
    notes: tuple[str, ...] = ()

    @property
    def host_count(self) -> int:
        """The number of hosts (compute nodes) that were considered."""
        return len(self.hosts)

    @property
    def timings_us(self) -> dict[str, int]:
        """Microseconds by stage, summed over the batch; `weigh` is the weighing and choosing."""
        spent: dict[str, int] = {}
        for each in self.all_rounds:
            for stage in each.stages:
                spent[stage.name] = spent.get(stage.name, 0) + stage.micros
            spent["weigh"] = spent.get("weigh", 0) + each.weigh_micros
        return spent

    def reason_counts(self) -> dict[RefusalReason, int]:
        """Hosts refused by each reason, the most frequent first."""
        return reason_counts(self.rounds)

    def refusals(self) -> Iterator[tuple[int, Refusal]]:
        """Every refused row with its first refusal, by stage."""
        for each in self.rounds:
            for group in each.refusals:
                for position, row in enumerate(group.rows.tolist()):
                    yield row, group.refusal_at(position)

    def refusal_of(self, row: int) -> Refusal | None:
        """Why the host of `row` was refused; None if it never was."""
        for each in self.rounds:
            for group in each.refusals:
                position = int(np.searchsorted(group.rows, row))
                if position < len(group) and group.rows[position] == row:
                    return group.refusal_at(position)
        return None

    def rows_named(self, name: str) -> tuple[int, ...]:
        """Rows whose host or node is called `name`, whatever the case."""
        wanted = name.lower()
        names = enumerate(zip(self.hosts, self.nodes, strict=True))
        return tuple(row for row, (host, node) in names if wanted in (host.lower(), node.lower()))

    @property
    def all_rounds(self) -> tuple[Round, ...]:
        """The rounds of the batch, then the one that chose alternates."""
        return self.rounds if self.alternates_round is None else (*self.rounds, self.alternates_round)


def reason_counts(rounds: tuple[Round, ...]) -> dict[RefusalReason, int]:
    """Hosts refused by each reason over these rounds, the most frequent first, equals by code."""
    counts: dict[RefusalReason, int] = {}
    for each in rounds:
        for group in each.refusals:
            reason = group.refusal.reason
            counts[reason] = counts.get(reason, 0) + len(group)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0].value)))
