"""Whatever is claimed, freed, moved and stated, in whatever order: the books balance after every step."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controlplane.kernel.errors import Conflict, NoCapacity, NotFound
from placement.domain import Claim, InventorySpec
from placement.models import Consumer
from placement.selectors import allocations_by_consumer, fleet_usage
from placement.services import (
    allocations_claim,
    allocations_free,
    allocations_move,
    audit_inventory_usage,
    inventory_set,
    provider_ensure,
)

PROVIDERS = [UUID(int=number) for number in range(1, 4)]
CONSUMERS = [UUID(int=number) for number in range(101, 107)]
CLASSES = ["VCPU", "MEMORY_MB"]

pytestmark = pytest.mark.django_db

amounts = st.dictionaries(st.sampled_from(CLASSES), st.integers(1, 4), min_size=1)
claims = st.builds(
    Claim,
    consumer_uuid=st.sampled_from(CONSUMERS),
    project_id=st.just("p"),
    user_id=st.just("u"),
    resources=st.dictionaries(st.sampled_from(PROVIDERS), amounts, min_size=1, max_size=2),
)
batches = st.lists(claims, min_size=1, max_size=3, unique_by=lambda claim: claim.consumer_uuid)
specs = st.builds(
    InventorySpec,
    total=st.integers(1, 10),
    reserved=st.integers(0, 1),
    max_unit=st.integers(1, 4),
    step_size=st.integers(1, 2),
    allocation_ratio=st.sampled_from([0.5, 1.0, 1.5]),
)
steps = st.one_of(
    st.tuples(st.just("claim"), batches),
    st.tuples(st.just("free"), st.lists(st.sampled_from(CONSUMERS), max_size=3)),
    st.tuples(st.just("move"), st.tuples(st.sampled_from(CONSUMERS), st.sampled_from(CONSUMERS))),
    st.tuples(
        st.just("state"), st.tuples(st.sampled_from(PROVIDERS), st.dictionaries(st.sampled_from(CLASSES), specs))
    ),
)
database_is_rolled_back = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

Ledger = tuple[Mapping[UUID, object], Mapping[UUID, object]]


@contextmanager
def undone() -> Iterator[None]:
    """One example: its rows are rolled back at the end."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def ledger() -> Ledger:
    """All usage and all allocations, as values."""
    return fleet_usage(), allocations_by_consumer()


def take(step: tuple[str, object]) -> bool:
    """One step; False when it was refused."""
    kind, argument = step
    service = {
        "claim": allocations_claim,
        "free": allocations_free,
        "move": lambda pair: allocations_move(*pair),
        "state": lambda pair: inventory_set(*pair),
    }[kind]
    try:
        service(argument)
    except (Conflict, NoCapacity, NotFound):
        return False
    return True


def fleet(total: int = 8) -> None:
    for uuid in PROVIDERS:
        provider_ensure(uuid, f"host-{uuid}")
        inventory_set(uuid, {name: InventorySpec(total) for name in CLASSES})


def over_capacity() -> dict[tuple[UUID, str], int]:
    """{inventory: units above the capacity}."""
    return {
        (uuid, name): usage.used - usage.capacity
        for uuid, classes in fleet_usage().items()
        for name, usage in classes.items()
        if usage.used > usage.capacity
    }


@database_is_rolled_back
@given(history=st.lists(steps, max_size=12))
def test_books_balance_after_every_step(db, history):
    with undone():
        fleet()
        for step in history:
            before, excess = ledger(), over_capacity()
            done = take(step)
            assert audit_inventory_usage() == []
            if not done:
                assert ledger() == before  # a refusal leaves no trace
            if step[0] != "state":  # only an operator can put an inventory above its capacity
                assert all(units <= excess.get(key, 0) for key, units in over_capacity().items())


@database_is_rolled_back
@given(history=st.lists(steps, max_size=6), batch=batches)
def test_claim_then_free_is_the_identity(db, history, batch):
    with undone():
        fleet()
        for step in history:
            take(step)
        before = ledger()
        if take(("claim", batch)):
            allocations_free([claim.consumer_uuid for claim in batch])
        assert ledger() == before


@database_is_rolled_back
@given(batch=batches, total=st.integers(1, 3))
def test_batch_is_all_or_nothing(db, batch, total):
    with undone():
        fleet(total)
        won = take(("claim", batch))
        held = set(allocations_by_consumer())
        assert held == ({claim.consumer_uuid for claim in batch} if won else set())
        assert Consumer.objects.count() == len(held)


@database_is_rolled_back
@given(amounts=st.lists(st.integers(1, 4), min_size=1, max_size=10))
def test_claims_win_as_long_as_there_is_room_and_no_longer(db, amounts):
    with undone():
        fleet(8)
        used = 0
        for amount in amounts:
            won = take(("claim", [Claim(uuid4(), "p", "u", {PROVIDERS[0]: {"VCPU": amount}})]))
            assert won == (used + amount <= 8)
            used += amount if won else 0
