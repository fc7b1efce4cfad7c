"""Finding decisions, and running them again, as each role sees it."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.errors import NoValidHost
from scheduling.fleet.services.service_states import service_disable
from scheduling.models import FleetSnapshot
from scheduling.policies.services.policies import policy_create
from tests.services.scheduling.fleet.fleet_world import OTHER_PROJECT, fleet, request

pytestmark = pytest.mark.django_db

Clients = Callable[[str], APIClient]


def decided(**changes: Any) -> str:
    try:
        found = destinations_select(request=request(changes.pop("count", 1), **changes), inputs=scheduling_inputs())
    except NoValidHost as error:
        return str(error.decision_id)
    return str(found.decision_id)


def found(client: APIClient, **query: Any) -> list[str]:
    answer = client.get("/api/decisions/", query)
    assert answer.status_code == 200, answer.content
    return sorted(one["id"] for one in answer.json()["results"])


def test_decisions_are_found_by_reason(admin: APIClient) -> None:
    fleet(2)
    full, zone, _ = decided(memory_mib=9000), decided(availability_zone="nowhere"), decided()
    assert found(admin, reason="ram_short") == [full]
    assert found(admin, reason=["ram_short", "wrong_zone"]) == sorted([full, zone])


def test_decisions_are_found_by_the_filter_that_refused(admin: APIClient) -> None:
    fleet(2)
    by_filter, _ = decided(hints={"different_host": (str(uuid.uuid4()),)}), decided()
    asked = decided(memory_mib=9000)
    assert found(admin, stage="placement") == [asked]
    assert by_filter not in found(admin, stage="DifferentHostFilter")


def test_stage_and_reason_are_asked_of_the_same_hosts(admin: APIClient) -> None:
    fleet(2)
    service_disable(host="cmp-00")
    both = decided(memory_mib=9000)
    assert found(admin, stage="placement", reason="ram_short") == [both]
    assert found(admin, stage="placement", reason="disabled") == []


def test_unknown_reason_names_the_field(admin: APIClient) -> None:
    answer = admin.get("/api/decisions/?reason=bad_weather")
    assert answer.status_code == 400
    assert "reason" in answer.content.decode()


def test_decisions_are_found_by_a_refused_host_or_node(admin: APIClient) -> None:
    fleet(20)
    service_disable(host="cmp-13")
    wanted = decided()
    assert found(admin, refused_host="cmp-13") == found(admin, refused_host="NODE-13") == [wanted]
    assert found(admin, refused_host="cmp-12") == found(admin, refused_host="ghost") == []


def test_refused_host_is_found_under_each_list_of_hosts(admin: APIClient) -> None:
    fleet(2)
    service_disable(host="cmp-01")
    before = decided()
    fleet(12)
    after = decided()
    assert found(admin, refused_host="cmp-01") == sorted([before, after])


def test_decisions_are_found_by_policy_version(admin: APIClient) -> None:
    fleet(2)
    decided()
    policy_create(body={"filters": ["ComputeFilter"]}, activate=True)
    newer = decided()
    assert found(admin, policy_version="default-v1") == [newer]


def test_decisions_are_found_by_project_and_time(admin: APIClient) -> None:
    fleet(2)
    decided()
    other = decided(project_id=OTHER_PROJECT)
    assert found(admin, project_id=str(OTHER_PROJECT)) == [other]
    assert found(admin, created_before="2000-01-01T00:00:00Z") == []


def test_list_counts_refusals_without_reading_traces(admin: APIClient) -> None:
    fleet(2)
    service_disable(host="cmp-00")
    decided()
    with CaptureQueriesContext(connection) as queries:
        (one,) = admin.get("/api/decisions/").json()["results"]
    assert one["refusals"] == [{"stage": "request_filters", "reason": "disabled", "hosts": 1}]
    assert not any('"trace"' in query["sql"] for query in queries.captured_queries)


@pytest.mark.parametrize(
    "query", [{}, {"reason": "ram_short"}, {"stage": "placement"}, {"refused_host": "cmp-01"}, {"host": "cmp-00"}]
)
def test_number_of_queries_does_not_grow_with_decisions(admin: APIClient, query: dict[str, str]) -> None:
    fleet(3)
    decided(memory_mib=9000)
    decided(memory_mib=64, force_hosts=("cmp-00",))
    admin.get("/api/decisions/", query)
    with CaptureQueriesContext(connection) as few:
        admin.get("/api/decisions/", query)
    for _ in range(6):
        decided(memory_mib=9000)
        decided(memory_mib=64)
    with CaptureQueriesContext(connection) as many:
        admin.get("/api/decisions/", query)
    assert len(many) == len(few)


@pytest.mark.parametrize("person", ["member", "reader"])
def test_tenant_finds_own_decisions_by_reason_and_sees_no_host(client_of: Clients, person: str) -> None:
    fleet(2)
    own = decided(memory_mib=9000)
    decided(memory_mib=9000, project_id=OTHER_PROJECT)
    answer = client_of(person).get("/api/decisions/?reason=ram_short")
    assert [one["id"] for one in answer.json()["results"]] == [own]
    assert b"cmp-" not in answer.content


def test_tenant_cannot_ask_by_refused_host(client_of: Clients) -> None:
    fleet(2)
    service_disable(host="cmp-01")
    decided()
    member = client_of("member")
    for host in ("ghost", "cmp-01"):
        assert member.get(f"/api/decisions/?refused_host={host}").json()["error"]["field"] == "refused_host"


def test_operator_replays_a_decision(admin: APIClient) -> None:
    fleet(3)
    answer = admin.post(f"/api/decisions/{decided()}/replay/")
    assert answer.status_code == 200
    assert (answer.json()["state"], answer.json()["same"], answer.json()["difference"]) == ("same", True, None)


def test_replay_without_its_fleet_says_why(admin: APIClient) -> None:
    fleet(3)
    decision_id = decided()
    FleetSnapshot.objects.all().delete()
    body = admin.post(f"/api/decisions/{decision_id}/replay/").json()
    assert (body["state"], body["same"]) == ("pruned", None)
    assert "pruned" in body["sentence"]


@pytest.mark.parametrize("person", ["member", "reader", "stranger"])
def test_tenants_cannot_replay(client_of: Clients, person: str) -> None:
    fleet(1)
    assert client_of(person).post(f"/api/decisions/{decided()}/replay/").status_code == 403


def test_replay_of_an_unknown_decision_is_not_found(admin: APIClient) -> None:
    assert admin.post(f"/api/decisions/{uuid.uuid4()}/replay/").status_code == 404
