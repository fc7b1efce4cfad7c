"""From a query string to a CandidateQuery, by the rules of the microversion."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from django.http import QueryDict

from controlplane.openstack.faults import bad_request
from placement.candidates.query import CandidateQuery, RequestGroup
from placement.domain import MAX_INT
from placement.openstack.faults import QUERY_BAD_VALUE, QUERY_DUPLICATE_KEY, QUERY_MISSING_VALUE
from placement.openstack.query_values import (
    ANY_TRAITS_SINCE,
    FORBIDDEN_TRAITS_SINCE,
    parse_in_tree,
    parse_member_of,
    parse_required,
    parse_resources,
)

WORD_SUFFIXES_SINCE = 33
SAME_SUBTREE_SINCE = 36
NESTED_SINCE = 29

_KINDS = "resources|required|member_of|in_tree"
_NUMBERED = re.compile(rf"({_KINDS})([1-9][0-9]*)?")
_WORDED = re.compile(rf"({_KINDS})([a-zA-Z0-9_-]{{1,64}})?")
_LIMIT = re.compile(r"[1-9][0-9]*")
_LIMIT_DIGITS = 18

Values = Mapping[str, Sequence[str]]
Subtrees = tuple[frozenset[str], ...]


@dataclass(slots=True)
class _Asked:
    """The values of one group's parameters, each as often as it was sent."""

    resources: Sequence[str] = ()
    required: Sequence[str] = ()
    member_of: Sequence[str] = ()
    in_tree: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class _Wide:
    """What holds for the request as a whole."""

    limit: int | None = None
    group_policy: str | None = None
    root_required: frozenset[str] = frozenset()
    root_forbidden: frozenset[str] = frozenset()
    same_subtree: Subtrees = field(default=())


def parse_candidate_query(query: QueryDict, minor: int) -> CandidateQuery:
    """What is asked. The parameters have passed the schema of their version. Raises Fault 400.

    Whether the classes and traits exist is not checked here.
    """
    values = dict(query.lists())
    wide = _wide(values)
    groups = _groups(values, minor)
    _check_groups(groups, wide.same_subtree, minor)
    if wide.group_policy is None and sum(1 for group in groups if group.suffix) > 1:
        raise bad_request(
            'The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.'
        )
    return CandidateQuery(
        groups=groups,
        group_policy=wide.group_policy,
        same_subtree=wide.same_subtree,
        root_required=wide.root_required,
        root_forbidden=wide.root_forbidden,
        limit=wide.limit,
        nested=minor >= NESTED_SINCE,
    )


def _wide(values: Values) -> _Wide:
    required, forbidden = _root_traits(values.get("root_required", ()))
    policies = values.get("group_policy")
    return _Wide(
        limit=_limit(values.get("limit", ())),
        group_policy=policies[0] if policies else None,
        root_required=required,
        root_forbidden=forbidden,
        same_subtree=tuple(map(_subtree, values.get("same_subtree", ()))),
    )


def _limit(texts: Sequence[str]) -> int | None:
    """The first one counts, as in the original, which judges the last one only."""
    if not texts:
        return None
    if not _LIMIT.fullmatch(texts[0]):
        raise bad_request(f"Invalid query string parameters: {texts[0][:20]!r} is no limit")
    return int(texts[0][:_LIMIT_DIGITS])


