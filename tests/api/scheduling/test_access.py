"""Who may see and do what with the fleet."""

import uuid
from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from scheduling.fleet.services.aggregates import aggregate_create
from scheduling.models import Service
from tests.services.scheduling.fleet.fleet_world import fleet

pytestmark = pytest.mark.django_db

OPERATORS_ONLY = ["cells", "host-mappings", "services", "compute-nodes", "hosts", "aggregates"]
EVERYBODY = ["availability-zones", "decisions"]


@pytest.mark.parametrize("resource", [*OPERATORS_ONLY, *EVERYBODY])
def test_nobody_gets_in_without_a_token(resource: str) -> None:
    assert APIClient().get(f"/api/{resource}/").status_code == 401


@pytest.mark.parametrize("person", ["member", "reader", "stranger"])
@pytest.mark.parametrize("resource", OPERATORS_ONLY)
def test_fleet_is_hidden_from_tenants(client_of: Callable[[str], APIClient], person: str, resource: str) -> None:
    answer = client_of(person).get(f"/api/{resource}/")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.parametrize("resource", [*OPERATORS_ONLY, *EVERYBODY])
def test_admin_reads_every_list(admin: APIClient, resource: str) -> None:
    fleet(1)
    body = admin.get(f"/api/{resource}/").json()
    assert set(body) == {"count", "next", "previous", "results"}


@pytest.mark.parametrize("resource", EVERYBODY)
def test_reader_reads_what_is_for_everybody(client_of: Callable[[str], APIClient], resource: str) -> None:
    assert client_of("reader").get(f"/api/{resource}/").status_code == 200


@pytest.mark.parametrize("person", ["member", "reader", "stranger"])
@pytest.mark.parametrize("verb", ["enable", "disable", "force_down"])
def test_tenants_cannot_switch_services(client_of: Callable[[str], APIClient], person: str, verb: str) -> None:
    fleet(1)
    service = Service.objects.get()
    assert client_of(person).post(f"/api/services/{service.pk}/{verb}/", {}).status_code == 403
    service.refresh_from_db()
    assert (service.disabled, service.forced_down) == (False, False)


@pytest.mark.parametrize("person", ["member", "reader", "stranger"])
def test_tenants_cannot_write_aggregates(client_of: Callable[[str], APIClient], person: str) -> None:
    client, made = client_of(person), aggregate_create(name="rack")
    answers = [
        client.post("/api/aggregates/", {"name": "mine"}),
        client.patch(f"/api/aggregates/{made.pk}/", {"name": "mine"}),
        client.delete(f"/api/aggregates/{made.pk}/"),
        client.post(f"/api/aggregates/{made.pk}/add_host/", {"host": "cmp-00"}),
        client.post(f"/api/aggregates/{made.pk}/set_metadata/", {"metadata": {"a": "b"}}),
    ]
    assert {answer.status_code for answer in answers} == {403}


@pytest.mark.parametrize("resource", ["cells", "services", "compute-nodes", "aggregates", "decisions"])
def test_unknown_uuid_is_not_found(admin: APIClient, resource: str) -> None:
    assert admin.get(f"/api/{resource}/{uuid.uuid4()}/").status_code == 404


@pytest.mark.parametrize("resource", ["cells", "services", "compute-nodes", "hosts", "decisions", "host-mappings"])
def test_read_only_resources_take_no_writes(admin: APIClient, resource: str) -> None:
    assert admin.post(f"/api/{resource}/", {"host": "x"}).status_code == 405
