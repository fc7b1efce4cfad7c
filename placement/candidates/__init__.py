"""Candidate search over columns: pure, no Django. It proposes; only the claim decides."""

from placement.candidates.columns import FleetColumns, ProviderFacts, columns_of
from placement.candidates.explain import refusal_of
from placement.candidates.query import CandidateQuery
from placement.candidates.search import CandidateResult, candidates_find

__all__ = [
    "CandidateQuery",
    "CandidateResult",
    "FleetColumns",
    "ProviderFacts",
    "candidates_find",
    "columns_of",
    "refusal_of",
]
