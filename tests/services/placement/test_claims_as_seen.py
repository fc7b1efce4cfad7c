"""A claim that tells the generation its provider was seen at: whoever changed since then gives nothing."""

from uuid import UUID, uuid4

import pytest

from controlplane.kernel.errors import NoCapacity
from placement.domain import Claim, InventorySpec, ProviderChanged
from placement.selectors import allocations_by_consumer, provider_list
from placement.services import allocations_claim, allocations_free, inventory_set, provider_ensure

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def provider() -> UUID:
    uuid = uuid4()
    provider_ensure(uuid, "host")
    inventory_set(uuid, {"VCPU": InventorySpec(total=8), "MEMORY_MB": InventorySpec(total=1024)})
    return uuid


def generation() -> int:
    (one,) = provider_list()
    return one.generation


def claim(provider: UUID, seen: int | None = None) -> Claim:
    given = {} if seen is None else {provider: seen}
    return Claim(uuid4(), uuid4(), uuid4(), {provider: {"VCPU": 1}}, seen=given)


def test_provider_as_it_was_seen_gives(provider: UUID) -> None:
    mine = claim(provider, generation())
    allocations_claim([mine])
    assert set(allocations_by_consumer()) == {mine.consumer_uuid}


def test_provider_that_somebody_claimed_of_gives_nothing_and_tells_both_generations(provider: UUID) -> None:
    seen = generation()
    others = claim(provider)
    allocations_claim([others])
    with pytest.raises(ProviderChanged) as caught:
        allocations_claim([claim(provider, seen)])
    assert (caught.value.extra["expected"], caught.value.extra["generation"]) == (seen, seen + 1)
    assert set(allocations_by_consumer()) == {others.consumer_uuid}


def test_batch_with_one_changed_provider_gets_nothing(provider: UUID) -> None:
    seen = generation()
    allocations_claim([claim(provider)])
    with pytest.raises(ProviderChanged):
        allocations_claim([claim(provider), claim(provider, seen)])
    assert len(allocations_by_consumer()) == 1


def test_batch_on_one_provider_is_one_change_of_it(provider: UUID) -> None:
    seen = generation()
    allocations_claim([claim(provider, seen), claim(provider, seen)])
    assert len(allocations_by_consumer()) == 2


def test_room_that_was_given_back_is_no_change(provider: UUID) -> None:
    others = claim(provider)
    allocations_claim([others])
    seen = generation()
    allocations_free([others.consumer_uuid])
    allocations_claim([claim(provider, seen)])
    assert len(allocations_by_consumer()) == 1


def test_changed_provider_without_room_is_a_shortage_with_its_numbers(provider: UUID) -> None:
    seen = generation()
    allocations_claim([Claim(uuid4(), uuid4(), uuid4(), {provider: {"VCPU": 8}})])
    with pytest.raises(NoCapacity) as caught:
        allocations_claim([claim(provider, seen)])
    assert caught.value.extra["free"] == 0
