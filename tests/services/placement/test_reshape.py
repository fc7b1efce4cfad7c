"""Reshape: inventories and allocations move together, or not at all."""

from uuid import UUID, uuid4

import pytest

from controlplane.kernel.errors import Invalid, NoCapacity
from placement.domain import ConsumerChanged, ConsumerState, InventoryInUse, InventorySpec, ProviderChanged
from placement.selectors import allocations_by_consumer, fleet_usage, provider_get
from placement.services import allocations_replace, audit_inventory_usage, inventory_set, reshape

pytestmark = pytest.mark.django_db

CONSUMER = UUID(int=7)


def state(generation: int | None, resources: dict[UUID, dict[str, int]], consumer: UUID = CONSUMER) -> ConsumerState:
    return ConsumerState(consumer, "project", "user", "INSTANCE", resources, generation)


def generation(provider: UUID) -> int:
    return provider_get(provider).generation


def usage(provider: UUID) -> dict[str, tuple[int, int]]:
    return {name: (one.used, one.capacity) for name, one in fleet_usage([provider])[provider].items()}


@pytest.fixture
def host(provider) -> UUID:
    """A host whose consumer uses all of its VGPU."""
    uuid: UUID = provider(VCPU=4, VGPU=2)
    allocations_replace([state(None, {uuid: {"VCPU": 1, "VGPU": 2}})])
    return uuid


def test_class_in_use_moves_to_a_child_with_its_allocations(provider, host):
    child = provider()

    reshape(
        {
            host: (generation(host), {"VCPU": InventorySpec(4)}),
            child: (generation(child), {"VGPU": InventorySpec(2)}),
        },
        [state(1, {host: {"VCPU": 1}, child: {"VGPU": 2}})],
    )

    assert (usage(host), usage(child)) == ({"VCPU": (1, 4)}, {"VGPU": (2, 2)})
    assert audit_inventory_usage() == []


def test_generations_grow_as_clients_of_placement_know_it(provider, host):
    child = provider()
    before = generation(host), generation(child)

    reshape(
        {host: (before[0], {"VCPU": InventorySpec(4)}), child: (before[1], {"VGPU": InventorySpec(2)})},
        [state(1, {host: {"VCPU": 1}, child: {"VGPU": 2}})],
    )
    assert (generation(host), generation(child)) == (before[0] + 3, before[1] + 3)

    reshape({child: (before[1] + 3, {})}, [state(2, {host: {"VCPU": 1}})])
    assert (generation(host), generation(child)) == (before[0] + 4, before[1] + 5)


def test_class_that_goes_while_it_is_used_is_refused_and_leaves_no_trace(host):
    before = generation(host)

    with pytest.raises(InventoryInUse) as refused:
        reshape({host: (before, {"VCPU": InventorySpec(9)})}, [])

    assert (refused.value.extra["provider_uuid"], refused.value.extra["in_use"]) == (host, {"VGPU": 2})
    assert (generation(host), usage(host)) == (before, {"VCPU": (1, 4), "VGPU": (2, 2)})


def test_provider_at_another_generation_is_left_alone(host):
    before = generation(host)

    with pytest.raises(ProviderChanged) as refused:
        reshape({host: (before - 1, {})}, [state(99, {})])

    extra = refused.value.extra
    assert (extra["provider_uuid"], extra["expected"], extra["generation"]) == (host, before - 1, before)
    assert generation(host) == before


def test_consumer_at_another_generation_is_left_alone(host):
    with pytest.raises(ConsumerChanged):
        reshape({host: (generation(host), {"VCPU": InventorySpec(4)})}, [state(99, {host: {"VCPU": 1}})])

    assert usage(host) == {"VCPU": (1, 4), "VGPU": (2, 2)}


def test_allocation_beyond_the_new_inventory_is_refused(provider, host):
    child = provider()

    with pytest.raises(NoCapacity) as refused:
        reshape(
            {
                host: (generation(host), {"VCPU": InventorySpec(4)}),
                child: (generation(child), {"VGPU": InventorySpec(1)}),
            },
            [state(1, {host: {"VCPU": 1}, child: {"VGPU": 2}})],
        )

    assert (refused.value.extra["provider_uuid"], refused.value.extra["free"]) == (child, 1)


def test_inventory_shrinks_below_what_is_used_and_consumers_keep_it(host):
    reshape(
        {host: (generation(host), {"VCPU": InventorySpec(4), "VGPU": InventorySpec(1)})},
        [state(1, {host: {"VCPU": 1, "VGPU": 2}})],
    )

    assert usage(host)["VGPU"] == (2, 1)
    assert audit_inventory_usage() == []


def test_unknown_names_are_told_apart_by_where_they_stand(host):
    nowhere = uuid4()

    with pytest.raises(Invalid) as in_inventories:
        reshape({nowhere: (0, {})}, [])
    with pytest.raises(Invalid) as in_allocations:
        reshape({}, [state(1, {nowhere: {"VCPU": 1}})])
    with pytest.raises(Invalid) as unknown_class:
        reshape({host: (generation(host), {"CUSTOM_NOBODY_HAS": InventorySpec(1)})}, [])

    assert in_inventories.value.extra == {"unknown": [str(nowhere)], "where": "inventories"}
    assert in_allocations.value.extra == {"unknown": [str(nowhere)]}
    assert (unknown_class.value.field, unknown_class.value.extra) == (
        "resource_class",
        {"unknown": ["CUSTOM_NOBODY_HAS"]},
    )


def test_allocations_alone_are_replaced(host):
    reshape({}, [state(1, {})])

    assert allocations_by_consumer() == {}


def test_nothing_to_reshape_is_fine(db):
    reshape({}, [])


def test_later_claim_fits_the_reshaped_inventory(provider, host):
    reshape({host: (generation(host), {"VCPU": InventorySpec(2), "VGPU": InventorySpec(2)})}, [])
    inventory_set(host, {"VCPU": InventorySpec(2), "VGPU": InventorySpec(2)})

    with pytest.raises(NoCapacity):
        allocations_replace([state(None, {host: {"VCPU": 2}}, uuid4())])
    allocations_replace([state(None, {host: {"VCPU": 1}}, uuid4())])
