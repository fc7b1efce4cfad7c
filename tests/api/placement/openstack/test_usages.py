"""Usages: of a provider, and of projects, their users and types of consumers."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from tests.worlds.provider_fleet import inventories_set, provider_made

Ask = Callable[..., Any]


def consume(admin: Ask, host: str, user: str, kind: str | None, **amounts: int) -> None:
    """A new consumer of project `p`; without a kind it comes by a version that knows none."""
    body: dict[str, object] = {
        "allocations": {host: {"resources": amounts}},
        "project_id": "p",
        "user_id": user,
        "consumer_generation": None,
    }
    if kind is not None:
        body["consumer_type"] = kind
    version = "1.37" if kind is None else "1.38"
    assert admin("PUT", f"/allocations/{uuid4()}", version=version, body=body).status_code == 204


@pytest.fixture
def host(admin: Ask) -> str:
    """A provider with four consumers of two users and three kinds (one of them unknown)."""
    host = provider_made(admin)
    inventories_set(admin, host, VCPU=100, MEMORY_MB=1000, DISK_GB=10)
    consume(admin, host, "ann", "INSTANCE", VCPU=1, MEMORY_MB=10)
    consume(admin, host, "ann", "INSTANCE", VCPU=2, MEMORY_MB=20)
    consume(admin, host, "bob", "MIGRATION", VCPU=4)
    consume(admin, host, "bob", None, VCPU=8)
    return host


def usages(admin: Ask, query: str, version: str = "latest") -> Any:
    answer = admin("GET", f"/usages?{query}", version=version)
    assert answer.status_code == 200, answer.content
    return answer.json()["usages"]


def test_provider_tells_what_is_used_of_each_class_also_when_nothing_is(admin: Ask, host: str) -> None:
    answer = admin("GET", f"/resource_providers/{host}/usages").json()
    assert answer["usages"] == {"VCPU": 15, "MEMORY_MB": 30, "DISK_GB": 0}
    assert answer["resource_provider_generation"] == 5


def test_usages_of_a_provider_that_is_not_there_are_not_found(admin: Ask) -> None:
    assert admin("GET", f"/resource_providers/{uuid4()}/usages").status_code == 404


def test_project_is_summed_up_before_1_38(admin: Ask, host: str) -> None:
    assert usages(admin, "project_id=p", "1.9") == {"VCPU": 15, "MEMORY_MB": 30}
    assert usages(admin, "project_id=p&user_id=bob", "1.37") == {"VCPU": 12}
    assert usages(admin, "project_id=nobody", "1.9") == {}


def test_project_is_grouped_by_type_since_1_38(admin: Ask, host: str) -> None:
    assert usages(admin, "project_id=p") == {
        "INSTANCE": {"consumer_count": 2, "VCPU": 3, "MEMORY_MB": 30},
        "MIGRATION": {"consumer_count": 1, "VCPU": 4},
        "unknown": {"consumer_count": 1, "VCPU": 8},
    }


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("consumer_type=MIGRATION", {"MIGRATION": {"consumer_count": 1, "VCPU": 4}}),
        ("consumer_type=unknown", {"unknown": {"consumer_count": 1, "VCPU": 8}}),
        ("consumer_type=all", {"all": {"consumer_count": 4, "VCPU": 15, "MEMORY_MB": 30}}),
        ("consumer_type=all&user_id=ann", {"all": {"consumer_count": 2, "VCPU": 3, "MEMORY_MB": 30}}),
        ("consumer_type=NONE", {}),
        ("user_id=nobody", {}),
    ],
)
def test_type_and_user_narrow_the_usages(admin: Ask, host: str, query: str, expected: object) -> None:
    assert usages(admin, f"project_id=p&{query}") == expected


@pytest.mark.parametrize(
    ("query", "version"),
    [
        ("", "1.9"),
        ("project_id=", "1.9"),
        ("project_id=p&user_id=", "1.9"),
        ("project_id=p&consumer_type=INSTANCE", "1.37"),
        ("project_id=p&consumer_type=instance", "1.38"),
        ("project_id=" + "p" * 256, "1.9"),
        ("project_id=p&colour=red", "1.38"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(admin: Ask, query: str, version: str) -> None:
    assert admin("GET", f"/usages?{query}", version=version).status_code == 400


def test_there_are_no_usages_of_projects_before_1_9(admin: Ask) -> None:
    assert admin("GET", "/usages?project_id=p", version="1.8").status_code == 404


def test_usages_by_type_cost_two_queries(
    admin: Ask, host: str, django_assert_num_queries: Callable[[int], Any]
) -> None:
    with django_assert_num_queries(2):
        usages(admin, "project_id=p")
