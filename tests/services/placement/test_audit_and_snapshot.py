"""What the audit finds, what readers of the fleet see again, which names are there."""

from uuid import uuid4

import pytest
from os_traits import get_traits

from placement.candidates import CandidateQuery
from placement.domain import FindingKind, InventorySpec
from placement.models import Allocation, Consumer, Inventory, Trait
from placement.selectors import (
    FleetSnapshot,
    candidate_search,
    change_mark,
    changes_since,
    consumers_older_than,
    fleet_usage,
)
from placement.services import (
    allocations_claim,
    audit_inventory_usage,
    inventory_set,
    provider_delete,
    provider_ensure,
    provider_traits_set,
    standard_names_sync,
)

pytestmark = pytest.mark.django_db


def kinds() -> list[FindingKind]:
    return [finding.kind for finding in audit_inventory_usage()]


def test_sound_fleet_has_no_findings(provider, claim):
    host = provider(VCPU=4, DISK_GB=10)
    allocations_claim([claim(host, VCPU=1, DISK_GB=2), claim(host, VCPU=1)])

    assert audit_inventory_usage() == []


def test_drifted_counter_is_found_with_its_numbers(provider, claim):
    host = provider(VCPU=4)
    allocations_claim([claim(host, VCPU=1)])
    Inventory.objects.update(used=3)

    (finding,) = audit_inventory_usage()

    assert (finding.kind, finding.provider_uuid) == (FindingKind.USED_DIFFERS, host)
    assert (finding.used, finding.allocated) == (3, 1)
    assert "used says 3" in finding.sentence()


def test_allocations_beyond_the_capacity_are_found(provider, claim):
    host = provider(VCPU=4)
    allocations_claim([claim(host, VCPU=4)])
    Allocation.objects.update(used=5)

    assert kinds() == [FindingKind.USED_DIFFERS, FindingKind.OVER_ALLOCATED]


def test_shrunk_inventory_is_no_finding(provider, claim):
    host = provider(VCPU=4)
    allocations_claim([claim(host, VCPU=4)])
    inventory_set(host, {"VCPU": InventorySpec(1)})

    assert audit_inventory_usage() == []


def test_consumer_that_holds_nothing_is_found(db):
    Consumer.objects.create(uuid=uuid4(), project_id="p", user_id="u")

    assert kinds() == [FindingKind.CONSUMER_WITHOUT_ALLOCATIONS]


def test_allocation_without_inventory_is_found(provider, claim):
    host = provider(VCPU=4)
    allocations_claim([claim(host, VCPU=4)])
    Inventory.objects.all().delete()

    assert kinds() == [FindingKind.ALLOCATION_WITHOUT_INVENTORY]


def test_fleet_usage_queries_do_not_grow_with_the_fleet(provider, django_assert_num_queries):
    for _ in range(10):
        provider(VCPU=4, MEMORY_MB=10)

    with django_assert_num_queries(3):
        assert len(fleet_usage()) == 10


def test_young_consumers_are_not_old(provider, claim):
    one = claim(provider(VCPU=4), VCPU=1)
    allocations_claim([one])

    assert consumers_older_than(seconds=60) == []
    assert consumers_older_than(seconds=-60) == [one.consumer_uuid]


def test_standard_names_are_there_and_syncing_again_adds_nothing(django_assert_num_queries):
    assert Trait.objects.filter(name__in=get_traits()).count() == len(get_traits())

    with django_assert_num_queries(2):
        assert standard_names_sync() == 0


def test_lost_standard_name_comes_back():
    Trait.objects.filter(name="HW_CPU_X86_AVX").delete()

    assert standard_names_sync() == 1


def test_claim_is_a_change_of_its_provider(provider, claim):
    host, _ = provider(VCPU=4), provider(VCPU=4)
    mark = change_mark()

    allocations_claim([claim(host, VCPU=1)])

    assert host in changes_since(mark).changed


def test_deletion_is_seen_as_removal(provider):
    host = provider()
    mark = change_mark()

    provider_delete(host)

    assert changes_since(mark).removed == {host}


def test_deleted_and_made_again_is_changed_not_removed(provider):
    host = provider()
    mark = change_mark()
    provider_delete(host)
    provider_ensure(host, "again")

    changes = changes_since(mark)

    assert (changes.changed >= {host}, changes.removed) == (True, frozenset())


def test_search_sees_what_was_claimed_stated_and_deleted_meanwhile(provider, claim):
    small, large = provider(VCPU=2), provider(VCPU=8)
    snapshot, two = FleetSnapshot(), CandidateQuery(resources={"VCPU": 2})
    assert set(candidate_search(two, snapshot=snapshot).uuids) == {small, large}

    allocations_claim([claim(small, VCPU=1)])
    assert candidate_search(two, snapshot=snapshot).uuids == (large,)

    late = provider(VCPU=2)
    provider_delete(large)
    assert candidate_search(two, snapshot=snapshot).uuids == (late,)


def test_search_sees_a_new_trait(provider):
    host = provider(VCPU=2)
    snapshot, fast = FleetSnapshot(), CandidateQuery({"VCPU": 1}, required_traits=frozenset({"HW_CPU_X86_AVX"}))
    assert candidate_search(fast, snapshot=snapshot).uuids == ()

    provider_traits_set(host, {"HW_CPU_X86_AVX"})

    assert candidate_search(fast, snapshot=snapshot).uuids == (host,)
