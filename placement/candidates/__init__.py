"""The candidate search over columns: pure code, without Django. It proposes candidates; only the claim decides."""

from placement.candidates.columns import FleetColumns, columns_of
from placement.candidates.explain import Refusals, candidate_refusals, refusal_of
from placement.candidates.facts import ProviderFacts
from placement.candidates.query import (
    AllocationCandidate,
    CandidateAnswer,
    CandidateQuery,
    Instead,
    RequestGroup,
    SearchOptions,
    Strategy,
    SymmetryMode,
)
from placement.candidates.search import candidates_find, providers_matching

__all__ = [
    "AllocationCandidate",
    "CandidateAnswer",
    "CandidateQuery",
    "FleetColumns",
    "Instead",
    "ProviderFacts",
    "Refusals",
    "RequestGroup",
    "SearchOptions",
    "Strategy",
    "SymmetryMode",
    "candidate_refusals",
    "candidates_find",
    "columns_of",
    "providers_matching",
    "refusal_of",
]
