"""The exact keys of a server at each microversion that changes them: clients check them as strictly."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.infra.db import now_plus
from scheduling.fleet.services.service_states import service_disable, service_force_down
from scheduling.models import Service
from servers.models import Instance, InstanceFault
from tests.worlds import cloud as world
from tests.worlds.compute_door import NEWEST, ComputeClient

pytestmark = pytest.mark.django_db(transaction=True)

BASIC = {
    *("id", "name", "status", "tenant_id", "user_id", "metadata", "hostId", "image", "flavor", "created", "updated"),
    *("addresses", "accessIPv4", "accessIPv6", "links", "OS-DCF:diskConfig", "progress"),
}
EXTENDED = {
    *("OS-EXT-AZ:availability_zone", "OS-EXT-STS:task_state", "OS-EXT-STS:vm_state", "OS-EXT-STS:power_state"),
    *("OS-SRV-USG:launched_at", "OS-SRV-USG:terminated_at", "config_drive", "key_name"),
    "os-extended-volumes:volumes_attached",
}
ATTRIBUTE = "OS-EXT-SRV-ATTR:"
ADMIN = {f"{ATTRIBUTE}{name}" for name in ("host", "hypervisor_hostname", "instance_name")}
ADMIN_SINCE_3 = {
    f"{ATTRIBUTE}{name}"
    for name in (
        "hostname",
        "kernel_id",
        "ramdisk_id",
        "launch_index",
        "reservation_id",
        "root_device_name",
        "user_data",
    )
}
CHANGED = {9: "locked", 19: "description", 26: "tags", 63: "trusted_image_certificates", 73: "locked_reason"}
SHOWN = {90: f"{ATTRIBUTE}hostname", 96: "pinned_availability_zone", 100: "scheduler_hints"}
MINORS = [
    1,
    2,
    3,
    8,
    9,
    15,
    16,
    18,
    19,
    25,
    26,
    46,
    47,
    62,
    63,
    70,
    71,
    72,
    73,
    74,
    75,
    89,
    90,
    95,
    96,
    97,
    98,
    99,
    100,
]


@pytest.fixture
def who() -> world.People:
    return world.cloud()


def _since(keys: dict[int, str], minor: int) -> set[str]:
    return {key for since, key in keys.items() if minor >= since}


def _expected(minor: int, *, is_admin: bool) -> set[str]:
    found = BASIC | EXTENDED | _since(CHANGED, minor) | _since(SHOWN, minor)
    if is_admin:
        found |= ADMIN | (ADMIN_SINCE_3 if minor >= 3 else set()) | _since({16: "host_status"}, minor)
    return found


@pytest.mark.parametrize("minor", MINORS)
def test_keys_of_show_and_detail(who: world.People, minor: int) -> None:
    server = world.active(who.member)
    for caller in (who.member, who.admin):
        client, expected = ComputeClient(caller, minor=minor), _expected(minor, is_admin=caller.is_admin)
        shown = client.get(f"/servers/{server.pk}")["server"]
        assert set(shown) == expected | ({"server_groups"} if minor >= 71 else set())
        (listed,) = client.get("/servers/detail")["servers"]
        assert set(listed) == expected
        assert listed == {key: value for key, value in shown.items() if key != "server_groups"}
        (brief,) = client.get("/servers")["servers"]
        assert set(brief) == {"id", "name", "links"}


@pytest.mark.parametrize("minor", [1, 9, 19, 26, 47, 63, 71, 73, 74, 75, 90, 100])
def test_keys_of_the_answer_to_a_change(who: world.People, minor: int) -> None:
    server = world.active(who.member)
    client = ComputeClient(who.member, minor=minor)
    changed = client.call("PUT", f"/servers/{server.pk}", {"server": {"name": "other"}})
    assert changed.status_code == 200
    expected = _expected(minor, is_admin=False) if minor >= 75 else BASIC | _since(CHANGED, minor)
    assert set(changed.json()["server"]) == expected | ({"server_groups"} if minor >= 71 else set())
    assert changed.json()["server"]["name"] == "other"


def test_status_of_the_host_by_nova_s_rule(who: world.People) -> None:
    server = world.active(who.member)
    admin = ComputeClient(who.admin, minor=NEWEST)

    def status() -> str:
        shown = admin.get(f"/servers/{server.pk}")["server"]
        assert admin.get("/servers/detail")["servers"][0]["host_status"] == shown["host_status"]
        return str(shown["host_status"])

    Service.objects.update(last_seen_up=now_plus(-3600))
    assert status() == "UNKNOWN"
    service_disable(host="h1", reason="repairs")
    assert status() == "MAINTENANCE"
    service_force_down(host="h1", forced_down=True)
    assert status() == "DOWN"
    assert "host_status" not in ComputeClient(who.member, minor=NEWEST).get(f"/servers/{server.pk}")["server"]


def test_values_of_a_server(who: world.People) -> None:
    server = world.active(who.member, description="web", metadata={"role": "db"}, tags=["b", "a"])
    shown = ComputeClient(who.admin, minor=NEWEST).get(f"/servers/{server.pk}")["server"]
    assert (shown["status"], shown["OS-EXT-STS:power_state"], shown["progress"]) == ("ACTIVE", 1, 0)
    assert (shown["description"], shown["metadata"], shown["tags"]) == ("web", {"role": "db"}, ["a", "b"])
    assert shown["tenant_id"] == who.member.project_id.hex
    assert (shown[f"{ATTRIBUTE}host"], shown["host_status"]) == ("h1", "UP")
    assert shown["flavor"] == {
        "vcpus": 1,
        "ram": 512,
        "disk": 1,
        "ephemeral": 0,
        "swap": 0,
        "original_name": "m1.tiny",
        "extra_specs": {},
    }
    assert shown["image"] == {
        "id": str(server.image_id),
        "links": [{"rel": "bookmark", "href": f"http://testserver/compute/images/{server.image_id}"}],
        "properties": {},
    }
    assert shown["links"][0] == {"rel": "self", "href": f"http://testserver/compute/v2.1/servers/{server.pk}"}
    assert shown["created"].endswith("Z") and "." not in shown["created"]
    assert len(shown["OS-SRV-USG:launched_at"].split(".")[1]) == 6
    assert shown["addresses"] == {
        "default": [
            {"version": 4, "addr": "10.0.0.5", "OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": ""},
        ]
    }
    old = ComputeClient(who.admin, minor=46).get(f"/servers/{server.pk}")["server"]
    assert set(old["flavor"]) == {"id", "links"} and set(old["image"]) == {"id", "links"}


def test_no_host_is_shown_to_tenants_and_hosts_are_told_apart_by_a_digest(who: world.People) -> None:
    server = world.active(who.member)
    shown = ComputeClient(who.member, minor=NEWEST).get(f"/servers/{server.pk}")["server"]
    assert "h1" not in str(shown)
    assert len(shown["hostId"]) == 56


def test_the_fault_of_a_server_in_error(who: world.People) -> None:
    server = world.active(who.member)
    Instance.objects.filter(pk=server.pk).update(vm_state="error")
    InstanceFault.objects.create(instance_uuid=server.pk, code=500, message="no disk", details="on h1")
    faults: dict[str, Any] = {}
    for caller in (who.member, who.admin):
        shown = ComputeClient(caller).get(f"/servers/{server.pk}")["server"]
        assert shown["status"] == "ERROR" and "progress" not in shown
        faults[caller.username] = shown["fault"]
    assert set(faults["mary"]) == {"code", "created", "message"}
    assert faults["root"] == {**faults["mary"], "details": "on h1"}


def test_a_list_costs_the_same_number_of_queries_however_long(who: world.People) -> None:
    client = ComputeClient(who.admin, minor=NEWEST)

    def queries() -> int:
        client.get("/servers/detail")
        with CaptureQueriesContext(
            connection,
        ) as found:
            client.get("/servers/detail")
        return len(found)

    world.active(who.member)
    few = queries()
    for number in range(4):
        world.active(who.member, f"vm{number}")
    assert queries() == few
    assert few <= 15