def _root_traits(texts: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    if not texts:
        return frozenset(), frozenset()
    if len(texts) > 1:
        raise bad_request("Query parameter 'root_required' may be specified only once.", QUERY_DUPLICATE_KEY)
    # The root knows no alternatives, in whichever version.
    each, forbidden = parse_required(texts, ANY_TRAITS_SINCE - 1)
    required = frozenset(chain.from_iterable(each))
    if required & forbidden:
        names = ", ".join(sorted(required & forbidden))
        raise bad_request(f"Conflicting required and forbidden traits found in root_required: {names}", QUERY_BAD_VALUE)
    return required, forbidden


def _subtree(text: str) -> frozenset[str]:
    suffixes = frozenset(part.strip() for part in text.split(","))
    if "" in suffixes:
        raise bad_request("Empty string (unsuffixed group) can not be specified in `same_subtree`", QUERY_BAD_VALUE)
    return suffixes


def _groups(values: Values, minor: int) -> tuple[RequestGroup, ...]:
    """In the order in which their suffixes come first."""
    pattern = _WORDED if minor >= WORD_SUFFIXES_SINCE else _NUMBERED
    asked: dict[str, _Asked] = {}
    for key, texts in values.items():
        match = pattern.fullmatch(key)
        if match:
            setattr(asked.setdefault(match[2] or "", _Asked()), match[1], texts)
    return tuple(_group(suffix, one, minor) for suffix, one in asked.items())


def _group(suffix: str, asked: _Asked, minor: int) -> RequestGroup:
    """Of repeated resources and trees the last one counts, and each must be well formed."""
    amounts = [parse_resources(text) for text in asked.resources]
    trees = [parse_in_tree(text) for text in asked.in_tree]
    required, forbidden = parse_required(asked.required, minor)
    member_of, forbidden_aggregates = parse_member_of(asked.member_of, minor, suffix)
    return RequestGroup(
        suffix=suffix,
        resources=_bounded(amounts[-1]) if amounts else {},
        required=required,
        forbidden=forbidden,
        member_of=member_of,
        forbidden_aggregates=forbidden_aggregates,
        in_tree=trees[-1] if trees else None,
    )


def _bounded(amounts: Mapping[str, int]) -> dict[str, int]:
    """No inventory gives more than MAX_INT in one piece, so what is above it is refused as well as MAX_INT + 1 is."""
    return {name: min(amount, MAX_INT + 1) for name, amount in amounts.items()}


def _check_groups(groups: Sequence[RequestGroup], subtrees: Subtrees, minor: int) -> None:
    if minor >= SAME_SUBTREE_SINCE:
        _check_subtrees(groups, frozenset(chain.from_iterable(subtrees)))
    else:
        _check_orphans(groups)
    if minor >= FORBIDDEN_TRAITS_SINCE:
        _check_contradictions(groups)


def _check_subtrees(groups: Sequence[RequestGroup], named: frozenset[str]) -> None:
    bare = [group.suffix for group in groups if not group.resources]
    if len(bare) == len(groups):
        raise bad_request("There must be at least one resources or resources[$S] parameter.", QUERY_MISSING_VALUE)
    lost = [suffix for suffix in bare if suffix not in named]
    if lost:
        raise bad_request(
            "Resourceless suffixed group request should be specified in `same_subtree` query param: "
            f"bad group(s) - {lost}.",
            QUERY_BAD_VALUE,
        )
    real = [group.suffix for group in groups]
    unknown = sorted(named.difference(real))
    if unknown:
        raise bad_request(
            f"Real suffixes should be specified in `same_subtree`: {unknown} not found in {real}.", QUERY_BAD_VALUE
        )


def _check_orphans(groups: Sequence[RequestGroup]) -> None:
    bare = [group for group in groups if not group.resources]
    traits = [f"required{group.suffix}" for group in bare if group.required]
    if traits:
        raise bad_request(
            "All traits parameters must be associated with resources.  "
            f"Found the following orphaned traits keys: {', '.join(traits)}"
        )
    members = [f"member_of{group.suffix}" for group in bare if group.member_of or group.forbidden_aggregates]
    if members:
        raise bad_request(
            "All member_of parameters must be associated with resources. "
            f"Found the following orphaned member_of keys: {', '.join(members)}"
        )
    if bare:
        raise bad_request("All request groups must specify resources.")
    if not groups:
        raise bad_request("At least one request group (`resources` or `resources{$S}`) is required.")


def _check_contradictions(groups: Sequence[RequestGroup]) -> None:
    wrong = [
        f"required{group.suffix}: ({', '.join(sorted(traits))})"
        for group in groups
        for traits in group.required
        if traits <= group.forbidden
    ]
    if wrong:
        raise bad_request(
            "Conflicting required and forbidden traits found in the following traits keys: " + ", ".join(sorted(wrong))
        )
