"""Hosts, services, zones."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.fleet.services.service_states import service_disable, service_force_down
from scheduling.models import Service
from tests.services.scheduling.fleet.fleet_world import fleet

pytestmark = pytest.mark.django_db


def test_host_shows_service_hypervisor_zone_and_usage(admin: APIClient) -> None:
    fleet(2)
    body = admin.get("/api/hosts/cmp-01/").json()
    assert (body["host"], body["hypervisor_hostname"], body["state"], body["status"]) == (
        "cmp-01",
        "node-01",
        "up",
        "enabled",
    )
    assert (body["cell"], body["availability_zone"]) == ("cell1", "nova")
    assert (body["usage"]["MEMORY_MB"]["capacity"], body["usage"]["MEMORY_MB"]["free"]) == (4096, 4096)


def test_unknown_host_is_not_found(admin: APIClient) -> None:
    assert admin.get("/api/hosts/ghost/").json()["error"]["code"] == "not_found"


def test_number_of_queries_for_hosts_does_not_grow(admin: APIClient) -> None:
    fleet(3)
    with CaptureQueriesContext(connection) as few:
        admin.get("/api/hosts/")
    fleet(30)
    with CaptureQueriesContext(connection) as many:
        assert admin.get("/api/hosts/").json()["count"] == 30
    assert len(many) == len(few)


@pytest.mark.parametrize(
    ("query", "hosts"),
    [
        ("up=false", ["cmp-02"]),
        ("up=true", ["cmp-00", "cmp-01"]),
        ("disabled=true", ["cmp-01"]),
        ("zone=az1", ["cmp-00"]),
        ("zone=nova", ["cmp-01", "cmp-02"]),
        ("zone=nowhere", []),
        ("aggregate=rack", ["cmp-00"]),
        ("search=ODE-02", ["cmp-02"]),
        ("host=cmp-01", ["cmp-01"]),
        ("cell=00000000-0000-0000-0000-000000000001&page_size=2", ["cmp-00", "cmp-01"]),
    ],
)
def test_hosts_are_filtered(admin: APIClient, query: str, hosts: list[str]) -> None:
    fleet(3)
    aggregate_host_add(aggregate_id=aggregate_create(name="rack", availability_zone="az1").pk, host="cmp-00")
    service_disable(host="cmp-01")
    service_force_down(host="cmp-02", forced_down=True)
    assert [host["host"] for host in admin.get(f"/api/hosts/?{query}").json()["results"]] == hosts


def test_services_are_filtered_by_state(admin: APIClient) -> None:
    fleet(2)
    Service.objects.filter(host="cmp-01").update(last_seen_up=None)
    assert [row["host"] for row in admin.get("/api/services/?up=false").json()["results"]] == ["cmp-01"]


def test_disabled_service_shows_the_reason(admin: APIClient) -> None:
    fleet(1)
    url = f"/api/services/{Service.objects.get().pk}"
    body = admin.post(f"{url}/disable/", {"reason": "new disks"}).json()
    assert (body["status"], body["disabled_reason"], body["state"]) == ("disabled", "new disks", "up")
    assert admin.post(f"{url}/enable/").json()["status"] == "enabled"


def test_forced_down_service_is_down_until_taken_back(admin: APIClient) -> None:
    fleet(1)
    url = f"/api/services/{Service.objects.get().pk}/force_down/"
    assert admin.post(url, {}).json()["state"] == "down"
    assert admin.post(url, {"forced_down": False}).json()["state"] == "up"


def test_too_long_reason_names_its_field(admin: APIClient) -> None:
    fleet(1)
    answer = admin.post(f"/api/services/{Service.objects.get().pk}/disable/", {"reason": "x" * 256})
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "reason")


def test_zones_show_hosts_to_operators_only(admin: APIClient, client_of) -> None:  # type: ignore[no-untyped-def]
    fleet(1)
    (zone,) = admin.get("/api/availability-zones/").json()["results"]
    assert zone == {"name": "nova", "available": True, "hosts": ["cmp-00"]}
    (zone,) = client_of("reader").get("/api/availability-zones/").json()["results"]
    assert zone == {"name": "nova", "available": True, "hosts": None}


def test_cells_do_not_tell_their_database(admin: APIClient) -> None:
    body = admin.get("/api/cells/").json()
    assert [cell["name"] for cell in body["results"]] == ["cell0", "cell1"]
    assert "database" not in body["results"][0]
