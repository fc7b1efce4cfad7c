"""The candidate search on hand-made columns, and its reasons."""

from uuid import UUID

import pytest

from controlplane.kernel.reasons import RefusalReason
from placement.candidates import CandidateQuery, ProviderFacts, candidates_find, columns_of, refusal_of
from placement.domain import InventoryUsage

BIG, SMALL, CHILD, BARE = (UUID(int=number) for number in range(1, 5))
ROW, RACK = UUID(int=100), UUID(int=101)


def stock(total: int, used: int = 0, *, ratio: float = 1.0, **units: int) -> InventoryUsage:
    return InventoryUsage(
        total, 0, ratio, used, int(total * ratio), **{"min_unit": 1, "max_unit": total, "step_size": 1, **units}
    )


FLEET = columns_of(
    [
        ProviderFacts(
            BIG,
            BIG,
            {"VCPU": stock(16, 4, ratio=2.0, max_unit=8, step_size=2), "MEMORY_MB": stock(1000)},
            frozenset({"HW_CPU_X86_AVX", "CUSTOM_GOLD"}),
            frozenset({ROW}),
        ),
        ProviderFacts(SMALL, SMALL, {"VCPU": stock(4, 3), "MEMORY_MB": stock(1000, 900)}, aggregates=frozenset({RACK})),
        ProviderFacts(CHILD, BIG, {"VCPU": stock(4)}),
        ProviderFacts(BARE, BARE, {}),
    ]
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (CandidateQuery(), {BIG, SMALL, CHILD, BARE}),
        (CandidateQuery({"VCPU": 2}), {BIG, CHILD}),
        (CandidateQuery({"VCPU": 1}), {SMALL, CHILD}),
        (CandidateQuery({"VCPU": 10}), set()),
        (CandidateQuery({"VCPU": 1, "MEMORY_MB": 100}), {SMALL}),
        (CandidateQuery({"CUSTOM_FPGA": 1}), set()),
        (CandidateQuery(required_traits=frozenset({"CUSTOM_GOLD", "HW_CPU_X86_AVX"})), {BIG}),
        (CandidateQuery(required_traits=frozenset({"CUSTOM_SILVER"})), set()),
        (CandidateQuery(forbidden_traits=frozenset({"CUSTOM_GOLD"})), {SMALL, CHILD, BARE}),
        (CandidateQuery(member_of=(frozenset({ROW}),)), {BIG, CHILD}),
        (CandidateQuery(member_of=(frozenset({ROW, RACK}),)), {BIG, SMALL, CHILD}),
        (CandidateQuery(member_of=(frozenset({ROW}), frozenset({RACK}))), set()),
        (CandidateQuery(forbidden_aggregates=frozenset({ROW})), {SMALL, BARE}),
        (CandidateQuery(in_tree=CHILD), {BIG, CHILD}),
        (CandidateQuery(in_tree=UUID(int=999)), set()),
    ],
)
def test_search_finds_exactly_whoever_has_no_refusal(query, found):
    assert set(candidates_find(FLEET, query).uuids) == found
    assert {uuid for uuid in FLEET.uuids if refusal_of(FLEET, query, uuid) is None} == found


def test_limit_cuts_the_answer_and_not_the_verdict():
    result = candidates_find(FLEET, CandidateQuery(limit=2))

    assert result.uuids == (BIG, SMALL)
    assert result.passes.sum() == 4


@pytest.mark.parametrize(
    ("query", "uuid", "reason", "wanted", "available"),
    [
        (CandidateQuery({"MEMORY_MB": 200}), SMALL, RefusalReason.RAM_SHORT, 200, 100),
        (CandidateQuery({"VCPU": 2}), SMALL, RefusalReason.VCPU_SHORT, 2, 1),
        (CandidateQuery({"DISK_GB": 2}), SMALL, RefusalReason.DISK_SHORT, 2, 0),
        (CandidateQuery({"CUSTOM_FPGA": 2}), SMALL, RefusalReason.RESOURCE_SHORT, 2, 0),
        (CandidateQuery({"VCPU": 3}), BIG, RefusalReason.AMOUNT_NOT_ALLOWED, 3, "1 to 8 in steps of 2"),
        (CandidateQuery(required_traits=frozenset("TS")), BIG, RefusalReason.TRAIT_MISSING, "S, T", None),
        (
            CandidateQuery(forbidden_traits=frozenset({"CUSTOM_GOLD"})),
            BIG,
            RefusalReason.TRAIT_FORBIDDEN,
            "CUSTOM_GOLD",
            None,
        ),
        (CandidateQuery(member_of=(frozenset({RACK}),)), BIG, RefusalReason.NOT_IN_AGGREGATE, str(RACK), None),
        (CandidateQuery(forbidden_aggregates=frozenset({ROW})), CHILD, RefusalReason.NO_CANDIDATE, None, None),
        (CandidateQuery(in_tree=SMALL), BIG, RefusalReason.NO_CANDIDATE, None, None),
        (CandidateQuery(), UUID(int=999), RefusalReason.NO_CANDIDATE, None, None),
    ],
)
def test_refusal_names_the_rule_with_its_numbers(query, uuid, reason, wanted, available):
    refusal = refusal_of(FLEET, query, uuid)

    assert refusal is not None
    assert (refusal.reason, refusal.wanted, refusal.available) == (reason, wanted, available)


def test_shortage_tells_the_overcommit():
    refusal = refusal_of(
        columns_of([ProviderFacts(BIG, BIG, {"MEMORY_MB": stock(100, 140, ratio=1.5)})]),
        CandidateQuery({"MEMORY_MB": 20}),
        BIG,
    )

    assert refusal is not None
    assert refusal.sentence() == "ram: wants 20 MB, has 10 of 100 after 1.5x"


def test_empty_fleet_has_no_candidates():
    assert candidates_find(columns_of([]), CandidateQuery({"VCPU": 1})).uuids == ()
