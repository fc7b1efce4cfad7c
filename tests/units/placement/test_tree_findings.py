"""Root pointers against parents."""

from uuid import UUID

from placement.domain.findings import FindingKind, TreeFacts, root_of, tree_findings

ROOT, CHILD, LEAF, OTHER = (UUID(int=number) for number in range(1, 5))


def test_a_sound_tree_has_no_findings() -> None:
    facts = [TreeFacts(ROOT, None, ROOT), TreeFacts(CHILD, ROOT, ROOT), TreeFacts(LEAF, CHILD, ROOT)]

    assert tree_findings(facts) == []


def test_a_leaf_that_names_its_parent_as_root_is_found_with_the_right_root() -> None:
    facts = [TreeFacts(ROOT, None, ROOT), TreeFacts(CHILD, ROOT, ROOT), TreeFacts(LEAF, CHILD, CHILD)]

    (found,) = tree_findings(facts)

    assert (found.kind, found.provider_uuid, found.right_root_uuid) == (FindingKind.ROOT_WRONG, LEAF, ROOT)


def test_a_root_that_names_none_is_found() -> None:
    (found,) = tree_findings([TreeFacts(ROOT, None, None)])

    assert found.sentence() == f"provider {ROOT} names root none, its parents lead to {ROOT}"


def test_a_circle_is_found_for_all_that_lead_into_it() -> None:
    facts = [TreeFacts(ROOT, CHILD, ROOT), TreeFacts(CHILD, ROOT, ROOT), TreeFacts(LEAF, CHILD, ROOT)]

    assert [one.kind for one in tree_findings(facts)] == [FindingKind.PARENT_LOOP] * 3


def test_a_parent_that_is_not_there_is_taken_as_the_root() -> None:
    assert root_of(LEAF, {LEAF: OTHER}) == OTHER
