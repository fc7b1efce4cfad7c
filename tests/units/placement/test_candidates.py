"""The candidate search on small worlds: one rule at a time, flat, nested and shared."""

from uuid import UUID

import pytest

from controlplane.kernel.reasons import RefusalReason
from placement.candidates import CandidateQuery, SearchOptions, candidate_refusals, providers_matching, refusal_of
from tests.worlds.forest import Forest, group, stock

NOBODY = UUID(int=999)
SHARES = "MISC_SHARES_VIA_AGGREGATE"


def flat() -> Forest:
    """Three hosts that differ in everything."""
    return (
        Forest()
        .plant(
            "big",
            traits={"AVX", "GOLD"},
            aggregates={1},
            VCPU=stock(16, 4, ratio=2.0, max_unit=8, step_size=2),
            MEMORY_MB=1000,
        )
        .plant("small", aggregates={2}, VCPU=stock(4, 3), MEMORY_MB=stock(1000, 900))
        .plant("even", traits={"AVX"}, VCPU=stock(8, reserved=5, min_unit=2))
        .plant("bare")
    )


def hosts(forest, *groups, **rules) -> list[str]:
    return [" ".join(found_names) for found_names in forest.found(*groups, **rules)]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (group(resources={"VCPU": 1}), ["small"]),
        (group(resources={"VCPU": 2}), ["big", "even"]),
        (group(resources={"VCPU": 3}), ["even"]),
        (group(resources={"VCPU": 4}), ["big"]),
        (group(resources={"VCPU": 10}), []),
        (group(resources={"MEMORY_MB": 100}), ["big", "small"]),
        (group(resources={"VCPU": 1, "MEMORY_MB": 100}), ["small"]),
        (group(resources={"CUSTOM_FPGA": 1}), []),
        (group(resources={"VCPU": 2**40}), []),
        (group(resources={"VCPU": 2}, required="GOLD"), ["big"]),
        (group(resources={"VCPU": 2}, required=[{"GOLD", "SILVER"}, {"AVX"}]), ["big"]),
        (group(resources={"VCPU": 2}, required="SILVER"), []),
        (group(resources={"VCPU": 2}, forbidden=frozenset({"GOLD"})), ["even"]),
        (group(resources={"MEMORY_MB": 1}, member_of=[{1}]), ["big"]),
        (group(resources={"MEMORY_MB": 1}, member_of=[{1, 2}]), ["big", "small"]),
        (group(resources={"MEMORY_MB": 1}, member_of=[{1}, {2}]), []),
        (group(resources={"MEMORY_MB": 1}, forbidden_aggregates={1}), ["small"]),
        (group(resources={"VCPU": 2}, in_tree=flat()["even"]), ["even"]),
        (group(resources={"VCPU": 2}, in_tree=flat()["bare"]), []),
        (group(resources={"VCPU": 2}, in_tree=NOBODY), []),
    ],
)
@pytest.mark.parametrize("suffix", ["", "_X"])
def test_flat_fleet_gives_whoever_meets_the_group(asked, found, suffix):
    forest, asked = flat(), group(suffix, **fields(asked))

    assert hosts(forest, asked) == found
    assert [facts.name for facts in providers_matching(forest.columns, asked)] == found
    refused = candidate_refusals(forest.columns, CandidateQuery((asked,)))
    assert [facts.name for facts in forest.columns.facts if facts.uuid not in refused] == found


def fields(asked) -> dict[str, object]:
    """The fields of a group but for the suffix."""
    names = ("resources", "required", "forbidden", "in_tree")
    numbers = [{uuid.int - 10_000 for uuid in one} for one in asked.member_of]
    return {
        **{name: getattr(asked, name) for name in names},
        "member_of": numbers,
        "forbidden_aggregates": {uuid.int - 10_000 for uuid in asked.forbidden_aggregates},
    }


def test_limit_cuts_in_the_order_of_the_fleet():
    assert hosts(flat(), group(resources={"VCPU": 2}), limit=1) == ["big"]


def test_most_candidates_is_a_limit_of_the_operator():
    options = SearchOptions(max_candidates=1)

    assert hosts(flat(), group(resources={"VCPU": 2}), limit=5, options=options) == ["big"]


def test_answer_names_group_and_providers():
    forest = flat()

    candidate = forest.search(group("_X", {"VCPU": 4})).candidates[0]

    assert forest.used_by(candidate) == {"big": {"VCPU": 4}}
    assert forest.describe_mappings(candidate) == {"_X": ["big"]}


