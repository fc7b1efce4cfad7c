"""The aggregates of a provider, which became a matter of generations with 1.19."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.worlds.provider_fleet import aggregates_set, error_of, generation_of, provider_made

Ask = Callable[..., Any]
FIRST, SECOND = str(uuid4()), str(uuid4())


def test_provider_has_none_at_first(admin: Ask) -> None:
    path = f"/resource_providers/{provider_made(admin)}/aggregates"
    assert admin("GET", path, version="1.1").json() == {"aggregates": []}
    assert admin("GET", path, version="1.19").json() == {"aggregates": [], "resource_provider_generation": 0}


def test_there_are_no_aggregates_before_1_1(admin: Ask) -> None:
    assert admin("GET", f"/resource_providers/{provider_made(admin)}/aggregates", version="1.0").status_code == 404


def test_list_replaces_all_and_leaves_the_generation_before_1_19(admin: Ask) -> None:
    uuid = provider_made(admin)
    path = f"/resource_providers/{uuid}/aggregates"
    admin("PUT", path, version="1.18", body=[FIRST])
    answer = admin("PUT", path, version="1.18", body=[SECOND])
    assert answer.json() == {"aggregates": [SECOND]}
    assert admin("GET", path).json() == {"aggregates": [SECOND], "resource_provider_generation": 0}


def test_change_without_a_generation_is_seen_by_searches(admin: Ask) -> None:
    uuid = provider_made(admin)
    query = f"/resource_providers?member_of={FIRST}"
    assert admin("GET", query).json()["resource_providers"] == []
    admin("PUT", f"/resource_providers/{uuid}/aggregates", version="1.1", body=[FIRST])
    assert [shown["uuid"] for shown in admin("GET", query).json()["resource_providers"]] == [uuid]


def test_put_moves_the_generation_since_1_19_even_when_nothing_changes(admin: Ask) -> None:
    uuid = provider_made(admin)
    aggregates_set(admin, uuid, FIRST)
    aggregates_set(admin, uuid, FIRST)
    assert generation_of(admin, uuid) == 2


def test_put_at_another_generation_is_a_conflict(admin: Ask) -> None:
    body = {"aggregates": [], "resource_provider_generation": 4}
    answer = admin("PUT", f"/resource_providers/{provider_made(admin)}/aggregates", body=body)
    assert answer.status_code == 409
    assert error_of(answer)["code"] == "placement.concurrent_update"


@pytest.mark.parametrize(
    ("version", "body"),
    [
        ("1.18", {"aggregates": [], "resource_provider_generation": 0}),
        ("1.18", ["pony"]),
        ("1.18", [FIRST, FIRST]),
        ("1.19", []),
        ("1.19", {"aggregates": []}),
        ("1.19", {"aggregates": [5], "resource_provider_generation": 0}),
    ],
)
def test_body_of_another_form_is_refused(admin: Ask, version: str, body: object) -> None:
    path = f"/resource_providers/{provider_made(admin)}/aggregates"
    assert admin("PUT", path, version=version, body=body).status_code == 400


@pytest.mark.parametrize(("method", "body"), [("GET", None), ("PUT", [])])
def test_provider_that_is_not_there_is_not_found_whatever_the_body(admin: Ask, method: str, body: object) -> None:
    assert admin(method, f"/resource_providers/{uuid4()}/aggregates", body=body).status_code == 404
