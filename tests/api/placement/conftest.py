"""Clients of persons with a role, and a small fleet with something claimed."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

import pytest
from django.test import Client
from rest_framework.test import APIClient

from controlplane.identity.domain import Caller, Role
from controlplane.identity.models import User
from placement.domain import Claim, InventorySpec
from placement.services import (
    allocations_claim,
    inventory_set,
    provider_aggregates_set,
    provider_ensure,
    provider_traits_set,
)
from tests.fixtures.remembering import remembered

PROJECT = UUID(int=7)


@dataclass(frozen=True)
class World:
    """Two providers; the first is used by one consumer, and has a trait and an aggregate."""

    first: UUID
    second: UUID
    aggregate: UUID
    consumer: UUID


@pytest.fixture
@remembered
def world(db: None) -> World:
    """See `World`."""
    world = World(uuid4(), uuid4(), uuid4(), uuid4())
    for uuid, name in ((world.first, "host-a"), (world.second, "host-b")):
        provider_ensure(uuid, name)
        inventory_set(
            uuid, {"VCPU": InventorySpec(4, allocation_ratio=2.0), "MEMORY_MB": InventorySpec(1024, reserved=24)}
        )
    provider_traits_set(world.first, {"HW_CPU_X86_AVX"})
    provider_aggregates_set(world.first, {world.aggregate})
    allocations_claim([Claim(world.consumer, PROJECT, UUID(int=8), {world.first: {"VCPU": 3, "MEMORY_MB": 100}})])
    return world


@pytest.fixture
def client_of() -> Callable[[Role], APIClient]:
    """A client that is logged in with this role in a project."""

    def make(role: Role) -> APIClient:
        caller = Caller(uuid4(), role.value, PROJECT, "a project", frozenset({role}))
        client = APIClient()
        client.force_authenticate(user=User(username=role.value), token=caller)  # type: ignore[arg-type]
        return client

    return make


@pytest.fixture
def admin(client_of: Callable[[Role], APIClient]) -> APIClient:
    """An admin."""
    return client_of(Role.ADMIN)


@pytest.fixture
def browser(db: None) -> Client:
    """A superuser's browser."""
    client = Client()
    client.force_login(User.objects.create_superuser(username="root", password="a-long-password"))
    return client
