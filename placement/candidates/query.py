"""What a request asks of a provider."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """One un-suffixed request group for flat providers.

    `member_of`: each set is an alternative of aggregates, all sets must be met. `in_tree`: only providers of the
    tree that this provider belongs to. `limit` cuts the answer in the order of the columns.
    """

    resources: Mapping[str, int] = field(default_factory=dict)
    required_traits: frozenset[str] = frozenset()
    forbidden_traits: frozenset[str] = frozenset()
    member_of: tuple[frozenset[UUID], ...] = ()
    forbidden_aggregates: frozenset[UUID] = frozenset()
    in_tree: UUID | None = None
    limit: int | None = None
