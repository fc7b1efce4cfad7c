"""Providers, inventories, traits and aggregates: stated, and written only when they change."""

from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.kernel.errors import Conflict, Invalid, NotFound
from placement.domain import InventorySpec, ProviderKind, TraitOwner
from placement.models import ResourceProvider, Trait
from placement.selectors import (
    fleet_usage,
    provider_aggregates_by_uuid,
    provider_find,
    provider_get,
    provider_traits_by_uuid,
)
from placement.services import (
    allocations_claim,
    inventory_put,
    inventory_remove,
    inventory_set,
    provider_aggregates_set,
    provider_delete,
    provider_ensure,
    provider_status_disabled,
    provider_traits_set,
)
from placement.services.names import trait_ensure

pytestmark = pytest.mark.django_db

PARTS = 4
"""SQLite takes a thousand values in one statement: what is written together may go in some more parts."""


def mark(uuid: UUID) -> tuple[int, int]:
    """Generation and change stamp."""
    return ResourceProvider.objects.values_list("generation", "changed").get(uuid=uuid)


def test_new_provider_is_its_own_root():
    view = provider_ensure(uuid4(), "host-1")

    assert (view.name, view.kind, view.generation) == ("host-1", ProviderKind.COMPUTE, 0)
    assert (view.parent_uuid, view.root_uuid) == (None, view.uuid)


def test_ensuring_again_changes_nothing(django_assert_num_queries):
    view = provider_ensure(uuid4(), "host-1")
    before = mark(view.uuid)

    with django_assert_num_queries(1):
        provider_ensure(view.uuid, "host-1")

    assert mark(view.uuid) == before


def test_renaming_keeps_the_generation_and_moves_the_stamp():
    view = provider_ensure(uuid4(), "host-1")
    _, stamp = mark(view.uuid)

    provider_ensure(view.uuid, "host-2")

    generation, moved = mark(view.uuid)
    assert generation == 0
    assert moved >= stamp


def test_name_of_another_provider_conflicts():
    provider_ensure(uuid4(), "host-1")

    with pytest.raises(Conflict) as refused:
        provider_ensure(uuid4(), "host-1")

    assert refused.value.field == "name"


def test_child_has_the_root_of_its_parent():
    root = provider_ensure(uuid4(), "host-1")
    child = provider_ensure(uuid4(), "numa0", root.uuid, kind=ProviderKind.NESTED)
    grandchild = provider_ensure(uuid4(), "nic0", child.uuid)

    assert (grandchild.parent_uuid, grandchild.root_uuid) == (child.uuid, root.uuid)


def test_moved_child_takes_its_children_along():
    root, other = provider_ensure(uuid4(), "host-1"), provider_ensure(uuid4(), "host-2")
    child = provider_ensure(uuid4(), "numa0", root.uuid)
    grandchild = provider_ensure(uuid4(), "nic0", child.uuid)

    provider_ensure(child.uuid, "numa0", other.uuid)

    assert provider_get(grandchild.uuid).root_uuid == other.uuid


def test_parent_below_itself_is_invalid():
    root = provider_ensure(uuid4(), "host-1")
    child = provider_ensure(uuid4(), "numa0", root.uuid)

    with pytest.raises(Invalid):
        provider_ensure(root.uuid, "host-1", child.uuid)


def test_parent_that_does_not_exist_is_invalid():
    with pytest.raises(Invalid):
        provider_ensure(uuid4(), "numa0", uuid4())


def test_deleted_provider_is_gone_with_all_it_had(provider):
    host = provider(VCPU=4)
    provider_traits_set(host, {"HW_CPU_X86_AVX2"})
    provider_aggregates_set(host, {uuid4()})

    assert provider_delete(host)

    assert provider_find(host) is None
    assert not provider_delete(host)


def test_provider_in_use_is_not_deleted(provider, claim):
    host = provider(VCPU=4)
    allocations_claim([claim(host, VCPU=1)])

    with pytest.raises(Conflict):
        provider_delete(host)


