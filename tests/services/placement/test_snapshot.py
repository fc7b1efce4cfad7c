"""The fleet in memory follows the database: what other transactions commit, what its own one writes and takes back."""

from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from controlplane.kernel.reasons import RefusalReason
from placement.candidates import CandidateAnswer, CandidateQuery, RequestGroup
from placement.domain import InventorySpec, ProviderKind
from placement.models import ProviderRemoval, ResourceProvider
from placement.selectors import ProviderSnapshot, candidate_refusals, candidate_search, providers_matching
from placement.services import (
    allocations_claim,
    inventory_set,
    provider_aggregates_set,
    provider_delete,
    provider_ensure,
    provider_traits_set,
)
from tests.fixtures.queries import undisturbed_queries

pytestmark = pytest.mark.django_db(transaction=True)

AVX = "HW_CPU_X86_AVX"
TWO = CandidateQuery((RequestGroup(resources={"VCPU": 2}),))


class TakenBackError(Exception):
    """Ends a transaction without its writes."""


def hosts_in(answer: CandidateAnswer) -> set[UUID]:
    return {host for candidate in answer.candidates for host in candidate.allocations}


def found(snapshot: ProviderSnapshot, query: CandidateQuery = TWO) -> set[UUID]:
    return hosts_in(candidate_search(query, snapshot=snapshot))


def with_trait(trait: str) -> CandidateQuery:
    return CandidateQuery((RequestGroup(resources={"VCPU": 1}, required=(frozenset({trait}),)),))


def queries_of(snapshot: ProviderSnapshot) -> int:
    with CaptureQueriesContext(connection) as queries:
        snapshot.read(len)
    return len(queries)


def undisturbed_queries_of(snapshot: ProviderSnapshot) -> int:
    return undisturbed_queries(lambda: snapshot.read(len), tries=20)


def same_as_new(snapshot: ProviderSnapshot) -> bool:
    """What it holds is what one that is loaded anew holds, in the same order."""
    kept, new = snapshot.facts(), ProviderSnapshot().facts()
    return [describe(one) for one in kept.values()] == [describe(one) for one in new.values()]


def describe(facts: object) -> tuple[object, ...]:
    names = ("uuid", "name", "generation", "parent_uuid", "root_uuid", "inventories", "traits", "aggregates")
    return tuple(getattr(facts, name) for name in names)


def empty_tables() -> None:
    """As `flush` does: everybody is gone, and nobody said so."""
    ResourceProvider.objects.update(root=None)
    ResourceProvider.objects.all().delete()
    ProviderRemoval.objects.all().delete()


def test_unchanged_fleet_costs_one_query(provider):
    provider(VCPU=4)
    snapshot = ProviderSnapshot()
    snapshot.read(len)

    assert undisturbed_queries_of(snapshot) == 1


def test_changed_provider_costs_one_query_more_than_the_look(provider, claim):
    hosts = [provider(VCPU=4) for _ in range(3)]
    snapshot = ProviderSnapshot()
    snapshot.read(len)

    allocations_claim([claim(hosts[1], VCPU=3)])

    # PostgreSQL is first asked whether anything was committed at all.
    assert queries_of(snapshot) == (3 if connection.vendor == "postgresql" else 2)
    assert found(snapshot) == {hosts[0], hosts[2]}


def test_full_load_queries_do_not_grow_with_the_fleet(provider):
    for _ in range(3):
        provider(VCPU=4)
    few = queries_of(ProviderSnapshot())
    for _ in range(30):
        provider(VCPU=4)

    assert queries_of(ProviderSnapshot()) == few <= 8


def test_changed_provider_alone_gets_new_facts(provider, claim):
    first, second = provider(VCPU=4), provider(VCPU=4)
    snapshot = ProviderSnapshot()
    before = snapshot.facts()

    allocations_claim([claim(first, VCPU=1)])
    after = snapshot.facts()

    assert (after[first] is before[first], after[second] is before[second]) == (False, True)
    assert after[first].inventories["VCPU"].used == 1


