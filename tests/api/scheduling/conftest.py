"""Clients of four persons: an admin, a member and a reader of one project, and a stranger from another."""

import uuid
from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from controlplane.identity.domain import Caller, Role
from controlplane.identity.models import User
from tests.services.scheduling.fleet.fleet_world import OTHER_PROJECT, PROJECT

PERSONS = {
    "admin": (PROJECT, Role.ADMIN),
    "member": (PROJECT, Role.MEMBER),
    "reader": (PROJECT, Role.READER),
    "stranger": (OTHER_PROJECT, Role.MEMBER),
}


@pytest.fixture
def client_of() -> Callable[[str], APIClient]:
    """A client that is logged in as one of PERSONS."""

    def make(person: str) -> APIClient:
        project, role = PERSONS[person]
        caller = Caller(uuid.uuid4(), person, project, f"project of {person}", frozenset({role}))
        client = APIClient()
        client.force_authenticate(user=User(username=person), token=caller)  # type: ignore[arg-type]
        return client

    return make


@pytest.fixture
def admin(client_of: Callable[[str], APIClient]) -> APIClient:
    """The admin."""
    return client_of("admin")
