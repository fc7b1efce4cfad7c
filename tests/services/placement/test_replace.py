"""Replace: whole new states of consumers, all or none, under their generations and the rules of the inventories."""

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest

from controlplane.kernel.errors import Invalid, NoCapacity
from placement.domain import INCOMPLETE_OWNER, UNCHECKED, ConsumerChanged, ConsumerState, InventorySpec
from placement.models import Consumer, Inventory
from placement.selectors import allocations_by_consumer, fleet_usage, provider_get
from placement.services import (
    allocations_claim,
    allocations_free,
    allocations_replace,
    audit_inventory_usage,
    inventory_set,
)

pytestmark = pytest.mark.django_db

MakeState = Callable[..., ConsumerState]


@pytest.fixture
def state() -> MakeState:
    """A state on one provider; of nothing without amounts."""

    def make(
        provider_uuid: UUID, consumer: UUID, generation: object = None, *, kind: str | None = "INSTANCE", **amounts: int
    ) -> ConsumerState:
        resources = {provider_uuid: amounts} if amounts else {}
        return ConsumerState(consumer, "project", "user", kind, resources, generation)  # type: ignore[arg-type]

    return make


def used(provider: UUID, name: str = "VCPU") -> int:
    return fleet_usage([provider])[provider][name].used


def generation(consumer: UUID) -> int:
    return Consumer.objects.get(uuid=consumer).generation


def held(consumer: UUID) -> dict[str, int]:
    return {row.resource_class: row.used for row in allocations_by_consumer([consumer]).get(consumer, ())}


def test_new_consumer_is_at_generation_1_and_each_replacement_adds_1(provider, state):
    host, one = provider(VCPU=4), uuid4()

    allocations_replace([state(host, one, VCPU=1)])
    assert generation(one) == 1

    allocations_replace([state(host, one, 1, VCPU=3)])
    assert (generation(one), held(one), used(host)) == (2, {"VCPU": 3}, 3)


@pytest.mark.parametrize(("expected", "actual"), [(None, 1), (0, 1), (2, 1)])
def test_consumer_at_another_generation_is_left_alone(provider, state, expected, actual):
    host, one = provider(VCPU=4), uuid4()
    allocations_replace([state(host, one, VCPU=1)])

    with pytest.raises(ConsumerChanged) as refused:
        allocations_replace([state(host, one, expected, VCPU=2)])

    extra = refused.value.extra
    assert (extra["consumer_uuid"], extra["expected"], extra["actual"]) == (one, expected, actual)
    assert (held(one), generation(one)) == ({"VCPU": 1}, 1)


@pytest.mark.parametrize("expected", [0, 1])
def test_consumer_that_holds_nothing_has_no_generation(provider, state, expected):
    with pytest.raises(ConsumerChanged) as refused:
        allocations_replace([state(provider(VCPU=4), uuid4(), expected, VCPU=2)])

    assert (refused.value.extra["expected"], refused.value.extra["actual"]) == (expected, None)
    assert not Consumer.objects.exists()


def test_unchecked_state_replaces_whatever_is_there(provider, state):
    host, one = provider(VCPU=4), uuid4()

    for amount in (2, 4, 1):
        allocations_replace([state(host, one, UNCHECKED, VCPU=amount)])

    assert (held(one), generation(one), used(host)) == ({"VCPU": 1}, 3, 1)


def test_empty_state_ends_the_consumer(provider, state):
    host, one = provider(VCPU=4), uuid4()
    allocations_replace([state(host, one, VCPU=1)])

    allocations_replace([state(host, one, 1)])

    assert (used(host), Consumer.objects.exists()) == (0, False)


def test_empty_state_of_nobody_leaves_nobody(provider, state):
    allocations_replace([state(provider(VCPU=4), uuid4(), None), state(provider(), uuid4(), UNCHECKED)])

    assert not Consumer.objects.exists()


def test_replacement_moves_to_another_provider_and_counts_both_generations_once(provider, state):
    source, target, one = provider(VCPU=4, MEMORY_MB=9), provider(VCPU=4), uuid4()
    allocations_replace([state(source, one, VCPU=2, MEMORY_MB=3)])
    before = [provider_get(uuid).generation for uuid in (source, target)]

    allocations_replace([state(target, one, 1, VCPU=2)])

    assert (used(source), used(source, "MEMORY_MB"), used(target)) == (0, 0, 2)
    assert [provider_get(uuid).generation for uuid in (source, target)] == [number + 1 for number in before]


def test_only_the_difference_must_fit(provider, state):
    host, one = provider(VCPU=4), uuid4()
    allocations_replace([state(host, one, VCPU=3)])

    allocations_replace([state(host, one, 1, VCPU=4)])
    with pytest.raises(NoCapacity) as refused:
        allocations_replace([state(host, one, 2, VCPU=5)])

    assert (refused.value.extra["wanted"], refused.value.extra["free"]) == (5, 4)


def test_consumers_of_one_call_swap_what_they_hold_in_a_full_provider(provider, state):
    host, one, other = provider(VCPU=4), uuid4(), uuid4()
    allocations_replace([state(host, one, VCPU=3), state(host, other, VCPU=1)])

    allocations_replace([state(host, one, 1, VCPU=1), state(host, other, 1, VCPU=3)])

    assert (held(one), held(other)) == ({"VCPU": 1}, {"VCPU": 3})