def test_search_sees_what_was_claimed_stated_and_deleted_meanwhile(provider, claim):
    small, large = provider(VCPU=2), provider(VCPU=8)
    snapshot = ProviderSnapshot()
    assert found(snapshot) == {small, large}

    allocations_claim([claim(small, VCPU=1)])
    assert found(snapshot) == {large}

    late = provider(VCPU=2)
    provider_delete(large)
    assert found(snapshot) == {late}


def test_search_sees_a_new_trait_class_and_aggregate(provider):
    host, aggregate = provider(VCPU=2), uuid4()
    snapshot = ProviderSnapshot()
    assert found(snapshot, with_trait(AVX)) == set()

    provider_traits_set(host, {AVX})
    provider_aggregates_set(host, {aggregate})
    inventory_set(host, {"VCPU": InventorySpec(total=2), "CUSTOM_FPGA": InventorySpec(total=1)})

    group = RequestGroup("", {"CUSTOM_FPGA": 1}, (frozenset({AVX}),), member_of=(frozenset({aggregate}),))
    assert found(snapshot, CandidateQuery((group,))) == {host}
    assert [facts.uuid for facts in providers_matching(group, snapshot=snapshot)] == [host]


def test_search_sees_a_child_move_to_another_tree(provider):
    left, right, child = provider(VCPU=2), provider(VCPU=2), uuid4()
    provider_ensure(child, "child", left, kind=ProviderKind.NESTED)
    inventory_set(child, {"PCI_DEVICE": InventorySpec(total=1)})
    both = CandidateQuery((RequestGroup(resources={"VCPU": 1, "PCI_DEVICE": 1}),))
    snapshot = ProviderSnapshot()
    assert found(snapshot, both) == {left, child}

    provider_ensure(child, "child", right, kind=ProviderKind.NESTED)

    assert found(snapshot, both) == {right, child}


def test_search_sees_a_provider_begin_to_share(provider):
    host, store, aggregate = provider(VCPU=2), provider(DISK_GB=10), uuid4()
    both = CandidateQuery((RequestGroup(resources={"VCPU": 1, "DISK_GB": 5}),))
    provider_aggregates_set(host, {aggregate})
    provider_aggregates_set(store, {aggregate})
    snapshot = ProviderSnapshot()
    assert found(snapshot, both) == set()

    provider_traits_set(store, {"MISC_SHARES_VIA_AGGREGATE"})

    assert found(snapshot, both) == {host, store}


def test_deleted_and_made_again_is_there_with_its_new_numbers(provider):
    host = provider(VCPU=2)
    snapshot = ProviderSnapshot()
    snapshot.read(len)

    provider_delete(host)
    provider_ensure(host, "again")
    inventory_set(host, {"VCPU": InventorySpec(total=5)})

    assert snapshot.facts()[host].inventories["VCPU"].total == 5
    assert same_as_new(snapshot)


def test_own_transaction_sees_its_writes(provider):
    host = provider(VCPU=2)
    snapshot = ProviderSnapshot()
    snapshot.read(len)

    with transaction.atomic():
        provider_traits_set(host, {AVX})
        first = found(snapshot, with_trait(AVX))
        provider_traits_set(host, set())
        second = found(snapshot, with_trait(AVX))

    assert (first, second) == ({host}, set())


def test_own_writes_that_were_taken_back_are_forgotten(provider):
    host, gone, new = provider(VCPU=2), provider(VCPU=2), uuid4()
    snapshot = ProviderSnapshot()
    snapshot.read(len)

    with pytest.raises(TakenBackError), transaction.atomic():
        provider_traits_set(host, {AVX})
        provider_delete(gone)
        provider_ensure(new, "new")
        assert snapshot.facts().keys() == {host, new}
        raise TakenBackError

    assert snapshot.facts().keys() == {host, gone}
    assert same_as_new(snapshot)


