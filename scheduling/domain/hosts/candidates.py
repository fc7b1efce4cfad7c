"""The answer of Placement's candidate search about the fleet, as the engine takes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from controlplane.kernel.reasons import Refusal
from placement.candidates import CandidateQuery
from placement.candidates.columns import FleetView

Amounts = Mapping[UUID, Mapping[str, int]]
"""What an instance claims: {provider: {class: amount}}."""


@dataclass(frozen=True, slots=True, eq=False)
class CandidateSet:
    """One answer of Placement about the fleet. Compute nodes are named by their uuid as text.

    `refused` are the nodes without a candidate, and `refusals` has the reasons (keys are uuids; the words are made when
    somebody asks). `spread` are nodes whose own inventories are not the whole answer: their provider has children, or
    others share with it. `fleet` is the view that was searched: what a spread node would give is found there once it is
    chosen. `scope` is the only node that was judged; None: all of them.
    """

    query: CandidateQuery
    refused: frozenset[str]
    refusals: Mapping[UUID, Refusal]
    spread: frozenset[str]
    fleet: FleetView
    scope: str | None = None
