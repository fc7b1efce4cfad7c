"""The request for candidates and the answer to it. The rules are those of Placement's allocation candidates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple
from uuid import UUID

from placement.candidates.facts import ProviderFacts

ISOLATE = "isolate"


@dataclass(frozen=True, slots=True)
class RequestGroup:
    """Resources that belong together, and what their providers must be.

    The un-suffixed group (suffix "") may take each class from another provider of one tree, or from one that shares
    with it; its required traits are met by its providers together. A suffixed group takes all from one provider.
    Each set in `required` and `member_of` names alternatives; all sets must be met. `in_tree`: only providers of the
    tree which that provider belongs to. Without resources, a group only names a provider for `same_subtree`.
    """

    suffix: str = ""
    resources: Mapping[str, int] = field(default_factory=dict)
    required: tuple[frozenset[str], ...] = ()
    forbidden: frozenset[str] = frozenset()
    member_of: tuple[frozenset[UUID], ...] = ()
    forbidden_aggregates: frozenset[UUID] = frozenset()
    in_tree: UUID | None = None


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """All groups of a request and what holds for them together.

    `group_policy` "isolate": no two suffixed groups on one provider. `same_subtree`: of the providers of the named
    groups, one is the others' ancestor. `root_required`, `root_forbidden`: traits of the root of the tree. `nested`
    False leaves out what takes from two providers of one tree, for clients that know no trees (before 1.29).
    `instead` is another query for some of the trees; of those this one is not asked.
    """

    groups: tuple[RequestGroup, ...]
    group_policy: str | None = None
    same_subtree: tuple[frozenset[str], ...] = ()
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    limit: int | None = None
    nested: bool = True
    instead: "Instead | None" = None


@dataclass(frozen=True, slots=True)
class Instead:
    """The query for trees in which nobody, sharing providers included, has an inventory of a class.

    With it one search serves hosts that state a resource by one name or by another: PCPU, or VCPU where no CPU is
    dedicated.
    """

    without: str
    query: CandidateQuery


class SymmetryMode(StrEnum):
    """How children of one provider that do not differ are named: every choice, or one for all."""

    ALL = "all"
    ONE = "one"


class Strategy(StrEnum):
    """The order of candidates: all of one tree before the next, or one of each tree in turn."""

    DEPTH_FIRST = "depth-first"
    BREADTH_FIRST = "breadth-first"


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How to search: settings of the operator, not requests of the client.

    `max_candidates` ends the search, -1 never does. With a `seed` the order is random, the same for the same seed
    and fleet, and a limit is shared out evenly among the trees.
    """

    symmetry: str = SymmetryMode.ALL
    max_candidates: int = -1
    strategy: str = Strategy.DEPTH_FIRST
    seed: int | None = None


class AllocationCandidate(NamedTuple):
    """What to claim: {provider: {class: amount}}; and {suffix: providers} that serve each group.

    Its parts are shared between candidates, so nobody may change them.
    """

    allocations: Mapping[UUID, Mapping[str, int]]
    mappings: Mapping[str, tuple[UUID, ...]]


@dataclass(frozen=True, slots=True)
class CandidateAnswer:
    """The candidates in order; and every provider of the trees that they take from."""

    candidates: Sequence[AllocationCandidate] = ()
    summaries: Sequence[ProviderFacts] = ()
