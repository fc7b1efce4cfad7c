"""A door that skips the middleware for people answers as it does behind all of it."""

import json
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction
from django.test import Client
from pytest_django import Settings

from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db
CONSUMER, PROVIDER = UUID(int=7), UUID(int=8)
STATE = {
    "allocations": {str(PROVIDER): {"resources": {"VCPU": 1}}},
    "project_id": "p",
    "user_id": "u",
    "consumer_generation": None,
    "consumer_type": "INSTANCE",
}
BODIES: tuple[Any, ...] = (None, b"{", STATE, {"name": "host", "uuid": str(PROVIDER)})
PATHS = (
    "", "/", "/resource_providers", f"/resource_providers/{PROVIDER}", "/resource_providers/", "/traits?name=in:A",
    "/allocation_candidates?resources=VCPU:1", "/allocation_candidates?bogus=1", f"/allocations/{CONSUMER}", "/nowhere",
)  # fmt: skip
METHODS = ("GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD")
HEADERS = ("Content-Type", "OpenStack-API-Version", "Allow", "Location", "Cache-Control")


def answers(client: Client, token: str) -> list[object]:
    """Of every method at every path, with every body, version and token: status, headers of the door, body."""
    found: list[object] = []
    for method, path, body, version, sent in product(METHODS, PATHS, BODIES, ("1.0", "1.39", "9.9"), (token, "bad")):
        with transaction.atomic():
            answer = client.generic(
                method,
                f"/placement{path}",
                body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode(),
                content_type="application/json",
                HTTP_X_AUTH_TOKEN=sent,
                HTTP_OPENSTACK_API_VERSION=f"placement {version}",
            )
            transaction.set_rollback(True)
        request_id = answer["X-OpenStack-Request-Id"]
        headers = [answer.get(name) for name in HEADERS]
        found.append(
            (
                answer.status_code,
                headers,
                answer.has_header("Last-Modified"),
                answer.content.replace(request_id.encode(), b""),
            )
        )
    return found


def test_answers_are_the_same_behind_all_middleware(settings: Settings) -> None:
    people = world.people()
    token = world.client_of(people.admin)._credentials["HTTP_X_AUTH_TOKEN"]
    fast = answers(Client(), token)
    settings.FAST_PATHS = {}
    assert answers(Client(), token) == fast
