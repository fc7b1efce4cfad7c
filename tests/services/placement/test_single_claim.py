"""The short way of a single claim does what the long way does; what it cannot do, it leaves alone."""

from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction

from placement.domain import UNCHECKED, ConsumerState, CountLimit, InventorySpec
from placement.models import Consumer, ResourceProvider
from placement.selectors import allocations_by_consumer, fleet_usage, provider_get
from placement.services import allocations_replace, audit_inventory_usage
from placement.services.single_claim import claimed_shortly

pytestmark = pytest.mark.django_db
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="the short way is PostgreSQL's")


def state(provider: UUID, generation: object = None, consumer: UUID | None = None, **amounts: int) -> ConsumerState:
    return ConsumerState(consumer or uuid4(), "p", "u", None, {provider: amounts}, generation)  # type: ignore[arg-type]


def seen(provider: UUID) -> tuple[int, dict[str, int], int]:
    """Generation, what is used, number of consumers."""
    usage = fleet_usage([provider])[provider]
    return provider_get(provider).generation, {k: v.used for k, v in usage.items()}, Consumer.objects.count()


@on_postgresql
@pytest.mark.parametrize("generation", [None, UNCHECKED])
def test_new_consumer_of_one_provider_is_served(provider, generation):
    host = provider(VCPU=4, MEMORY_MB=9)
    before, stamp = seen(host), ResourceProvider.objects.get(uuid=host).changed

    assert claimed_shortly(one := state(host, generation, VCPU=2, MEMORY_MB=9))

    assert seen(host) == (before[0] + 1, {"VCPU": 2, "MEMORY_MB": 9}, 1)
    row = Consumer.objects.get()
    assert (row.uuid, row.project_id, row.user_id, row.consumer_type, row.generation) == (
        one.consumer_uuid, "p", "u", None, 1,
    )  # fmt: skip
    assert {held.resource_class: held.used for held in allocations_by_consumer()[row.uuid]} == {
        "VCPU": 2,
        "MEMORY_MB": 9,
    }
    assert ResourceProvider.objects.get(uuid=host).changed >= stamp > 0
    assert audit_inventory_usage() == []


@on_postgresql
def test_served_consumer_can_be_replaced(provider):
    host, consumer = provider(VCPU=4), uuid4()
    claimed_shortly(state(host, consumer=consumer, VCPU=2))

    allocations_replace([state(host, 1, consumer, VCPU=4)])

    assert seen(host)[1] == {"VCPU": 4}


@pytest.mark.parametrize(
    "amounts", [{"VCPU": 5}, {"VCPU": 1, "MEMORY_MB": 3}, {"VCPU": 1, "DISK_GB": 1}, {"CUSTOM_X": 1}, {}]
)
def test_hopeless_state_is_left_alone(provider, amounts):
    host = provider(VCPU=4, MEMORY_MB=InventorySpec(9, step_size=2))
    before = seen(host)

    assert not claimed_shortly(state(host, **amounts))

    assert seen(host) == before


def test_consumer_that_is_there_is_left_alone(provider):
    host, consumer = provider(VCPU=4), uuid4()
    allocations_replace([state(host, consumer=consumer, VCPU=1)])
    before = seen(host)

    assert not claimed_shortly(state(host, None, consumer, VCPU=1))
    assert not claimed_shortly(state(host, UNCHECKED, consumer, VCPU=1))
    assert not claimed_shortly(state(host, 1, consumer, VCPU=2))

    assert seen(host) == before


def test_several_providers_and_limits_take_the_long_way(provider):
    host, other = provider(VCPU=4), provider(VCPU=4)

    assert not claimed_shortly(ConsumerState(uuid4(), "p", "u", None, {host: {"VCPU": 1}, other: {"VCPU": 1}}))
    limit = CountLimit(host, "group:x", 1)
    assert not claimed_shortly(ConsumerState(uuid4(), "p", "u", None, {host: {"VCPU": 1}}, None, (limit,)))

    assert not Consumer.objects.exists()


@on_postgresql
@pytest.mark.django_db(transaction=True)
def test_without_a_transaction_around_it_one_statement_is_all(provider, django_assert_num_queries):
    host = provider(VCPU=4)
    assert not connection.in_atomic_block

    with django_assert_num_queries(1):
        allocations_replace([state(host, VCPU=1)])


def test_caller_that_rolls_back_takes_the_claim_back(provider):
    host = provider(VCPU=4)
    before = seen(host)

    with transaction.atomic():
        allocations_replace([state(host, VCPU=1)])
        transaction.set_rollback(True)

    assert seen(host) == before