def test_snapshot_that_began_inside_a_transaction_forgets_what_was_taken_back(provider):
    host, gone = provider(VCPU=2), provider(VCPU=2)
    snapshot = ProviderSnapshot()

    with pytest.raises(TakenBackError), transaction.atomic():
        provider_delete(gone)
        assert snapshot.facts().keys() == {host}
        raise TakenBackError

    assert snapshot.facts().keys() == {host, gone}


def test_write_after_another_was_taken_back_is_seen(provider):
    first, second = provider(VCPU=2), provider(VCPU=2)
    snapshot = ProviderSnapshot()
    snapshot.read(len)
    with pytest.raises(TakenBackError), transaction.atomic():
        provider_traits_set(first, {AVX})
        snapshot.read(len)
        raise TakenBackError

    provider_traits_set(second, {AVX})

    assert found(snapshot, with_trait(AVX)) == {second}


def test_own_writes_are_looked_at_again_only_until_they_are_committed(provider):
    host = provider(VCPU=2)
    snapshot = ProviderSnapshot()
    snapshot.read(len)
    with transaction.atomic():
        provider_traits_set(host, {AVX})
        snapshot.read(len)
    snapshot.read(len)

    assert undisturbed_queries_of(snapshot) == 1


def test_open_transaction_elsewhere_does_not_load_the_same_changes_again(provider, claim):
    if connection.vendor != "postgresql":
        pytest.skip("on SQLite stamps are not transactions")
    host, snapshot = provider(VCPU=4), ProviderSnapshot()
    other = connection.copy("other")
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute("SELECT pg_current_xact_id()")
        snapshot.read(len)
        allocations_claim([claim(host, VCPU=1)])

        assert (queries_of(snapshot), undisturbed_queries_of(snapshot)) == (3, 1)
    finally:
        other.close()


def test_change_committed_after_a_later_one_is_seen(provider):
    if connection.vendor != "postgresql":
        pytest.skip("on SQLite writers come one after another")
    early, late, snapshot = provider(VCPU=2), provider(VCPU=2), ProviderSnapshot()
    other = connection.copy("other")
    try:
        with other.cursor() as cursor:
            cursor.execute("BEGIN")
            change = "UPDATE placement_resourceprovider SET changed = pg_current_xact_id()::text::bigint, name = 'new'"
            cursor.execute(change + " WHERE uuid = %s", [early])
            provider_traits_set(late, {AVX})
            snapshot.read(len)
            cursor.execute("COMMIT")

        assert snapshot.facts()[early].name == "new"
    finally:
        other.close()


def test_emptied_tables_empty_the_snapshot(provider):
    for _ in range(3):
        provider()
    snapshot = ProviderSnapshot()
    snapshot.read(len)

    empty_tables()

    assert snapshot.facts() == {}


def test_other_database_in_the_same_place_is_loaded_anew(provider):
    for _ in range(3):
        provider()
    snapshot = ProviderSnapshot()
    snapshot.read(len)
    empty_tables()

    other = provider(VCPU=2)

    assert snapshot.facts().keys() == {other}


def test_many_removals_leave_the_rest_in_order(provider):
    hosts = [provider() for _ in range(150)]
    snapshot = ProviderSnapshot()
    snapshot.read(len)

    for host in hosts[:140:2]:
        provider_delete(host)
    inventory_set(hosts[141], {"VCPU": InventorySpec(total=2)})

    assert list(snapshot.facts()) == hosts[1:140:2] + hosts[140:]
    assert found(snapshot) == {hosts[141]}


def test_refusals_name_the_rule_with_the_numbers_of_their_moment(provider, claim):
    free, full = provider(VCPU=4), provider(VCPU=4)
    allocations_claim([claim(full, VCPU=3)])
    snapshot = ProviderSnapshot()

    refusals = candidate_refusals(TWO, snapshot=snapshot)

    allocations_claim([claim(full, VCPU=1)])
    snapshot.read(len)
    assert set(refusals) == {full}
    assert (refusals[full].reason, refusals[full].wanted, refusals[full].available) == (
        RefusalReason.VCPU_SHORT,
        2,
        1,
    )
    assert refusals.of(free) is None
