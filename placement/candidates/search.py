"""The candidate search: vectors leave few trees, then a lazy search goes through each, until the limit is reached."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from placement.candidates.answers import CandidateBuilder, Choice, answer_of_single_rows, tree_facts
from placement.candidates.columns import Bools, FleetColumns, Ints, ProviderFacts
from placement.candidates.query import (
    CandidateAnswer,
    CandidateQuery,
    RequestGroup,
    SearchOptions,
    Strategy,
    SymmetryMode,
)
from placement.candidates.request_slots import SlottedRequest, offering, request_of, single_rows
from placement.candidates.single_provider import single_provider_rows
from placement.candidates.tree_search import TreeSearch

NOTHING = CandidateAnswer()
_DEFAULTS = SearchOptions()


def candidates_find(
    columns: FleetColumns, query: CandidateQuery, options: SearchOptions = _DEFAULTS
) -> CandidateAnswer:
    """Find all that can serve the query now, up to its limit, in the order of the columns or of the seed.

    Trees of `query.instead` come after the others.
    """
    if query.instead is None:
        return _found(columns, query, options)
    offers = offering(columns, query.instead.without)
    found = _found(columns, replace(query, instead=None), options, offers)
    maximum = _max_of(query.limit, options.max_candidates)
    left = None if maximum is None else maximum - len(found.candidates)
    if left is not None and left <= 0:
        return found
    others = _found(columns, replace(query.instead.query, limit=left), options, ~offers)
    known = {facts.uuid: facts for facts in (*found.summaries, *others.summaries)}  # a sharing provider serves both
    return CandidateAnswer((*found.candidates, *others.candidates), tuple(known.values()))


def _found(
    columns: FleetColumns, query: CandidateQuery, options: SearchOptions, among: Bools | None = None
) -> CandidateAnswer:
    """Search in all trees, or in those whose roots are `among`."""
    if any(group.in_tree is not None and group.in_tree not in columns.row_of for group in query.groups):
        return NOTHING
    request = request_of(columns, query)
    maximum = _max_of(query.limit, options.max_candidates)
    single = single_provider_rows(columns, request)
    anchors = request.anchors if among is None else request.anchors & among
    if single is not None and columns.trees.is_flat:
        anchors = anchors & (single >= 0)
    order = _order(np.flatnonzero(anchors), options.seed)
    if single is not None and bool((single[order] >= 0).all()):
        return answer_of_single_rows(columns, request, single[order[:maximum]].tolist())
    return _searched(columns, request, options, _trees(columns, request, options, order, single), maximum)


def providers_matching(columns: FleetColumns, group: RequestGroup) -> tuple[ProviderFacts, ...]:
    """Return the providers that by themselves meet the group, in the order of the columns."""
    return tuple(columns.fact(row) for row in np.flatnonzero(single_rows(columns, group)).tolist())


def _max_of(limit: int | None, max_candidates: int) -> int | None:
    if max_candidates < 0:
        return limit
    return max_candidates if limit is None else min(limit, max_candidates)


def _order(anchors: Ints, seed: int | None) -> Ints:
    return anchors if seed is None else np.random.default_rng(seed).permutation(anchors)


def _trees(
    columns: FleetColumns, request: SlottedRequest, options: SearchOptions, order: Ints, single: Ints | None
) -> Iterator[Iterable[Choice]]:
    """Yield for each tree its choices, which are made only when somebody iterates over them."""
    slots = len(request.slots)
    for position, anchor in enumerate(order.tolist()):
        if single is not None and single[anchor] >= 0:
            yield [[int(single[anchor])] * slots]
        else:
            seed = None if options.seed is None else options.seed + position
            yield TreeSearch(columns, request, anchor, options.symmetry == SymmetryMode.ONE, seed)


def _searched(
    columns: FleetColumns,
    request: SlottedRequest,
    options: SearchOptions,
    trees: Iterable[Iterable[Choice]],
    maximum: int | None,
) -> CandidateAnswer:
    in_turn = options.strategy == Strategy.BREADTH_FIRST or options.seed is not None
    choices = _in_turn(trees) if in_turn else (choice for tree in trees for choice in tree)
    if request.is_shared:
        choices = _once(choices, columns.sharing)
    if not request.query.nested:
        choices = (choice for choice in choices if _is_one_per_tree(columns, request, choice))
    chosen = list(islice(choices, maximum))
    builder = CandidateBuilder(columns, request)
    candidates = [builder.candidate(choice) for choice in chosen]
    if request.query.nested:
        return CandidateAnswer(candidates, tree_facts(columns, _taken(request, chosen)))
    rows = dict.fromkeys(_taken(request, chosen))
    return CandidateAnswer(candidates, [columns.fact(row) for row in rows])


def _in_turn(trees: Iterable[Iterable[Choice]]) -> Iterator[Choice]:
    """Yield one choice of each tree, then the second of each, and so on."""
    searches: Iterable[Iterator[Choice]] = map(iter, trees)
    while searches:
        left: list[Iterator[Choice]] = []
        for tree_search in searches:
            choice = next(tree_search, None)
            if choice is not None:
                left.append(tree_search)
                yield choice
        searches = left


def _once(choices: Iterable[Choice], sharing: Sequence[int]) -> Iterator[Choice]:
    """Yield each choice once: one of sharing providers alone turns up in every tree that they share with."""
    seen: set[tuple[int, ...]] = set()
    sharers = frozenset(sharing)
    for choice in choices:
        if sharers.issuperset(choice):
            key = tuple(choice)
            if key in seen:
                continue
            seen.add(key)
        yield choice


def _is_one_per_tree(columns: FleetColumns, request: SlottedRequest, choice: Choice) -> bool:
    """Whether the choice takes from at most one provider of each tree: what clients that know no trees can read."""
    rows = set(_taken(request, [choice]))
    return len(rows) == len({int(columns.trees.root[row]) for row in rows})


def _taken(request: SlottedRequest, choices: Iterable[Choice]) -> Iterator[int]:
    """The rows that something is taken from; a group without resources takes nothing."""
    takes = [bool(slot.amounts) for slot in request.slots]
    return (row for choice in choices for row, is_taken in zip(choice, takes, strict=True) if is_taken)