def cluster() -> Forest:
    """Two hosts with processors below two NUMA nodes, memory at the root, and network functions below the nodes."""
    forest = Forest()
    for host in ("h1", "h2"):
        forest.plant(host, traits={f"ROOT_{host}"}, aggregates={1} if host == "h1" else {2}, MEMORY_MB=100)
        for node in ("a", "b"):
            forest.plant(f"{host}{node}", host, traits={f"NODE_{node}"}, VCPU=4)
            forest.plant(f"{host}{node}f", f"{host}{node}", traits={f"NET_{node}"}, VF=2)
    return forest


def test_unsuffixed_group_may_spread_over_its_tree():
    found = cluster().found(group(resources={"MEMORY_MB": 1, "VCPU": 1}))

    assert found == [{h: {"MEMORY_MB": 1}, f"{h}{n}": {"VCPU": 1}} for h in ("h1", "h2") for n in ("a", "b")]


def test_suffixed_group_takes_all_from_one_provider():
    assert cluster().found(group("1", {"MEMORY_MB": 1, "VCPU": 1})) == []


def test_required_traits_of_the_unsuffixed_group_are_met_together():
    asked = group(resources={"MEMORY_MB": 1, "VCPU": 1}, required=[{"ROOT_h1"}, {"NODE_b", "NODE_c"}])

    assert cluster().found(asked) == [{"h1": {"MEMORY_MB": 1}, "h1b": {"VCPU": 1}}]


def test_forbidden_trait_on_any_provider_of_the_unsuffixed_group_refuses():
    asked = group(resources={"MEMORY_MB": 1, "VCPU": 1}, forbidden=frozenset({"ROOT_h1", "NODE_a"}))

    assert cluster().found(asked) == [{"h2": {"MEMORY_MB": 1}, "h2b": {"VCPU": 1}}]


def test_aggregate_of_the_root_holds_for_the_unsuffixed_group_only():
    asked = {"resources": {"VCPU": 1}, "member_of": [{2}]}

    assert hosts(cluster(), group(**asked)) == ["h2a", "h2b"]
    assert hosts(cluster(), group("1", **asked)) == []


def test_aggregates_of_provider_and_root_do_not_add_up():
    forest = Forest().plant("h", aggregates={1}).plant("c", "h", aggregates={2}, VCPU=1)

    assert forest.found(group(resources={"VCPU": 1}, member_of=[{1}, {2}])) == []


def test_forbidden_aggregate_of_the_root_holds_for_the_unsuffixed_group_only():
    asked = {"resources": {"VCPU": 1}, "forbidden_aggregates": {1}}

    assert hosts(cluster(), group(**asked)) == ["h2a", "h2b"]
    assert hosts(cluster(), group("1", **asked)) == ["h1a", "h1b", "h2a", "h2b"]


def test_in_tree_takes_any_provider_of_the_tree():
    forest = cluster()

    assert hosts(forest, group("1", {"VCPU": 1}, in_tree=forest["h2bf"])) == ["h2a", "h2b"]


def test_root_traits_choose_trees():
    assert hosts(cluster(), group(resources={"VCPU": 1}), root_required=frozenset({"ROOT_h2"})) == ["h2a", "h2b"]
    assert hosts(cluster(), group(resources={"VCPU": 1}), root_forbidden=frozenset({"ROOT_h2"})) == ["h1a", "h1b"]
    assert hosts(cluster(), group(resources={"VCPU": 1}), root_required=frozenset({"NODE_a"})) == []


def test_isolated_groups_use_different_providers():
    two = (group("1", {"VCPU": 1}), group("2", {"VCPU": 1}))

    isolated = cluster().found(*two, group_policy="isolate", limit=2)
    together = cluster().found(*two, group_policy="none", limit=1)

    assert isolated == [{"h1a": {"VCPU": 1}, "h1b": {"VCPU": 1}}] * 2
    assert together == [{"h1a": {"VCPU": 2}}]


def test_unsuffixed_group_may_sit_with_an_isolated_one():
    found = cluster().found(group(resources={"VCPU": 1}), group("1", {"VCPU": 1}), group_policy="isolate", limit=1)

    assert found == [{"h1a": {"VCPU": 2}}]


@pytest.mark.parametrize("limits", [stock(3), stock(9, max_unit=3), stock(6, 3)])
def test_sums_on_one_provider_are_checked_again(limits):
    forest = Forest().plant("h", VCPU=limits)

    assert forest.found(group("1", {"VCPU": 2}), group("2", {"VCPU": 1}), group_policy="none") == [{"h": {"VCPU": 3}}]
    assert forest.found(group("1", {"VCPU": 2}), group("2", {"VCPU": 2}), group_policy="none") == []


