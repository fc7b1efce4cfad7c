"""Claim, free, move: all or nothing, once, and with reasons."""

from uuid import UUID, uuid4

import pytest
from django.db import IntegrityError, transaction

from controlplane.kernel.errors import Conflict, Invalid, NoCapacity, NotFound
from placement.domain import Claim, InventorySpec
from placement.models import Consumer, Inventory
from placement.selectors import allocations_by_consumer, consumer_list_of_provider, fleet_usage, provider_get
from placement.services import (
    allocations_claim,
    allocations_free,
    allocations_move,
    audit_inventory_usage,
    inventory_set,
)

pytestmark = pytest.mark.django_db


def used(provider: UUID, name: str = "VCPU") -> int:
    return fleet_usage([provider])[provider][name].used


def test_claim_within_capacity_is_held(provider, claim):
    host = provider(VCPU=4, MEMORY_MB=1024)
    one = claim(host, VCPU=2, MEMORY_MB=512)

    allocations_claim([one])

    held = allocations_by_consumer([one.consumer_uuid])[one.consumer_uuid]
    assert [(row.resource_class, row.used) for row in held] == [("MEMORY_MB", 512), ("VCPU", 2)]
    assert used(host) == 2


def test_claim_uses_overcommitted_capacity_to_the_last_unit(provider, claim):
    host = provider(VCPU=InventorySpec(total=5, reserved=2, allocation_ratio=1.5))

    allocations_claim([claim(host, VCPU=4)])

    with pytest.raises(NoCapacity):
        allocations_claim([claim(host, VCPU=1)])


def test_claim_beyond_capacity_names_provider_class_and_numbers(provider, claim):
    host = provider(VCPU=4, MEMORY_MB=1024)
    allocations_claim([claim(host, VCPU=3)])

    with pytest.raises(NoCapacity) as refused:
        allocations_claim([claim(host, VCPU=2, MEMORY_MB=512)])

    extra = refused.value.extra
    assert (extra["provider_uuid"], extra["resource_class"]) == (host, "VCPU")
    assert (extra["wanted"], extra["free"], extra["rule"]) == (2, 1, "capacity")


def test_batch_with_one_loser_leaves_no_trace(provider, claim):
    roomy, full = provider(VCPU=100), provider(VCPU=1)
    generations = [provider_get(uuid).generation for uuid in (roomy, full)]
    batch = [claim(roomy, VCPU=1), claim(full, VCPU=1), claim(full, VCPU=1)]

    with pytest.raises(NoCapacity):
        allocations_claim(batch)

    assert allocations_by_consumer() == {}
    assert not Consumer.objects.exists()
    assert (used(roomy), used(full)) == (0, 0)
    assert [provider_get(uuid).generation for uuid in (roomy, full)] == generations


def test_batch_with_several_losers_lists_all_of_them(provider, claim):
    first, second, third = provider(VCPU=1), provider(VCPU=1), provider(VCPU=9)

    with pytest.raises(NoCapacity) as refused:
        allocations_claim([claim(host, VCPU=2) for host in (first, second, third)])

    assert {row["provider_uuid"] for row in refused.value.extra["shortages"]} == {str(first), str(second)}


def test_batch_on_one_provider_counts_together(provider, claim):
    host = provider(VCPU=10)

    with pytest.raises(NoCapacity) as refused:
        allocations_claim([claim(host, VCPU=4) for _ in range(3)])

    assert refused.value.extra["wanted"] == 12


@pytest.mark.parametrize(
    ("amounts", "rule"),
    [((1,), "min_unit"), ((9,), "max_unit"), ((5,), "step_size"), ((4, 5), "step_size"), ((8, 8, 8), "capacity")],
)
def test_amount_that_breaks_a_unit_rule_is_refused_by_its_name(provider, claim, amounts, rule):
    host = provider(VCPU=InventorySpec(total=20, min_unit=2, max_unit=8, step_size=2))

    with pytest.raises(NoCapacity) as refused:
        allocations_claim([claim(host, VCPU=amount) for amount in amounts])

    assert refused.value.extra["rule"] == rule


def test_unknown_provider_or_class_has_no_inventory(provider, claim):
    host = provider(VCPU=4)

    for hopeless in (claim(uuid4(), VCPU=1), claim(host, DISK_GB=1), claim(host, CUSTOM_NOBODY_HAS=1)):
        with pytest.raises(NoCapacity) as refused:
            allocations_claim([hopeless])
        assert refused.value.extra["rule"] == "no_inventory"


def test_consumer_that_holds_allocations_cannot_claim_again(provider, claim):
    host = provider(VCPU=4)
    one = claim(host, VCPU=1)
    allocations_claim([one])

    with pytest.raises(Conflict):
        allocations_claim([claim(host, VCPU=1), one])

    assert used(host) == 1


@pytest.mark.parametrize("amounts", [{}, {"VCPU": 0}, {"VCPU": -3}])
def test_claim_of_nothing_is_invalid(provider, claim, amounts):
    with pytest.raises(Invalid):
        allocations_claim([claim(provider(VCPU=4), **amounts)])


