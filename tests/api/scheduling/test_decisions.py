"""Decisions: whose they are, what is shown to whom, and why not host X."""

import uuid
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.destinations.services.selections import Destinations
from scheduling.domain.request.schedule_request import ScheduleRequest
from scheduling.errors import NoValidHost
from scheduling.fleet.services.service_states import service_disable
from tests.services.scheduling.fleet.fleet_world import fleet, request

pytestmark = pytest.mark.django_db

Clients = Callable[[str], APIClient]


def chosen(asked: ScheduleRequest | None = None) -> Destinations:
    return destinations_select(request=asked or request(), inputs=scheduling_inputs())


def refused_decision() -> uuid.UUID:
    with pytest.raises(NoValidHost) as caught:
        chosen(request(memory_mib=9000))
    return caught.value.decision_id


def test_operator_sees_verdict_stages_reasons_and_scores(admin: APIClient) -> None:
    fleet(3)
    service_disable(host="cmp-00", reason="new disks")
    body = admin.get(f"/api/decisions/{chosen().decision_id}/").json()
    assert (body["outcome"], body["host_count"]) == ("selected", 3)
    assert body["reasons"] == [{"reason": "disabled", "label": "disabled", "hosts": 1}]
    assert [(host["host"], host["reason"]) for host in body["hosts"]] == [("cmp-00", "disabled")]
    assert "new disks" in body["hosts"][0]["sentence"]
    assert [host["rank"] for host in body["scores"]["hosts"]] == [1, 2]


@pytest.mark.parametrize("person", ["member", "reader"])
def test_tenant_sees_counts_and_no_host(client_of: Clients, person: str) -> None:
    fleet(3)
    answer = client_of(person).get(f"/api/decisions/{refused_decision()}/")
    assert answer.json()["reasons"] == [{"reason": "ram_short", "label": "not enough memory", "hosts": 3}]
    assert answer.json()["verdict"].startswith("No host fits: all 3 ")
    assert b"cmp-" not in answer.content
    assert b"node-" not in answer.content


def test_tenants_list_names_no_host(client_of: Clients) -> None:
    fleet(3)
    chosen()
    refused_decision()
    answer = client_of("member").get("/api/decisions/")
    assert answer.json()["count"] == 2
    assert b"cmp-" not in answer.content


def test_stranger_does_not_know_the_decision(client_of: Clients) -> None:
    fleet(1)
    decision_id = chosen().decision_id
    assert client_of("stranger").get(f"/api/decisions/{decision_id}/").status_code == 404
    assert client_of("stranger").get("/api/decisions/").json()["count"] == 0


def test_operator_is_told_why_not(admin: APIClient) -> None:
    fleet(2)
    url = f"/api/decisions/{refused_decision()}/why-not/"
    body = admin.get(url, {"host": "cmp-01"}).json()
    assert (body["result"], body["refusal"]["reason"]) == ("refused", "ram_short")
    assert (body["refusal"]["wanted"], body["refusal"]["available"]) == (9000, 4096)


def test_why_not_of_the_chosen_host_says_that_it_was_chosen(admin: APIClient) -> None:
    fleet(2)
    found = chosen()
    url = f"/api/decisions/{found.decision_id}/why-not/"
    assert admin.get(url, {"host": found.instances[0].selected.host}).json()["result"] == "selected"


def test_why_not_of_an_unknown_host_says_unknown(admin: APIClient) -> None:
    fleet(1)
    assert admin.get(f"/api/decisions/{chosen().decision_id}/why-not/?host=ghost").json()["result"] == "unknown"


def test_why_not_without_a_host_names_the_field(admin: APIClient) -> None:
    fleet(1)
    answer = admin.get(f"/api/decisions/{chosen().decision_id}/why-not/")
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "host")


@pytest.mark.parametrize("person", ["member", "reader", "stranger"])
def test_tenants_cannot_probe_hosts(client_of: Clients, person: str) -> None:
    fleet(1)
    url = f"/api/decisions/{chosen().decision_id}/why-not/?host=cmp-00"
    assert client_of(person).get(url).status_code == 403


def test_decisions_are_filtered(admin: APIClient) -> None:
    fleet(2)
    asked = request()
    wanted = chosen(asked)
    refused_decision()
    host = wanted.instances[0].selected.host
    for query in (
        f"instance={asked.instance_uuids[0]}",
        "outcome=selected",
        f"host={host}",
        f"subject={asked.instance_uuids[0]}",
    ):
        found = admin.get(f"/api/decisions/?{query}").json()["results"]
        assert [one["id"] for one in found] == [str(wanted.decision_id)], query
    assert admin.get("/api/decisions/?created_after=2999-01-01T00:00:00Z").json()["count"] == 0


def test_tenants_filter_by_host_is_not_there(client_of: Clients) -> None:
    fleet(2)
    chosen()
    for host in ("nowhere", "cmp-00"):
        refused = client_of("member").get(f"/api/decisions/?host={host}").json()["error"]
        assert refused["reasons"] == {"host": ["There is no such parameter."]}, "the same for each, as for any other"


def test_scores_of_a_later_round_can_be_asked_for(admin: APIClient) -> None:
    fleet(2)
    url = f"/api/decisions/{chosen(request(2)).decision_id}/"
    assert admin.get(url, {"round": 2}).json()["scores"]["round"] == 2
    assert admin.get(url, {"round": "x"}).json()["error"]["field"] == "round"


def test_number_of_queries_of_the_list_does_not_grow(admin: APIClient) -> None:
    fleet(3)
    chosen()
    with CaptureQueriesContext(connection) as few:
        admin.get("/api/decisions/")
    for _ in range(5):
        chosen(request(2, memory_mib=256))
    with CaptureQueriesContext(connection) as many:
        assert admin.get("/api/decisions/").json()["count"] == 6
    assert len(many) == len(few)
