"""Providers made through the Placement API, for tests of that API."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

Ask = Callable[..., Any]


def provider_made(admin: Ask, name: str = "", **body: object) -> str:
    """A provider; its uuid."""
    uuid = str(body.pop("uuid", uuid4()))
    answer = admin("POST", "/resource_providers", body={"name": name or f"host-{uuid}", "uuid": uuid, **body})
    assert answer.status_code == 200, answer.content
    return uuid


def provider_of(admin: Ask, uuid: str) -> dict[str, Any]:
    """The provider as the newest version shows it."""
    shown: dict[str, Any] = admin("GET", f"/resource_providers/{uuid}").json()
    return shown


def generation_of(admin: Ask, uuid: str) -> int:
    """Its generation."""
    generation: int = provider_of(admin, uuid)["generation"]
    return generation


def inventories_set(admin: Ask, uuid: str, **totals: int) -> None:
    """Make these its inventories."""
    body = {
        "resource_provider_generation": generation_of(admin, uuid),
        "inventories": {name: {"total": total} for name, total in totals.items()},
    }
    answer = admin("PUT", f"/resource_providers/{uuid}/inventories", body=body)
    assert answer.status_code == 200, answer.content


def traits_set(admin: Ask, uuid: str, *traits: str) -> None:
    """Make these its traits; custom ones are made."""
    for trait in traits:
        if trait.startswith("CUSTOM_"):
            admin("PUT", f"/traits/{trait}")
    body = {"resource_provider_generation": generation_of(admin, uuid), "traits": list(traits)}
    answer = admin("PUT", f"/resource_providers/{uuid}/traits", body=body)
    assert answer.status_code == 200, answer.content


def aggregates_set(admin: Ask, uuid: str, *aggregates: str) -> None:
    """Make these its aggregates."""
    body = {"resource_provider_generation": generation_of(admin, uuid), "aggregates": list(aggregates)}
    answer = admin("PUT", f"/resource_providers/{uuid}/aggregates", body=body)
    assert answer.status_code == 200, answer.content


def error_of(answer: Any) -> dict[str, Any]:
    """The one error of the answer."""
    (error,) = answer.json()["errors"]
    return dict(error)
