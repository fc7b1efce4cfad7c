"""The names that a candidate query speaks of."""

from collections.abc import Collection, Iterable
from itertools import chain

from placement.candidates.query import CandidateQuery


def classes_asked(query: CandidateQuery) -> frozenset[str]:
    """Every resource class that the query names."""
    return frozenset(chain.from_iterable(group.resources for group in query.groups))


def traits_asked(query: CandidateQuery) -> frozenset[str]:
    """Every trait that the query names, required or forbidden."""
    named: Iterable[Collection[str]] = (
        traits for group in query.groups for traits in (*group.required, group.forbidden)
    )
    return frozenset(chain(query.root_required, query.root_forbidden, *named))