def test_provider_with_children_is_not_deleted():
    root = provider_ensure(uuid4(), "host-1")
    provider_ensure(uuid4(), "numa0", root.uuid)

    with pytest.raises(Conflict):
        provider_delete(root.uuid)


def test_same_inventory_again_is_no_write(provider, django_assert_num_queries):
    host = provider(VCPU=4, MEMORY_MB=InventorySpec(total=1000, reserved=100, allocation_ratio=1.5))
    before = mark(host)

    with django_assert_num_queries(2):
        inventory_set(host, {"VCPU": InventorySpec(4), "MEMORY_MB": InventorySpec(1000, 100, allocation_ratio=1.5)})

    assert mark(host) == before


def test_changed_inventory_is_one_generation_more(provider):
    host = provider(VCPU=4, DISK_GB=10)
    generation, _ = mark(host)

    view = inventory_set(host, {"VCPU": InventorySpec(8), "MEMORY_MB": InventorySpec(100)})

    assert view.generation == generation + 1
    classes = fleet_usage([host])[host]
    assert {name: usage.capacity for name, usage in classes.items()} == {"VCPU": 8, "MEMORY_MB": 100}


def test_class_in_use_is_not_removed(provider, claim):
    host = provider(VCPU=4, DISK_GB=10)
    allocations_claim([claim(host, VCPU=3)])

    with pytest.raises(Conflict) as refused:
        inventory_set(host, {"DISK_GB": InventorySpec(10)})

    assert refused.value.extra["in_use"] == {"VCPU": 3}


def test_changed_inventory_keeps_what_is_used(provider, claim):
    host = provider(VCPU=4)
    allocations_claim([claim(host, VCPU=3)])

    inventory_set(host, {"VCPU": InventorySpec(2)})

    usage = fleet_usage([host])[host]["VCPU"]
    assert (usage.used, usage.capacity, usage.free) == (3, 2, 0)


def test_custom_class_is_made_and_an_unknown_one_is_invalid(provider):
    host = provider(CUSTOM_FPGA=2)

    with pytest.raises(Invalid):
        inventory_set(host, {"FPGA_OF_OURS": InventorySpec(2)})

    assert fleet_usage([host])[host]["CUSTOM_FPGA"].total == 2


@pytest.mark.parametrize(
    "spec",
    [
        InventorySpec(0),
        InventorySpec(4, reserved=5),
        InventorySpec(4, step_size=0),
        InventorySpec(4, max_unit=2**31),
        InventorySpec(4, allocation_ratio=float("inf")),
        InventorySpec(4, allocation_ratio=-1.0),
    ],
)
def test_impossible_inventory_is_invalid(provider, spec):
    with pytest.raises(Invalid):
        inventory_set(provider(VCPU=1), {"VCPU": spec})


def test_inventory_of_an_unknown_provider_is_not_found():
    with pytest.raises(NotFound):
        inventory_set(uuid4(), {"VCPU": InventorySpec(1)})


def test_old_generation_conflicts(provider):
    host = provider(VCPU=4)
    generation, _ = mark(host)

    with pytest.raises(Conflict):
        inventory_set(host, {}, expected_generation=generation - 1)
    inventory_set(host, {}, expected_generation=generation)


def test_one_class_is_stated_and_removed_alone(provider):
    host = provider(VCPU=4, DISK_GB=10)

    inventory_put(host, "VCPU", InventorySpec(6))
    inventory_remove(host, "DISK_GB")

    assert {name: usage.total for name, usage in fleet_usage([host])[host].items()} == {"VCPU": 6}


def test_driver_replaces_its_own_traits_only(provider):
    host = provider()
    provider_traits_set(host, {"CUSTOM_GOLD"}, owner=TraitOwner.OPERATOR)
    provider_traits_set(host, {"HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"})

    provider_traits_set(host, {"HW_CPU_X86_AVX2"})

    assert provider_traits_by_uuid([host])[host] == {"CUSTOM_GOLD", "HW_CPU_X86_AVX2"}


