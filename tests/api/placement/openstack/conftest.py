"""Clients of the Placement door: the test identity's, and people with real tokens."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from controlplane.identity.domain import Caller
from tests.worlds.cloud import fresh_token

Ask = Callable[..., Any]


@pytest.fixture
def identity(settings: Settings) -> Callable[[str], None]:
    """Switch the test identity to a mode: '' (off), legacy, secure or open."""

    def switch(mode: str) -> None:
        settings.KILONOVA = {**settings.KILONOVA, "PLACEMENT_TEST_IDENTITY": mode}

    return switch


@pytest.fixture
def ask(db: None) -> Ask:
    """`ask("PUT", "/traits/CUSTOM_A", version="1.6", body=..., x_auth_token="...")`; the identity is the caller's."""
    client = Client()

    def call(method: str, path: str, *, version: str | None = "latest", body: object = None, **headers: str) -> Any:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if version is not None:
            sent["OpenStack-API-Version"] = f"placement {version}"
        data = body if isinstance(body, bytes | str) else json.dumps(body)
        if body is None:
            return client.generic(method, f"/placement{path}", headers=sent)
        return client.generic(method, f"/placement{path}", data, content_type="application/json", headers=sent)

    return call


@pytest.fixture
def admin(ask: Ask, identity: Callable[[str], None]) -> Ask:
    """`ask` as the admin of the test identity."""
    identity("legacy")
    return lambda method, path, **more: ask(method, path, **{"x_auth_token": "admin", **more})


@pytest.fixture
def token_of(db: None) -> Callable[[Caller], str]:
    """A real token of a person of `tests.worlds.cloud.people`."""

    return fresh_token