def test_one_loser_of_several_leaves_all_as_they_were(provider, state):
    host, one, other = provider(VCPU=4), uuid4(), uuid4()
    allocations_replace([state(host, one, VCPU=1)])
    before = provider_get(host).generation

    with pytest.raises(NoCapacity):
        allocations_replace([state(host, one, 1, VCPU=2), state(host, other, VCPU=3)])

    assert (held(one), held(other), generation(one)) == ({"VCPU": 1}, {}, 1)
    assert provider_get(host).generation == before


def test_unchanged_amount_must_keep_the_units_too(provider, state):
    host, one = provider(VCPU=4, MEMORY_MB=9), uuid4()
    allocations_replace([state(host, one, VCPU=3, MEMORY_MB=1)])
    inventory_set(host, {"VCPU": InventorySpec(4, max_unit=2), "MEMORY_MB": InventorySpec(9)})

    with pytest.raises(NoCapacity) as refused:
        allocations_replace([state(host, one, 1, VCPU=3, MEMORY_MB=2)])

    assert refused.value.extra["rule"] == "max_unit"


def test_exceeded_usage_may_fall_and_stay_but_never_rise_again(provider, state):
    host, one, other = provider(VCPU=15), uuid4(), uuid4()
    allocations_replace([state(host, one, VCPU=10), state(host, other, VCPU=5)])
    inventory_set(host, {"VCPU": InventorySpec(10)})

    allocations_replace([state(host, one, 1, VCPU=7)])
    allocations_replace([state(host, one, 2, VCPU=7)])
    with pytest.raises(NoCapacity):
        allocations_replace([state(host, uuid4(), VCPU=1)])
    with pytest.raises(NoCapacity) as refused:
        allocations_replace([state(host, one, 3, VCPU=8)])

    assert refused.value.extra["rule"] == "capacity"
    assert used(host) == 12
    assert Inventory.objects.get(provider__uuid=host).used_when_set == 12
    assert audit_inventory_usage() == []


def test_unknown_provider_is_named(provider, state):
    nowhere, one = uuid4(), uuid4()

    with pytest.raises(Invalid) as refused:
        allocations_replace([state(provider(VCPU=1), uuid4(), VCPU=1), state(nowhere, one, VCPU=1)])

    assert (refused.value.field, refused.value.extra["unknown"]) == ("resource_provider", [str(nowhere)])
    assert not Consumer.objects.exists()


def test_unknown_class_is_named_and_not_made(provider, state):
    with pytest.raises(Invalid) as refused:
        allocations_replace([state(provider(VCPU=1), uuid4(), VCPU=1, CUSTOM_NOBODY_HAS=1)])

    assert (refused.value.field, refused.value.extra["unknown"]) == ("resource_class", ["CUSTOM_NOBODY_HAS"])


def test_known_class_that_the_provider_lacks_is_no_capacity(provider, state):
    with pytest.raises(NoCapacity) as refused:
        allocations_replace([state(provider(VCPU=1), uuid4(), VCPU=1, DISK_GB=1)])

    assert (refused.value.extra["rule"], refused.value.extra["resource_class"]) == ("no_inventory", "DISK_GB")


def test_changed_consumer_is_told_before_anything_else(state):
    with pytest.raises(ConsumerChanged):
        allocations_replace([state(uuid4(), uuid4(), 5, CUSTOM_NOBODY_HAS=1)])


def test_owner_and_type_follow_the_newest_state(provider):
    host, one = provider(VCPU=4), uuid4()
    allocations_replace([ConsumerState(one, "p1", "u1", None, {host: {"VCPU": 1}})])
    assert Consumer.objects.get().consumer_type is None

    allocations_replace([ConsumerState(one, "p2", "u2", "MIGRATION", {host: {"VCPU": 1}}, 1)])
    allocations_replace([ConsumerState(one, "p2", "u3", None, {host: {"VCPU": 1}}, 2)])

    row = Consumer.objects.get()
    assert (row.project_id, row.user_id, row.consumer_type) == ("p2", "u3", "MIGRATION")


def test_consumer_without_named_owner_is_incomplete(provider):
    allocations_replace([ConsumerState(uuid4(), None, None, None, {provider(VCPU=4): {"VCPU": 1}}, UNCHECKED)])

    row = Consumer.objects.get()
    assert (row.project_id, row.user_id) == (INCOMPLETE_OWNER, INCOMPLETE_OWNER)


def test_claimed_consumer_can_be_replaced_and_freed(provider, claim, state):
    host = provider(VCPU=4)
    one = claim(host, VCPU=1)
    allocations_claim([one])

    allocations_replace([state(host, one.consumer_uuid, 1, VCPU=2)])
    assert allocations_free([one.consumer_uuid]) == 1

    assert used(host) == 0


def test_queries_do_not_grow_with_the_number_of_states(provider, state, django_assert_max_num_queries):
    hosts, consumers = [provider(VCPU=50, MEMORY_MB=50) for _ in range(5)], [uuid4() for _ in range(40)]
    batch = [state(hosts[index % 5], one, VCPU=1, MEMORY_MB=1) for index, one in enumerate(consumers)]
    again = [state(hosts[index % 3], one, 1, VCPU=2) for index, one in enumerate(consumers)]

    # Savepoint in and out, and within: consumers, (held), providers, classes, guard, (counts, delete), allocations.
    with django_assert_max_num_queries(7):
        allocations_replace(batch)
    with django_assert_max_num_queries(10):
        allocations_replace(again)


@pytest.mark.parametrize("amount", [0, -1, 2**31])
def test_amount_out_of_range_is_invalid(provider, state, amount):
    with pytest.raises(Invalid):
        allocations_replace([state(provider(VCPU=4), uuid4(), VCPU=amount)])
