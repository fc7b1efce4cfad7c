"""Flavors at the Compute API: what they show at which version, filters and pages, extra specs, access."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.identity.models import Project
from servers.models import Flavor
from tests.fixtures.remembering import remembered
from tests.worlds import cloud as world
from tests.worlds.compute_door import ComputeClient, fault_of

pytestmark = pytest.mark.django_db

SHORT = {"id", "name", "links"}
FULL = SHORT | {
    "ram",
    "disk",
    "swap",
    "vcpus",
    "rxtx_factor",
    "OS-FLV-EXT-DATA:ephemeral",
    "OS-FLV-DISABLED:disabled",
    "os-flavor-access:is_public",
}
NEW = {"name": "m1.new", "ram": 64, "vcpus": 1, "disk": 1}


@pytest.fixture
@remembered
def who() -> world.People:
    found = world.people()
    world.flavor("m1.tiny", memory_mib=512, root_gib=1, extra_specs={"hw:cpu_policy": "shared"})
    world.flavor("m1.big", memory_mib=4096, root_gib=20)
    world.flavor("m1.secret", memory_mib=1024, is_public=False)
    return found


@pytest.fixture
def admin(who: world.People) -> ComputeClient:
    return ComputeClient(who.admin)


def _names(answer: dict[str, Any]) -> list[str]:
    return [one["name"] for one in answer["flavors"]]


@pytest.mark.parametrize(
    ("minor", "short", "full"),
    [
        (1, SHORT, FULL),
        (54, SHORT, FULL),
        (55, SHORT | {"description"}, FULL | {"description"}),
        (60, SHORT | {"description"}, FULL | {"description"}),
        (61, SHORT | {"description"}, FULL | {"description", "extra_specs"}),
        (100, SHORT | {"description"}, FULL | {"description", "extra_specs"}),
    ],
)
def test_keys_by_version(who: world.People, minor: int, short: set[str], full: set[str]) -> None:
    reader = ComputeClient(who.reader, minor=minor)
    assert set(reader.get("/flavors")["flavors"][0]) == short
    shown = reader.get("/flavors/detail")["flavors"][0]
    assert set(shown) == full
    assert set(reader.get(f"/flavors/{shown['id']}")["flavor"]) == full
    assert shown["swap"] == (0 if minor >= 75 else "")
    assert [link["rel"] for link in shown["links"]] == ["self", "bookmark"]


def test_lists_are_filtered_and_ordered(who: world.People, admin: ComputeClient) -> None:
    member = ComputeClient(who.member)
    assert _names(member.get("/flavors")) == ["m1.tiny", "m1.big"]
    assert _names(member.get("/flavors?is_public=None")) == ["m1.tiny", "m1.big"]
    assert _names(admin.get("/flavors/detail")) == ["m1.tiny", "m1.big"]
    assert _names(admin.get("/flavors/detail?is_public=None")) == ["m1.tiny", "m1.secret", "m1.big"]
    assert _names(admin.get("/flavors/detail?is_public=False")) == ["m1.secret"]
    assert _names(member.get("/flavors?minRam=513")) == ["m1.big"]
    assert _names(member.get("/flavors?minDisk=2")) == ["m1.big"]
    assert _names(member.get("/flavors?sort_key=name&sort_dir=desc")) == ["m1.tiny", "m1.big"]
    for wrong in ("minRam=x", "minDisk=-1", "sort_key=colour", "sort_dir=up", "limit=-1", "limit=x", "marker=nobody"):
        fault_of(admin.call("GET", f"/flavors?{wrong}"), 400, "badRequest")
    fault_of(admin.call("GET", "/flavors?is_public=perhaps"), 400, "badRequest")
    assert admin.call("GET", "/flavors?colour=1", minor=74).status_code == 200
    fault_of(admin.call("GET", "/flavors?colour=1", minor=75), 400, "badRequest")


def test_pages_and_queries(who: world.People) -> None:
    member = ComputeClient(who.member)
    first = member.get("/flavors?limit=1")
    assert _names(first) == ["m1.tiny"]
    (following,) = first["flavors_links"]
    assert following["rel"] == "next"
    second = member.get("/flavors?" + following["href"].partition("?")[2])
    assert _names(second) == ["m1.big"]
    assert "flavors_links" not in second
    with CaptureQueriesContext(
        connection,
    ) as few:
        member.get("/flavors/detail", minor=61)
    for number in range(5):
        world.flavor(f"more-{number}")
    with CaptureQueriesContext(connection) as many:
        member.get("/flavors/detail", minor=61)
    assert len(few) == len(many)


def test_create_with_ids_of_all_kinds(admin: ComputeClient) -> None:
    made = admin.call("POST", "/flavors", {"flavor": {**NEW, "id": None}})
    assert made.status_code == 200
    shown = made.json()["flavor"]
    assert (shown["ram"], shown["disk"], shown["swap"], shown["rxtx_factor"]) == (64, 1, "", 1.0)
    assert Flavor.objects.get(name="m1.new").wire_id == shown["id"]
    text = admin.call("POST", "/flavors", {"flavor": {**NEW, "name": "n2", "id": "my flavor.1", "swap": "16"}})
    assert (text.json()["flavor"]["id"], text.json()["flavor"]["swap"]) == ("my flavor.1", 16)
    number = admin.call("POST", "/flavors", {"flavor": {**NEW, "name": "n3", "id": 1234, "rxtx_factor": "2.5"}})
    assert (number.json()["flavor"]["id"], number.json()["flavor"]["rxtx_factor"]) == ("1234", 2.5)
    assert admin.get("/flavors/1234")["flavor"]["name"] == "n3"
    chosen = "5d5a0b5a-2b0f-4a8c-8a0d-3a1c2d3e4f50"
    given = admin.call("POST", "/flavors", {"flavor": {**NEW, "name": "n4", "id": chosen}})
    assert given.json()["flavor"]["id"] == chosen
    assert admin.get("/flavors/detail?limit=1&marker=1234&sort_key=name")["flavors"][0]["name"] == "n4"
    for twice in ({"id": "1234", "name": "n5"}, {"id": chosen, "name": "n5"}, {"name": "n4"}):
        fault_of(admin.call("POST", "/flavors", {"flavor": {**NEW, **twice}}), 409, "conflictingRequest")


@pytest.mark.parametrize(
    "wrong",
    [
        {"ram": 0},
        {"ram": -1},
        {"vcpus": 0},
        {"disk": "x"},
        {"name": ""},
        {"name": "x" * 256},
        {"id": " x"},
        {"id": "a/b"},
        {"swap": -1},
        {"rxtx_factor": 0},
        {"rxtx_factor": -1.5},
        {"colour": "red"},
        {"description": "new in 2.55"},
        {"ram": 2**40},
    ],
)
def test_create_refuses(admin: ComputeClient, wrong: dict[str, Any]) -> None:
    fault_of(admin.call("POST", "/flavors", {"flavor": {**NEW, **wrong}}, minor=54), 400, "badRequest")
    assert not Flavor.objects.filter(name="m1.new").exists()


def test_describe_and_delete(who: world.People, admin: ComputeClient) -> None:
    body = {"flavor": {**NEW, "description": "small", "id": "small"}}
    assert admin.call("POST", "/flavors", body, minor=55).json()["flavor"]["description"] == "small"
    change = {"flavor": {"description": None}}
    fault_of(admin.call("PUT", "/flavors/small", change, minor=54), 404, "itemNotFound")
    assert admin.call("PUT", "/flavors/small", change, minor=55).json()["flavor"]["description"] is None
    fault_of(admin.call("PUT", "/flavors/small", {"flavor": {"ram": 1}}, minor=55), 400, "badRequest")
    fault_of(ComputeClient(who.member).call("DELETE", "/flavors/small"), 403, "forbidden")
    assert admin.call("DELETE", "/flavors/small").status_code == 202
    fault_of(admin.call("GET", "/flavors/small"), 404, "itemNotFound")
    fault_of(admin.call("DELETE", "/flavors/small"), 404, "itemNotFound")


def test_extra_specs(who: world.People, admin: ComputeClient) -> None:
    path = f"/flavors/{Flavor.objects.get(name='m1.tiny').pk}/os-extra_specs"
    assert ComputeClient(who.reader).get(path) == {"extra_specs": {"hw:cpu_policy": "shared"}}
    made = admin.call("POST", path, {"extra_specs": {"colour": "red", "weight": 3}})
    assert (made.status_code, made.json()) == (200, {"extra_specs": {"colour": "red", "weight": "3"}})
    assert admin.get(f"{path}/colour") == {"colour": "red"}
    assert admin.call("PUT", f"{path}/colour", {"colour": "blue"}).json() == {"colour": "blue"}
    fault_of(admin.call("PUT", f"{path}/colour", {"weight": "4"}), 400, "badRequest")
    assert admin.get(path)["extra_specs"] == {"hw:cpu_policy": "shared", "colour": "blue", "weight": "3"}
    assert admin.call("DELETE", f"{path}/colour").status_code == 200
    fault_of(admin.call("DELETE", f"{path}/colour"), 404, "itemNotFound")
    fault_of(admin.call("GET", f"{path}/colour"), 404, "itemNotFound")
    for wrong in ({"a?": "b"}, {"a": True}, {"a": "x" * 256}, {"": "b"}, {"hw:cpu_policy": "sometimes"}):
        fault_of(admin.call("POST", path, {"extra_specs": wrong}), 400, "badRequest")
    fault_of(ComputeClient(who.member).call("POST", path, {"extra_specs": {}}), 403, "forbidden")


def test_access(who: world.People, admin: ComputeClient) -> None:
    secret, public = Flavor.objects.get(name="m1.secret"), Flavor.objects.get(name="m1.tiny")
    other = Project.objects.get(name="other").pk.hex
    stranger = ComputeClient(who.stranger)
    fault_of(stranger.call("GET", f"/flavors/{secret.pk}"), 404, "itemNotFound")
    give = {"addTenantAccess": {"tenant": other}}
    made = admin.call("POST", f"/flavors/{secret.pk}/action", give)
    given = {"flavor_access": [{"flavor_id": str(secret.pk), "tenant_id": other}]}
    assert (made.status_code, made.json()) == (200, given)
    assert admin.get(f"/flavors/{secret.pk}/os-flavor-access") == given
    assert stranger.get(f"/flavors/{secret.pk}")["flavor"]["name"] == "m1.secret"
    fault_of(admin.call("POST", f"/flavors/{secret.pk}/action", give), 409, "conflictingRequest")
    take = {"removeTenantAccess": {"tenant": other}}
    assert admin.call("POST", f"/flavors/{secret.pk}/action", take).json() == {"flavor_access": []}
    fault_of(admin.call("POST", f"/flavors/{secret.pk}/action", take), 404, "itemNotFound")
    fault_of(admin.call("GET", f"/flavors/{public.pk}/os-flavor-access"), 404, "itemNotFound")
    fault_of(admin.call("POST", f"/flavors/{public.pk}/action", give, minor=7), 409, "conflictingRequest")
    nobody = {"addTenantAccess": {"tenant": "0" * 32}}
    fault_of(admin.call("POST", f"/flavors/{secret.pk}/action", nobody), 400, "badRequest")
    fault_of(admin.call("POST", f"/flavors/{secret.pk}/action", {**give, **take}), 400, "badRequest")
