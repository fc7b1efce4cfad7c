"""The candidate search agrees with the slow text of the rules, whatever the forest and the request."""

from collections import Counter
from dataclasses import replace
from itertools import permutations
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from placement.candidates import (
    CandidateQuery,
    ProviderFacts,
    RequestGroup,
    SearchOptions,
    candidate_refusals,
    candidates_find,
    columns_of,
)
from placement.domain import InventoryUsage
from tests.properties.placement.brute_force import SHARES, Outcome, as_outcome, outcomes

CLASSES, TRAITS = ["VCPU", "DISK_GB"], ["T1", "T2", SHARES]
AGGREGATES = [UUID(int=number) for number in range(100, 102)]


@st.composite
def usages(draw: st.DrawFn) -> InventoryUsage:
    total = draw(st.integers(2, 6))
    return InventoryUsage(
        total=total,
        reserved=0,
        allocation_ratio=1.0,
        used=draw(st.sampled_from([0, 0, 1])),
        capacity=total,
        min_unit=1,
        max_unit=draw(st.sampled_from([total, 2])),
        step_size=draw(st.sampled_from([1, 1, 2])),
    )


@st.composite
def forests(draw: st.DrawFn) -> list[ProviderFacts]:
    forest: list[ProviderFacts] = []
    for number in range(1, draw(st.integers(1, 6)) + 1):
        parent = draw(st.none() | st.sampled_from(forest)) if forest else None
        uuid = UUID(int=number)
        forest.append(
            ProviderFacts(
                uuid=uuid,
                root_uuid=parent.root_uuid if parent else uuid,
                inventories=draw(st.dictionaries(st.sampled_from(CLASSES), usages())),
                traits=draw(st.frozensets(st.sampled_from(TRAITS), max_size=2)),
                aggregates=draw(st.frozensets(st.sampled_from(AGGREGATES))),
                parent_uuid=parent.uuid if parent else None,
            )
        )
    return forest


def groups(suffix: str) -> st.SearchStrategy[RequestGroup]:
    return st.builds(
        RequestGroup,
        suffix=st.just(suffix),
        resources=st.dictionaries(st.sampled_from(CLASSES), st.integers(1, 3), min_size=1),
        required=st.lists(st.frozensets(st.sampled_from(TRAITS), min_size=1), max_size=1).map(tuple),
        forbidden=st.just(frozenset()) | st.frozensets(st.sampled_from(TRAITS), max_size=1),
        member_of=st.lists(st.frozensets(st.sampled_from(AGGREGATES), min_size=1), max_size=1).map(tuple),
        forbidden_aggregates=st.just(frozenset()) | st.frozensets(st.sampled_from(AGGREGATES), max_size=1),
        in_tree=st.none() | st.none() | st.sampled_from([UUID(int=number) for number in range(1, 8)]),
    )


@st.composite
def queries(draw: st.DrawFn) -> CandidateQuery:
    suffixes = draw(st.sampled_from([("",), ("_A",), ("", "_A"), ("_A", "_B"), ("", "_A", "_B")]))
    return CandidateQuery(
        groups=tuple(draw(groups(suffix)) for suffix in suffixes),
        group_policy=draw(st.sampled_from(["none", "isolate"])),
        same_subtree=(frozenset({"_A", "_B"}),) if "_B" in suffixes and draw(st.booleans()) else (),
        root_required=draw(st.sampled_from([frozenset(), frozenset({"T1"})])),
        root_forbidden=draw(st.sampled_from([frozenset(), frozenset({"T2"})])),
    )


@given(forest=forests(), query=queries(), options=st.builds(SearchOptions, seed=st.none() | st.integers(0, 9)))
def test_search_finds_each_candidate_of_the_rules_once(forest, query, options):
    found = [as_outcome(candidate) for candidate in candidates_find(columns_of(forest), query, options).candidates]

    assert Counter(found) == Counter(outcomes(forest, query))


