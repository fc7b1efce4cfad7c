"""What the audit finds, what the usage of the fleet costs, which names are there."""

from uuid import uuid4

import pytest
from os_traits import get_traits

from placement.domain import FindingKind, InventorySpec
from placement.models import Allocation, Consumer, Inventory, Trait
from placement.selectors import consumers_older_than, fleet_usage
from placement.services import (
    allocations_claim,
    audit_inventory_usage,
    inventory_set,
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