def test_same_traits_again_are_no_write(provider, django_assert_num_queries):
    host = provider()
    provider_traits_set(host, {"HW_CPU_X86_AVX"})
    before = mark(host)

    with django_assert_num_queries(2):
        provider_traits_set(host, ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX"])

    assert mark(host) == before


def test_whole_set_replaces_traits_of_every_owner(provider):
    host = provider()
    provider_traits_set(host, {"HW_CPU_X86_AVX"})
    provider_status_disabled(host, True)

    provider_traits_set(host, {"CUSTOM_GOLD"}, owner=None)

    assert provider_traits_by_uuid([host])[host] == {"CUSTOM_GOLD"}


def test_unknown_standard_trait_is_invalid(provider):
    with pytest.raises(Invalid):
        provider_traits_set(provider(), {"HW_CPU_OF_OURS"})


def test_status_survives_the_report_of_the_driver(provider):
    host = provider()
    provider_status_disabled(host, True)

    provider_traits_set(host, {"HW_CPU_X86_AVX"})

    assert "COMPUTE_STATUS_DISABLED" in provider_traits_by_uuid([host])[host]


def test_enabling_takes_the_status_away_and_twice_is_once(provider):
    host = provider()
    provider_status_disabled(host, True)

    provider_status_disabled(host, False)
    before = mark(host)
    provider_status_disabled(host, False)

    assert provider_traits_by_uuid([host]) == {}
    assert mark(host) == before


def test_aggregates_are_replaced(provider):
    host, first, second = provider(), uuid4(), uuid4()
    provider_aggregates_set(host, {first})

    provider_aggregates_set(host, {second})

    assert provider_aggregates_by_uuid([host]) == {host: {second}}


def test_same_aggregates_again_are_no_write(provider):
    host, first = provider(), uuid4()
    provider_aggregates_set(host, {first})
    before = mark(host)

    provider_aggregates_set(host, [first])

    assert mark(host) == before


def names_of_customs() -> set[str]:
    return set(Trait.objects.filter(name__startswith="CUSTOM_").values_list("name", flat=True))


def test_custom_trait_that_only_a_host_reported_goes_when_it_reports_it_no_more(provider):
    host = provider()
    other = provider_ensure(uuid4(), "host-2")
    provider_traits_set(host, {"CUSTOM_A", "CUSTOM_B", "HW_CPU_X86_AVX"})
    provider_traits_set(other.uuid, {"CUSTOM_B"})
    provider_traits_set(host, {"HW_CPU_X86_AVX"})

    assert names_of_customs() == {"CUSTOM_B"}
    provider_traits_set(other.uuid, set())
    assert names_of_customs() == set()
    provider_traits_set(host, set())
    assert Trait.objects.filter(name="HW_CPU_X86_AVX").exists()


def test_custom_traits_of_a_host_go_with_its_provider(provider):
    host = provider()
    provider_traits_set(host, {"CUSTOM_A", "CUSTOM_B"})
    provider_delete(host)

    assert names_of_customs() == set()


def test_custom_trait_that_a_person_made_stays(provider):
    host = provider()
    trait_ensure("CUSTOM_FIRST")
    provider_traits_set(host, {"CUSTOM_FIRST", "CUSTOM_THEN", "CUSTOM_PUT"})
    assert not trait_ensure("CUSTOM_THEN")
    other = provider_ensure(uuid4(), "host-2")
    provider_traits_set(other.uuid, {"CUSTOM_PUT"}, owner=TraitOwner.OPERATOR)
    provider_delete(other.uuid)
    provider_delete(host)

    assert names_of_customs() == {"CUSTOM_FIRST", "CUSTOM_THEN", "CUSTOM_PUT"}


def test_many_traits_cost_few_statements_more_than_one(provider):
    host = provider()

    def statements(many: int) -> int:
        with CaptureQueriesContext(connection) as seen:
            provider_traits_set(host, {f"CUSTOM_{many}_{at}" for at in range(many)})
        return len(seen)

    provider_traits_set(host, {"CUSTOM_OLD"})
    few = statements(1)
    assert statements(400) <= few + PARTS
    assert len(names_of_customs()) == 400
