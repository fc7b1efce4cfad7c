"""Aggregates, hypervisors, services and zones at the Compute API, for administrators."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from scheduling.models import Aggregate, ComputeNode, Service
from tests.worlds import cloud as world
from tests.worlds.compute_door import ComputeClient, fault_of

pytestmark = pytest.mark.django_db

AGGREGATE = {"id", "name", "availability_zone", "created_at", "updated_at", "deleted", "deleted_at"}
SHORT = {"id", "hypervisor_hostname", "state", "status"}
NEWEST = SHORT | {"hypervisor_type", "hypervisor_version", "host_ip", "service", "uptime"}
FIGURES = {
    "vcpus",
    "vcpus_used",
    "memory_mb",
    "memory_mb_used",
    "free_ram_mb",
    "local_gb",
    "local_gb_used",
    "free_disk_gb",
    "disk_available_least",
    "running_vms",
    "current_workload",
}
WITH_FIGURES = (NEWEST - {"uptime"}) | FIGURES | {"cpu_info"}
SERVICE = {"id", "binary", "host", "zone", "status", "state", "updated_at", "disabled_reason"}


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1", "h2")


@pytest.fixture
def admin(who: world.People) -> ComputeClient:
    return ComputeClient(who.admin)


def _made(admin: ComputeClient, name: str = "agg", **more: Any) -> int:
    answer = admin.call("POST", "/os-aggregates", {"aggregate": {"name": name, **more}})
    assert answer.status_code == 200, answer.content
    number = answer.json()["aggregate"]["id"]
    assert isinstance(number, int)
    return number


@pytest.mark.parametrize(("minor", "more"), [(1, set()), (40, set()), (41, {"uuid"}), (100, {"uuid"})])
def test_aggregate_keys_by_version(who: world.People, minor: int, more: set[str]) -> None:
    admin = ComputeClient(who.admin, minor=minor)
    made = admin.call("POST", "/os-aggregates", {"aggregate": {"name": "agg", "availability_zone": "z1"}})
    assert set(made.json()["aggregate"]) == AGGREGATE | more
    number = made.json()["aggregate"]["id"]
    shown = admin.get(f"/os-aggregates/{number}")["aggregate"]
    assert set(shown) == AGGREGATE | more | {"hosts", "metadata"}
    assert (shown["metadata"], shown["hosts"]) == ({"availability_zone": "z1"}, [])
    assert admin.get("/os-aggregates") == {"aggregates": [shown]}


def test_an_aggregate_lives(admin: ComputeClient) -> None:
    number = _made(admin)
    path = f"/os-aggregates/{number}"

    def act(**action: Any) -> Any:
        return admin.call("POST", f"{path}/action", action)

    assert act(add_host={"host": "h1"}).json()["aggregate"]["hosts"] == ["h1"]
    fault_of(act(add_host={"host": "h1"}), 409, "conflictingRequest")
    fault_of(act(add_host={"host": "h9"}), 404, "itemNotFound")
    fault_of(admin.call("DELETE", path), 400, "badRequest")
    set_zone = act(set_metadata={"metadata": {"ssd": "true", "availability_zone": "z1"}}).json()["aggregate"]
    assert (set_zone["availability_zone"], set_zone["metadata"]["ssd"]) == ("z1", "true")
    assert act(set_metadata={"metadata": {"ssd": None}}).json()["aggregate"]["metadata"] == {"availability_zone": "z1"}
    other = _made(admin, "other", availability_zone="z2")
    fault_of(
        admin.call("POST", f"/os-aggregates/{other}/action", {"add_host": {"host": "h1"}}), 409, "conflictingRequest"
    )
    change = {"aggregate": {"name": "new", "availability_zone": "z3"}}
    changed = admin.call("PUT", path, change).json()["aggregate"]
    assert (changed["name"], changed["availability_zone"]) == ("new", "z3")
    fault_of(admin.call("PUT", path, {"aggregate": {"name": "other"}}), 409, "conflictingRequest")
    assert act(remove_host={"host": "h1"}).json()["aggregate"]["hosts"] == []
    fault_of(act(remove_host={"host": "h1"}), 404, "itemNotFound")
    assert admin.call("DELETE", path).status_code == 200
    fault_of(admin.call("GET", path), 404, "itemNotFound")
    assert list(Aggregate.objects.values_list("name", flat=True)) == ["other"]


def test_aggregates_refuse(admin: ComputeClient) -> None:
    number = _made(admin)
    fault_of(admin.call("GET", "/os-aggregates/agg"), 400, "badRequest")
    fault_of(admin.call("GET", f"/os-aggregates/{number + 1}"), 404, "itemNotFound")
    fault_of(admin.call("GET", f"/os-aggregates/{2**53}"), 404, "itemNotFound")
    for wrong in (
        {"name": ""},
        {"name": "x" * 256},
        {},
        {"name": "x", "colour": 1},
        {"name": "x", "availability_zone": ""},
    ):
        fault_of(admin.call("POST", "/os-aggregates", {"aggregate": wrong}), 400, "badRequest")
    fault_of(admin.call("POST", "/os-aggregates", {"aggregate": {"name": "agg"}}), 409, "conflictingRequest")
    for action in ({}, {"add_host": {}}, {"fly": None}, {"add_host": {"host": "h1"}, "remove_host": {"host": "h1"}}):
        fault_of(admin.call("POST", f"/os-aggregates/{number}/action", action), 400, "badRequest")


def test_images_of_an_aggregate(admin: ComputeClient) -> None:
    number, image = _made(admin), world.image("cached")
    admin.call("POST", f"/os-aggregates/{number}/action", {"add_host": {"host": "h1"}})
    path, body = f"/os-aggregates/{number}/images", {"cache": [{"id": str(image.pk)}]}
    fault_of(admin.call("POST", path, body, minor=80), 404, "itemNotFound")
    assert admin.call("POST", path, body, minor=81).status_code == 202
    twice = {"cache": body["cache"] * 2}
    fault_of(admin.call("POST", path, twice, minor=81), 400, "badRequest")
    fault_of(admin.call("POST", path, {"cache": [{"id": "x"}]}, minor=81), 400, "badRequest")


@pytest.mark.parametrize(
    ("minor", "keys"), [(1, WITH_FIGURES), (28, WITH_FIGURES), (53, WITH_FIGURES), (87, WITH_FIGURES), (88, NEWEST)]
)
def test_hypervisor_keys_by_version(who: world.People, minor: int, keys: set[str]) -> None:
    admin = ComputeClient(who.admin, minor=minor)
    first = admin.get("/os-hypervisors")["hypervisors"][0]
    assert set(first) == SHORT
    assert isinstance(first["id"], str if minor >= 53 else int)
    whole = admin.get("/os-hypervisors/detail")["hypervisors"][0]
    assert set(whole) == keys
    assert admin.get(f"/os-hypervisors/{first['id']}") == {"hypervisor": whole}
    assert set(whole["service"]) == {"id", "host", "disabled_reason"}
    if minor <= 87:
        info = json.loads(whole["cpu_info"]) if minor < 28 else whole["cpu_info"]
        assert set(info) == {"arch", "model", "vendor", "features", "topology"}
        node = ComputeNode.objects.get(host="h1")
        assert (whole["memory_mb"], whole["free_disk_gb"]) == (node.memory_mib, node.disk_gib - node.disk_used_gib)


def test_hypervisors_are_found(who: world.People, admin: ComputeClient) -> None:
    server = world.active(who.member)
    held = [{"uuid": str(server.pk), "name": "vm"}]
    (there,) = admin.get("/os-hypervisors?with_servers=true&hypervisor_hostname_pattern=" + server.host, minor=53)[
        "hypervisors"
    ]
    assert there["servers"] == held
    assert [one["hypervisor_hostname"] for one in admin.get("/os-hypervisors/h/search")["hypervisors"]] == ["h1", "h2"]
    with_servers = {
        one["hypervisor_hostname"]: one.get("servers") for one in admin.get("/os-hypervisors/h/servers")["hypervisors"]
    }
    assert with_servers == {"h1": None, "h2": None, server.host: held}
    fault_of(admin.call("GET", "/os-hypervisors/x/search"), 404, "itemNotFound")
    fault_of(admin.call("GET", "/os-hypervisors/h/search", minor=53), 404, "itemNotFound")
    fault_of(admin.call("GET", "/os-hypervisors/x/servers"), 404, "itemNotFound")
    fault_of(admin.call("GET", "/os-hypervisors?hypervisor_hostname_pattern=x", minor=53), 404, "itemNotFound")
    fault_of(admin.call("GET", "/os-hypervisors/h1", minor=53), 400, "badRequest")
    fault_of(admin.call("GET", "/os-hypervisors/h1"), 404, "itemNotFound")
    fault_of(admin.call("GET", "/os-hypervisors/99"), 404, "itemNotFound")
    number = admin.get("/os-hypervisors")["hypervisors"][0]["id"]
    fault_of(admin.call("GET", f"/os-hypervisors/{number}/uptime"), 501, "notImplemented")
    ComputeNode.objects.update(metrics={"uptime": 90061.5, "cpu.load.1m": 0.5, "cpu.load.5m": 1, "cpu.load.15m": 2})
    told = "up 1 days,  1:01, load average: 0.50, 1.00, 2.00"
    assert admin.get(f"/os-hypervisors/{number}/uptime")["hypervisor"]["uptime"] == told
    assert {one["uptime"] for one in admin.get("/os-hypervisors/detail", minor=88)["hypervisors"]} == {told}
    fault_of(admin.call("GET", "/os-hypervisors/-1/uptime"), 404, "itemNotFound")
    pattern = "/os-hypervisors?hypervisor_hostname_pattern=h&limit=1"
    fault_of(admin.call("GET", pattern, minor=53), 400, "badRequest")


def test_pages_and_queries_of_hypervisors(admin: ComputeClient) -> None:
    assert len(admin.get("/os-hypervisors?limit=1", minor=32)["hypervisors"]) == 2
    for minor in (33, 53):
        first = admin.get("/os-hypervisors/detail?limit=1", minor=minor)
        query = first["hypervisors_links"][0]["href"].partition("?")[2]
        last = admin.get(f"/os-hypervisors/detail?{query}", minor=minor)
        names = [one["hypervisor_hostname"] for one in (*first["hypervisors"], *last["hypervisors"])]
        assert (names, "hypervisors_links" in last) == (["h1", "h2"], False)
    with CaptureQueriesContext(connection) as few:
        admin.get("/os-hypervisors/detail?with_servers=1", minor=53)
        admin.get("/os-services")
    for name in ("h3", "h4", "h5"):
        world.host(name)
    with CaptureQueriesContext(connection) as many:
        admin.get("/os-hypervisors/detail?with_servers=1", minor=53)
        admin.get("/os-services")
    assert len(few) == len(many)


def test_statistics(who: world.People, admin: ComputeClient) -> None:
    found = admin.get("/os-hypervisors/statistics")["hypervisor_statistics"]
    assert set(found) == FIGURES | {"count"}
    assert (found["count"], found["memory_mb"]) == (2, sum(one.memory_mib for one in ComputeNode.objects.all()))
    fault_of(admin.call("GET", "/os-hypervisors/statistics", minor=88), 404, "itemNotFound")


@pytest.mark.parametrize(
    ("minor", "keys"), [(1, SERVICE), (10, SERVICE), (11, SERVICE | {"forced_down"}), (53, SERVICE | {"forced_down"})]
)
def test_service_keys_by_version(who: world.People, minor: int, keys: set[str]) -> None:
    found = ComputeClient(who.admin, minor=minor).get("/os-services")["services"]
    assert [set(one) for one in found] == [keys, keys]
    assert {one["binary"] for one in found} == {"nova-compute"}
    assert isinstance(found[0]["id"], str if minor >= 53 else int)
    assert (found[0]["zone"], found[0]["status"], found[0]["state"]) == ("nova", "enabled", "up")
    assert len(ComputeClient(who.admin, minor=minor).get("/os-services?host=h1&binary=nova-compute")["services"]) == 1
    assert ComputeClient(who.admin, minor=minor).get("/os-services?binary=nova-conductor") == {"services": []}


def test_services_change_as_of_old(admin: ComputeClient) -> None:
    named = {"host": "h1", "binary": "nova-compute"}
    path = "/os-services"
    disabled = admin.call("PUT", f"{path}/disable", named)
    assert (disabled.status_code, disabled.json()) == (200, {"service": {**named, "status": "disabled"}})
    assert Service.objects.get(host="h1").disabled
    reason = {**named, "disabled_reason": "disk"}
    logged = admin.call("PUT", f"{path}/disable-log-reason", reason)
    assert logged.json() == {"service": {**reason, "status": "disabled"}}
    assert Service.objects.get(host="h1").disabled_reason == "disk"
    assert admin.call("PUT", f"{path}/enable", named).json() == {"service": {**named, "status": "enabled"}}
    forced = {**named, "forced_down": True}
    fault_of(admin.call("PUT", f"{path}/force-down", forced, minor=10), 404, "itemNotFound")
    assert admin.call("PUT", f"{path}/force-down", forced, minor=11).json() == {"service": forced}
    row = Service.objects.get(host="h1")
    assert (row.disabled, row.forced_down) == (False, True)
    for wrong in ({"host": "h9", "binary": "nova-compute"}, {"host": "h1", "binary": "nova-conductor"}):
        fault_of(admin.call("PUT", f"{path}/enable", wrong), 404, "itemNotFound")
    fault_of(admin.call("PUT", f"{path}/enable", {"host": "h1"}), 400, "badRequest")
    fault_of(admin.call("PUT", f"{path}/enable", named, minor=53), 404, "itemNotFound")


def test_services_change_by_uuid(admin: ComputeClient) -> None:
    row = Service.objects.get(host="h1")

    def put(**body: Any) -> Any:
        return admin.call("PUT", f"/os-services/{row.pk}", body, minor=53)

    shown = put(status="disabled", disabled_reason="disk", forced_down=True).json()["service"]
    assert (shown["status"], shown["disabled_reason"], shown["forced_down"]) == ("disabled", "disk", True)
    shown = put(status="enabled", forced_down=False).json()["service"]
    assert (shown["status"], shown["disabled_reason"], shown["forced_down"]) == ("enabled", None, False)
    fault_of(put(), 400, "badRequest")
    fault_of(put(disabled_reason="disk"), 400, "badRequest")
    fault_of(put(status="enabled", disabled_reason="disk"), 400, "badRequest")
    fault_of(put(status="away"), 400, "badRequest")
    fault_of(admin.call("PUT", "/os-services/1", {"status": "enabled"}, minor=53), 400, "badRequest")
    fault_of(admin.call("PUT", f"/os-services/{'0' * 32}", {"status": "enabled"}, minor=53), 404, "itemNotFound")


def test_a_service_is_removed_with_its_host(who: world.People, admin: ComputeClient) -> None:
    server = world.active(who.member)
    busy = Service.objects.get(host=server.host)
    fault_of(admin.call("DELETE", f"/os-services/{busy.pk}", minor=53), 409, "conflictingRequest")
    other = Service.objects.exclude(pk=busy.pk).get()
    Service.objects.filter(pk=other.pk).update(disabled=True, last_seen_up=None)
    number = {one["host"]: one["id"] for one in admin.get("/os-services")["services"]}[other.host]
    assert admin.call("DELETE", f"/os-services/{number}").status_code == 204
    assert list(Service.objects.values_list("host", flat=True)) == [server.host]
    fault_of(admin.call("DELETE", f"/os-services/{number}"), 404, "itemNotFound")
    fault_of(admin.call("DELETE", "/os-services/x"), 400, "badRequest")


def test_zones(who: world.People, admin: ComputeClient) -> None:
    number = _made(admin, availability_zone="z1")
    admin.call("POST", f"/os-aggregates/{number}/action", {"add_host": {"host": "h1"}})
    _made(admin, "empty", availability_zone="z2")
    listed = ComputeClient(who.reader).get("/os-availability-zone")["availabilityZoneInfo"]
    assert listed == [
        {"zoneName": "nova", "zoneState": {"available": True}, "hosts": None},
        {"zoneName": "z1", "zoneState": {"available": True}, "hosts": None},
        {"zoneName": "z2", "zoneState": {"available": False}, "hosts": None},
    ]
    fault_of(ComputeClient(who.reader).call("GET", "/os-availability-zone/detail"), 403, "forbidden")
    found = {one["zoneName"]: one["hosts"] for one in admin.get("/os-availability-zone/detail")["availabilityZoneInfo"]}
    assert {name: sorted(hosts) for name, hosts in found.items()} == {"nova": ["h2"], "z1": ["h1"], "z2": []}
    assert set(found["z1"]["h1"]["nova-compute"]) == {"available", "active", "updated_at"}