@given(forest=forests(), query=queries(), limit=st.integers(1, 4))
def test_limit_gives_the_beginning_of_the_whole_answer(forest, query, limit):
    columns = columns_of(forest)

    whole, part = candidates_find(columns, query), candidates_find(columns, replace(query, limit=limit))

    assert list(part.candidates) == list(whole.candidates)[:limit]


@given(forest=forests(), query=queries())
def test_tree_is_refused_exactly_where_it_has_no_candidate(forest, query):
    columns, anchors = columns_of(forest), [one for one in forest if one.parent_uuid is None]
    refusals = candidate_refusals(columns, query)

    for anchor in anchors:
        others = frozenset({"ANCHOR"})
        marked = [replace(one, traits=one.traits | others) if one is anchor else one for one in forest]
        alone = replace(query, root_required=query.root_required | others)
        assert (anchor.uuid in refusals) == (not outcomes(marked, alone))
        assert (refusals.of(anchor.uuid) is None) == (anchor.uuid not in refusals)


@st.composite
def device_trees(draw: st.DrawFn) -> list[ProviderFacts]:
    """One tree of devices that are of few kinds, so that many are alike."""
    tree = [ProviderFacts(UUID(int=1), UUID(int=1), {})]
    for number in range(2, draw(st.integers(1, 5)) + 2):
        total, trait = draw(st.sampled_from([(4, "T1"), (4, "T1"), (2, "T1"), (4, "T2")]))
        usage = InventoryUsage(total, 0, 1.0, 0, total, 1, total, 1)
        parent = draw(st.sampled_from([tree[0], *tree]))
        tree.append(
            ProviderFacts(UUID(int=number), UUID(int=1), {"PCI": usage}, frozenset({trait}), parent_uuid=parent.uuid)
        )
    return tree


@given(
    tree=device_trees(),
    wanted=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    policy=st.sampled_from(["none", "isolate"]),
    is_close=st.booleans(),
)
def test_one_of_like_children_stands_for_all_and_for_nobody_else(tree, wanted, policy, is_close):
    groups = tuple(RequestGroup(str(index), {"PCI": amount}) for index, amount in enumerate(wanted))
    close = (frozenset({"0", "1"}),) if is_close and len(groups) > 1 else ()
    query, columns = CandidateQuery(groups, policy, close), columns_of(tree)

    every = [as_outcome(one) for one in candidates_find(columns, query).candidates]
    ones = [as_outcome(one) for one in candidates_find(columns, query, SearchOptions(symmetry="one")).candidates]

    exchanges = [exchange for order in permutations(tree) if keeps(tree, exchange := exchange_of(tree, order))]
    classes = {first_name(outcome, exchanges) for outcome in every}
    assert sorted(first_name(one, exchanges) for one in ones) == sorted(classes)
    assert set(ones) <= set(every)


def exchange_of(tree: list[ProviderFacts], order: tuple[ProviderFacts, ...]) -> dict[UUID, ProviderFacts]:
    return {one.uuid: other for one, other in zip(tree, order, strict=True)}


def keeps(tree: list[ProviderFacts], exchange: dict[UUID, ProviderFacts]) -> bool:
    """Everybody becomes somebody alike, below whoever his parent becomes."""
    return all(
        (one.inventories, one.traits) == (exchange[one.uuid].inventories, exchange[one.uuid].traits)
        and exchange[one.uuid].parent_uuid == (one.parent_uuid and exchange[one.parent_uuid].uuid)
        for one in tree
    )


def first_name(outcome: Outcome, exchanges: list[dict[UUID, ProviderFacts]]) -> tuple[object, ...]:
    """The first of all names of an outcome. The mappings say it all, since each group has one provider."""
    return min(
        tuple(sorted((suffix, *(exchange[uuid].uuid.int for uuid in uuids)) for suffix, uuids in outcome[1]))
        for exchange in exchanges
    )
