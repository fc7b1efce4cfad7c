"""A small fleet and short ways to say what tests claim."""

from collections.abc import Callable
from uuid import UUID, uuid4

import pytest

from placement.domain import Claim, InventorySpec
from placement.services import inventory_set, provider_ensure

MakeProvider = Callable[..., UUID]
MakeClaim = Callable[..., Claim]


@pytest.fixture
def provider(db: None) -> MakeProvider:
    """Makes a provider with inventories given as keywords: a total or an InventorySpec."""

    def make(**inventories: int | InventorySpec) -> UUID:
        uuid = uuid4()
        provider_ensure(uuid, f"host-{uuid}")
        specs = {
            name: spec if isinstance(spec, InventorySpec) else InventorySpec(total=spec)
            for name, spec in inventories.items()
        }
        inventory_set(uuid, specs)
        return uuid

    return make


@pytest.fixture
def claim() -> MakeClaim:
    """Makes a claim of one new consumer on one provider."""

    def make(provider_uuid: UUID, *, consumer: UUID | None = None, **amounts: int) -> Claim:
        return Claim(
            consumer_uuid=consumer or uuid4(),
            project_id=UUID(int=1),
            user_id=UUID(int=2),
            resources={provider_uuid: amounts},
        )

    return make