def test_sum_need_not_match_step_and_least():
    forest = Forest().plant("h", VCPU=stock(9, step_size=2, min_unit=2))

    assert forest.found(group("1", {"VCPU": 2}), group("2", {"VCPU": 4}), group_policy="none") == [{"h": {"VCPU": 6}}]


def test_same_subtree_keeps_groups_below_one_of_their_providers():
    asked = (group("1", {"VCPU": 1}), group("2", {"VF": 1}))

    found = cluster().found(*asked, group_policy="none", same_subtree=(frozenset({"1", "2"}),))

    assert [sorted(found_names) for found_names in found] == [
        ["h1a", "h1af"],
        ["h1b", "h1bf"],
        ["h2a", "h2af"],
        ["h2b", "h2bf"],
    ]


def test_siblings_are_no_subtree_of_each_other():
    asked = (group("1", {"VCPU": 1}), group("2", {"VCPU": 1}))

    found = cluster().found(*asked, group_policy="isolate", same_subtree=(frozenset({"1", "2"}),))

    assert found == []


def test_group_without_resources_names_the_top_of_a_subtree():
    forest = cluster()
    asked = (group("_TOP", required="NODE_b"), group("1", {"VF": 1}))

    answer = forest.search(*asked, group_policy="none", same_subtree=(frozenset({"_TOP", "1"}),))

    assert [forest.used_by(candidate) for candidate in answer.candidates] == [{"h1bf": {"VF": 1}}, {"h2bf": {"VF": 1}}]
    assert forest.describe_mappings(answer.candidates[0]) == {"_TOP": ["h1b"], "1": ["h1bf"]}


def test_clients_without_trees_get_no_candidate_of_two_providers_of_one_tree():
    asked = group(resources={"MEMORY_MB": 1, "VCPU": 1})
    forest = cluster().plant("flat", MEMORY_MB=5, VCPU=5)

    answer = forest.search(asked, nested=False)

    assert [forest.used_by(candidate) for candidate in answer.candidates] == [{"flat": {"MEMORY_MB": 1, "VCPU": 1}}]
    assert [facts.name for facts in answer.summaries] == ["flat"]


def test_summaries_are_all_providers_of_the_trees_taken_from():
    answer = cluster().search(group(resources={"VCPU": 1}), limit=1)

    assert [facts.name for facts in answer.summaries] == ["h1", "h1a", "h1af", "h1b", "h1bf"]


def pool() -> Forest:
    """Two hosts without disk of their own and one with, and a store that shares with the first and the last."""
    return (
        Forest()
        .plant("diskless", aggregates={1}, VCPU=4)
        .plant("apart", aggregates={2}, VCPU=4)
        .plant("disked", aggregates={1}, VCPU=4, DISK_GB=10)
        .plant("store", traits={SHARES, "SSD"}, aggregates={1}, DISK_GB=stock(100))
    )


def test_sharing_provider_serves_the_trees_of_its_aggregates():
    assert hosts(pool(), group(resources={"VCPU": 1, "DISK_GB": 5})) == ["diskless store", "disked", "disked store"]


def test_trait_of_the_sharing_provider_counts():
    found = hosts(pool(), group(resources={"VCPU": 1, "DISK_GB": 5}, required="SSD"))

    assert found == ["diskless store", "disked store"]


def test_sharing_provider_serves_a_suffixed_group():
    found = hosts(pool(), group(resources={"VCPU": 1}), group("1", {"DISK_GB": 5}))

    assert found == ["diskless store", "disked", "disked store"]


def test_candidate_of_sharing_providers_alone_comes_once():
    assert hosts(pool(), group(resources={"DISK_GB": 50})) == ["store"]


def test_nothing_is_shared_into_a_named_tree():
    forest = pool()

    assert hosts(forest, group(resources={"VCPU": 1, "DISK_GB": 5}, in_tree=forest["disked"])) == ["disked"]


def test_sharing_provider_must_be_a_member_itself():
    forest = (
        Forest().plant("host", aggregates={1, 2}, VCPU=4).plant("store", traits={SHARES}, aggregates={2}, DISK_GB=100)
    )
    asked = {"VCPU": 1, "DISK_GB": 5}

    assert hosts(forest, group(resources=asked, member_of=[{2}])) == ["host store"]
    assert hosts(forest, group(resources=asked, member_of=[{1}])) == []


def test_summaries_tell_of_the_sharing_providers_tree():
    answer = pool().search(group(resources={"VCPU": 1, "DISK_GB": 5}), limit=1)

    assert [facts.name for facts in answer.summaries] == ["diskless", "store"]


