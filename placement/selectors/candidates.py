"""Candidate search on this process's snapshot of the fleet: for the HTTP API and, in-process, for the scheduler."""

from collections.abc import Collection
from uuid import UUID

from controlplane.kernel.reasons import Refusal
from placement.candidates import (
    CandidateAnswer,
    CandidateQuery,
    ProviderFacts,
    RequestGroup,
    SearchOptions,
    candidates_find,
)
from placement.candidates import candidate_refusals as refusals_find
from placement.candidates import providers_matching as matching_find
from placement.selectors.snapshot import FleetSnapshot, fleet_snapshot

_DEFAULTS = SearchOptions()


def candidate_search(
    query: CandidateQuery, options: SearchOptions = _DEFAULTS, *, snapshot: FleetSnapshot | None = None
) -> CandidateAnswer:
    """What can serve the query, as of now: candidates up to the limit, and the providers of their trees."""
    return (snapshot or fleet_snapshot()).read(lambda columns: candidates_find(columns, query, options))


def candidate_refusals(
    query: CandidateQuery, providers: Collection[UUID] | None = None, *, snapshot: FleetSnapshot | None = None
) -> dict[UUID, Refusal]:
    """Why trees are no candidates, as of now: {provider: the first rule that its tree broke}.

    Without `providers`, every root whose tree is no candidate is there. Named ones are judged by the tree that they
    belong to, and are left out where that is a candidate.
    """
    return (snapshot or fleet_snapshot()).read(lambda columns: refusals_find(columns, query).named(providers))


def providers_matching(group: RequestGroup, *, snapshot: FleetSnapshot | None = None) -> tuple[ProviderFacts, ...]:
    """The providers that by themselves meet the group, as of now, in the order in which they were made."""
    return (snapshot or fleet_snapshot()).read(lambda columns: matching_find(columns, group))
