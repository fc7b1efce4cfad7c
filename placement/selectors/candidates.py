"""Candidate search on this process's snapshot of the fleet: for the HTTP API and, in-process, for the scheduler."""

from placement.candidates import (
    CandidateAnswer,
    CandidateQuery,
    ProviderFacts,
    Refusals,
    RequestGroup,
    SearchOptions,
    candidates_find,
)
from placement.candidates import providers_matching as matching_find
from placement.selectors.snapshot import ProviderSnapshot, provider_snapshot

_DEFAULTS = SearchOptions()


def candidate_search(
    query: CandidateQuery, options: SearchOptions = _DEFAULTS, *, snapshot: ProviderSnapshot | None = None
) -> CandidateAnswer:
    """What can serve the query, as of now: candidates up to the limit, and the providers of their trees."""
    return (snapshot or provider_snapshot()).read(lambda columns: candidates_find(columns, query, options))


def candidate_refusals(query: CandidateQuery, *, snapshot: ProviderSnapshot | None = None) -> Refusals:
    """Why trees are no candidates, as of now: {root provider: the first rule that its tree broke}.

    Trees that are candidates are left out. `of(provider)` takes any provider of a tree.
    """
    return (snapshot or provider_snapshot()).read(lambda columns: Refusals(columns, query))


def providers_matching(group: RequestGroup, *, snapshot: ProviderSnapshot | None = None) -> tuple[ProviderFacts, ...]:
    """The providers that by themselves meet the group, as of now, in the order in which they were made."""
    return (snapshot or provider_snapshot()).read(lambda columns: matching_find(columns, group))