def test_trees_take_turns_where_breadth_comes_first():
    options = SearchOptions(strategy="breadth-first")

    assert hosts(cluster(), group(resources={"VCPU": 1}), options=options) == ["h1a", "h2a", "h1b", "h2b"]


def test_seed_repeats_its_order_and_loses_nobody():
    forest = Forest()
    for number in range(30):
        forest.plant(f"h{number:02}", VCPU=4)
    asked = group(resources={"VCPU": 1})

    one, again, other = (hosts(forest, asked, options=SearchOptions(seed=seed)) for seed in (1, 1, 2))

    assert one == again != other
    assert sorted(one) == sorted(other) == hosts(forest, asked)
    assert hosts(forest, asked, limit=5, options=SearchOptions(seed=1)) == one[:5]


def test_seed_shares_the_limit_out_among_trees():
    found = hosts(cluster(), group(resources={"VCPU": 1}), limit=2, options=SearchOptions(seed=4))

    assert {host[:2] for host in found} == {"h1", "h2"}


@pytest.mark.parametrize(
    ("forest", "groups", "rules", "reason", "wanted", "available"),
    [
        (flat(), [group(resources={"MEMORY_MB": 200})], {}, RefusalReason.RAM_SHORT, 200, 100),
        (flat(), [group(resources={"VCPU": 2})], {}, RefusalReason.VCPU_SHORT, 2, 1),
        (flat(), [group(resources={"DISK_GB": 2})], {}, RefusalReason.DISK_SHORT, 2, 0),
        (flat(), [group("_X", {"CUSTOM_FPGA": 2})], {}, RefusalReason.RESOURCE_SHORT, 2, 0),
        (
            flat(),
            [group(resources={"VCPU": 1}, required=[{"S", "T"}])],
            {},
            RefusalReason.TRAIT_MISSING,
            "S or T",
            None,
        ),
        (
            flat(),
            [group(resources={"VCPU": 1})],
            {"root_required": frozenset({"T"})},
            RefusalReason.TRAIT_MISSING,
            "T",
            None,
        ),
        (
            flat(),
            [group(resources={"VCPU": 1}, forbidden_aggregates={2})],
            {},
            RefusalReason.NO_CANDIDATE,
            None,
            None,
        ),
        (
            flat(),
            [group("1", {"VCPU": 1}), group("2", {"VCPU": 1})],
            {"group_policy": "none"},
            RefusalReason.NO_CANDIDATE,
            None,
            None,
        ),
    ],
)
def test_refusal_names_the_first_broken_rule_with_its_numbers(forest, groups, rules, reason, wanted, available):
    refusal = refusal_of(forest.columns, CandidateQuery(tuple(groups), **rules), forest["small"])

    assert (refusal.reason, refusal.wanted, refusal.available) == (reason, wanted, available)


def test_refusal_tells_total_and_ratio():
    refusal = refusal_of(flat().columns, CandidateQuery((group(resources={"VCPU": 30}),)), flat()["big"])

    assert (refusal.available, refusal.total, refusal.ratio) == (28, 16, 2.0)


def test_refusal_tells_the_allowed_amounts():
    refusal = refusal_of(flat().columns, CandidateQuery((group(resources={"VCPU": 3}),)), flat()["big"])

    assert (refusal.reason, refusal.available) == (RefusalReason.AMOUNT_NOT_ALLOWED, "1 to 8 in steps of 2")


def test_refusal_of_a_tree_has_the_numbers_of_its_best_provider():
    forest = cluster()

    refusal = refusal_of(forest.columns, CandidateQuery((group(resources={"VCPU": 5}),)), forest["h1"])

    assert (refusal.reason, refusal.wanted, refusal.available) == (RefusalReason.VCPU_SHORT, 5, 4)


def test_refusal_of_a_forbidden_trait_names_it():
    query = CandidateQuery((group(resources={"VCPU": 2}, forbidden=frozenset({"GOLD", "BAD"})),))

    refusal = refusal_of(flat().columns, query, flat()["big"])

    assert (refusal.reason, refusal.wanted) == (RefusalReason.TRAIT_FORBIDDEN, "GOLD")


def test_refusal_of_an_aggregate_names_it():
    query = CandidateQuery((group(resources={"VCPU": 2}, member_of=[{2}]),))

    assert refusal_of(flat().columns, query, flat()["big"]).reason == RefusalReason.NOT_IN_AGGREGATE


def test_unknown_provider_is_no_candidate():
    query = CandidateQuery((group(resources={"VCPU": 2}),))

    assert refusal_of(flat().columns, query, NOBODY).detail == "no such provider"


def test_empty_fleet_has_no_candidates():
    assert Forest().found(group(resources={"VCPU": 1})) == []
