"""Every endpoint of the scheduler, each role: the table is whole, and holds."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from scheduling.api.urls import router
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.models import Aggregate, Cell, ComputeNode, HostMapping, SchedulingDecision, Service
from scheduling.policies.services.policies import policy_create
from servers.api import host_urls, schedule_urls
from tests.fixtures.remembering import remembered
from tests.services.scheduling.fleet.fleet_world import fleet, request
from tests.worlds.cloud import flavor

pytestmark = pytest.mark.django_db
TENANTS = ("member", "reader", "stranger")

# What member, reader and stranger are answered. The decision is one of the project of member and reader.
OPERATORS = (403, 403, 403)
EVERYBODY = (200, 200, 200)
TABLE: dict[str, tuple[int, int, int]] = {
    "GET availability-zone-list": EVERYBODY,
    "GET decision-list": EVERYBODY,
    "GET decision-detail": (200, 200, 404),
    "POST schedule-simulate": EVERYBODY,
    "POST schedule-explain": EVERYBODY,
    **dict.fromkeys(
        (
            "GET cell-list", "GET cell-detail", "GET host-mapping-list", "GET host-mapping-detail",
            "GET service-list", "GET service-detail", "POST service-disable", "POST service-enable",
            "POST service-force-down", "GET compute-node-list", "GET compute-node-detail", "GET host-list",
            "GET host-version-list", "GET host-detail", "DELETE host-detail", "GET host-removal",
            "POST host-force-down", "GET host-images", "GET host-networks", "GET host-usage", "GET aggregate-images",
            "POST aggregate-images", "GET aggregate-list", "POST aggregate-list", "GET aggregate-detail",
            "PATCH aggregate-detail", "DELETE aggregate-detail", "POST aggregate-add-host",
            "POST aggregate-remove-host", "POST aggregate-set-metadata", "POST decision-replay",
            "GET decision-why-not", "GET policy-list", "POST policy-list", "POST policy-rollback-last",
            "GET policy-detail", "PATCH policy-detail", "DELETE policy-detail", "POST policy-activate",
            "POST policy-preview", "POST policy-retire", "POST policy-rollback", "POST policy-shadow",
            "DELETE policy-shadow", "GET policy-shadow-report", "GET policy-shadow-results",
            "POST policy-validate",
            "GET fleet-map", "GET host-room", "GET host-switches", "GET host-topology",
            "GET capacity", "POST capacity", "POST policy-batch-api",
            "POST new-aggregate-effect", "POST aggregate-effect", "POST aggregate-save",
        ),
        OPERATORS,
    ),
}  # fmt: skip
BODIES: dict[str, dict[str, Any]] = {
    "POST aggregate-list": {"name": "mine"},
    "PATCH aggregate-detail": {"name": "mine"},
    "POST aggregate-add-host": {"host": "cmp-00"},
    "POST aggregate-remove-host": {"host": "cmp-00"},
    "POST aggregate-set-metadata": {"metadata": {"a": "b"}},
    "POST new-aggregate-effect": {"name": "mine"},
    "POST aggregate-effect": {"name": "mine"},
    "POST aggregate-save": {"name": "mine"},
    "POST capacity": {"vcpus": 1, "memory_mib": 64},
    "POST policy-list": {"body": {}},
    "PATCH policy-detail": {"comment": "mine"},
    "POST policy-shadow": {"share": 0.5},
    "POST schedule-simulate": {"flavor": "m1.tiny"},
    "POST schedule-explain": {"flavor": "m1.tiny"},
}


def endpoints() -> Iterator[str]:
    """Method and name of all that the app offers."""
    for pattern in (*router.urls, *schedule_urls.urlpatterns, *host_urls.urlpatterns):
        actions = getattr(pattern.callback, "actions", None) or [
            verb for verb in ("get", "post", "put", "patch", "delete") if hasattr(pattern.callback.cls, verb)
        ]
        # A view that has answered once also has HEAD, which is GET without a body.
        yield from (f"{verb.upper()} {pattern.name}" for verb in actions if pattern.name and verb != "head")


@pytest.fixture
def path() -> Callable[[str], str]:
    """The path of an endpoint, on things that are there."""
    ids = things()

    def made(endpoint: str) -> str:
        name = endpoint.partition(" ")[2]
        if name in {
            "host-detail",
            "host-removal",
            "host-force-down",
            "host-images",
            "host-networks",
            "host-usage",
            "host-room",
            "host-switches",
            "host-topology",
        }:
            return reverse(name, kwargs={"host": "cmp-00"})
        found = max((each for each in ids if name.startswith(each)), key=len, default="")
        has_id = found and not name.endswith("-list") and name != "policy-rollback-last"
        return reverse(name, kwargs={"pk": ids[found].pk} if has_id else None)

    return made


@remembered
def things() -> dict[str, Any]:
    """A host, a decision, and one of all else that endpoints name by its id."""
    fleet(1)
    flavor()
    destinations_select(request=request(), inputs=scheduling_inputs())
    return {
        "cell": Cell.objects.order_by("name").first(),
        "host-mapping": HostMapping.objects.get(),
        "service": Service.objects.get(),
        "compute-node": ComputeNode.objects.get(),
        "aggregate": _rack(),
        "decision": SchedulingDecision.objects.get(),
        "policy": policy_create(body={}),
    }


def _rack() -> Aggregate:
    made = aggregate_create(name="rack")
    aggregate_host_add(aggregate_id=made.pk, host="cmp-00")
    return made


def ask(client: APIClient, endpoint: str, path: str) -> int:
    verb = getattr(client, endpoint.partition(" ")[0].lower())
    query = "?host=cmp-00" if endpoint.endswith("why-not") else ""
    return int(verb(path + query, BODIES.get(endpoint, {}), format="json").status_code)


def test_table_names_every_endpoint() -> None:
    assert sorted(TABLE) == sorted(endpoints())


@pytest.mark.parametrize("endpoint", TABLE)
def test_role_is_answered_as_the_table_says(
    endpoint: str, client_of: Callable[[str], APIClient], path: Callable[[str], str]
) -> None:
    where = path(endpoint)
    assert ask(APIClient(), endpoint, where) == 401
    found = tuple(ask(client_of(person), endpoint, where) for person in TENANTS)
    assert found == TABLE[endpoint]
    assert ask(client_of("admin"), endpoint, where) in {200, 201, 204, 400, 409}


def test_answer_to_a_tenant_names_no_host(client_of: Callable[[str], APIClient], path: Callable[[str], str]) -> None:
    for endpoint in ("GET decision-list", "GET decision-detail", "POST schedule-simulate", "POST schedule-explain"):
        client, where = client_of("member"), path
        verb = getattr(client, endpoint.partition(" ")[0].lower())
        shown = verb(where(endpoint), BODIES.get(endpoint, {}), format="json").content.decode()
        assert "cmp-00" not in shown
        assert "node-00" not in shown


def test_unknown_ids_are_not_found_by_anybody_who_may_ask(client_of: Callable[[str], APIClient]) -> None:
    for name in ("decision-replay", "policy-activate", "policy-preview", "aggregate-add-host", "service-disable"):
        where = reverse(name, kwargs={"pk": uuid.uuid4()})
        assert client_of("admin").post(where, BODIES.get(f"POST {name}", {}), format="json").status_code == 404