def test_consumer_named_twice_is_invalid(provider, claim):
    one = claim(provider(VCPU=4), VCPU=1)

    with pytest.raises(Invalid):
        allocations_claim([one, one])


def test_no_claims_are_fine(db):
    allocations_claim([])


def test_claim_on_several_providers_is_one_consumer(provider):
    compute, storage = provider(VCPU=4), provider(DISK_GB=100)
    both = Claim(uuid4(), "p", "u", {compute: {"VCPU": 1}, storage: {"DISK_GB": 10}})

    allocations_claim([both])

    assert {row.provider_uuid for row in allocations_by_consumer()[both.consumer_uuid]} == {compute, storage}


def test_claim_bumps_the_generation_once_and_free_leaves_it(provider, claim):
    host = provider(VCPU=9, MEMORY_MB=99)
    before = provider_get(host).generation
    batch = [claim(host, VCPU=1, MEMORY_MB=1) for _ in range(3)]

    allocations_claim(batch)
    assert provider_get(host).generation == before + 1

    allocations_free([one.consumer_uuid for one in batch])
    assert provider_get(host).generation == before + 1


def test_queries_do_not_grow_with_the_batch(provider, claim, django_assert_num_queries):
    hosts = [provider(VCPU=50, MEMORY_MB=5000) for _ in range(5)]
    batch = [claim(hosts[index % 5], VCPU=1, MEMORY_MB=10) for index in range(50)]

    # Savepoint in and out, and within: consumers, inventories, (lock), touch, guard, allocations; bulk_create adds
    # its own savepoints.
    with django_assert_num_queries(11, exact=False):
        allocations_claim(batch)
    with django_assert_num_queries(9, exact=False):
        allocations_free([one.consumer_uuid for one in batch])


def test_batch_larger_than_one_statement_is_whole(provider, claim):
    hosts = [provider(VCPU=2, MEMORY_MB=2) for _ in range(300)]
    allocations_claim([claim(host, VCPU=1, MEMORY_MB=1) for host in hosts])

    with pytest.raises(NoCapacity):
        allocations_claim([claim(host, VCPU=1, MEMORY_MB=1) for host in hosts] + [claim(hosts[-1], VCPU=1)])

    assert {classes["VCPU"].used for classes in fleet_usage(hosts).values()} == {1}


def test_freeing_gives_back_and_forgets_the_consumer(provider, claim):
    host = provider(VCPU=4)
    one = claim(host, VCPU=3)
    allocations_claim([one])

    assert allocations_free([one.consumer_uuid]) == 1

    assert used(host) == 0
    assert consumer_list_of_provider(host) == []
    allocations_claim([one])


def test_freeing_twice_gives_back_once(provider, claim):
    host = provider(VCPU=4)
    one, other = claim(host, VCPU=1), claim(host, VCPU=2)
    allocations_claim([one, other])
    allocations_free([one.consumer_uuid])

    assert allocations_free([one.consumer_uuid, one.consumer_uuid, uuid4()]) == 0

    assert used(host) == 2


def test_moved_allocations_belong_to_the_new_consumer_and_the_old_may_claim_anew(provider, claim):
    source, target = provider(VCPU=4), provider(VCPU=4)
    one, migration = claim(source, VCPU=2), uuid4()
    allocations_claim([one])

    assert allocations_move(one.consumer_uuid, migration) == 1
    allocations_claim([claim(target, consumer=one.consumer_uuid, VCPU=2)])

    (holder,) = consumer_list_of_provider(source)
    assert (holder.uuid, holder.consumer_type, holder.project_id) == (migration, "MIGRATION", str(UUID(int=1)))
    assert (used(source), used(target)) == (2, 2)


def test_move_to_somebody_who_holds_allocations_conflicts(provider, claim):
    host = provider(VCPU=4)
    one, other = claim(host, VCPU=1), claim(host, VCPU=1)
    allocations_claim([one, other])

    with pytest.raises(Conflict):
        allocations_move(one.consumer_uuid, other.consumer_uuid)


def test_move_from_nobody_is_not_found(db):
    with pytest.raises(NotFound):
        allocations_move(uuid4(), uuid4())


def test_shrunk_inventory_accepts_frees_and_refuses_claims(provider, claim):
    host = provider(VCPU=4)
    one, other = claim(host, VCPU=2), claim(host, VCPU=2)
    allocations_claim([one, other])
    inventory_set(host, {"VCPU": InventorySpec(total=1)})

    with pytest.raises(NoCapacity):
        allocations_claim([claim(host, VCPU=1)])
    allocations_free([one.consumer_uuid])
    with pytest.raises(NoCapacity):
        allocations_claim([claim(host, VCPU=1)])

    assert used(host) == 2
    assert audit_inventory_usage() == []


def test_database_itself_refuses_to_use_more_than_the_capacity(provider):
    host = provider(VCPU=4)

    with pytest.raises(IntegrityError), transaction.atomic():
        Inventory.objects.filter(provider__uuid=host).update(used=5)
