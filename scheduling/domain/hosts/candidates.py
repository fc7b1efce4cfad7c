"""What Placement's candidate search said about the fleet, as the engine takes it."""

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
    """One look of Placement at the fleet. Compute nodes are named by their uuid as text.

    `refused` are those without a candidate, and `refusals` knows why (keys are uuids; the words are made when somebody
    asks). `spread` are nodes whose own inventories do not tell all: their provider has children, or others share with
    it. `fleet` is what was looked at: what a spread node would give is found there once it is chosen. `scope`: the
    only node that was judged; None: all.
    """

    query: CandidateQuery
    refused: frozenset[str]
    refusals: Mapping[UUID, Refusal]
    spread: frozenset[str]
    fleet: FleetView
    scope: str | None = None
