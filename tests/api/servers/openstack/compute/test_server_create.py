"""POST /servers: what clients send, what each version takes, what is refused and how."""

import base64
from typing import Any

import pytest

from controlplane.identity.models import Project
from servers.catalog.services.keypair import keypair_create
from servers.catalog.services.server_group import server_group_create
from servers.models import Flavor, Image, Network, RequestSpec
from servers.networks.domain.ports import PortRequest
from servers.networks.services.ports import ports_create
from tests.worlds import cloud as world
from tests.worlds import networks
from tests.worlds.compute_door import NEWEST, ComputeClient, fault_of

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJqvRHHuZeWHgkrmIgRfE1YQqpGvJo1x3sXzYzG6T0sT test"


@pytest.fixture
def who() -> world.People:
    return world.cloud()


def _body(**more: Any) -> dict[str, Any]:
    flavor, image = Flavor.objects.get(), Image.objects.get()
    server = {"name": "vm", "flavorRef": str(flavor.pk), "imageRef": str(image.pk), "networks": "none", **more}
    return {"server": {key: value for key, value in server.items() if value is not ...}}


def _create(client: ComputeClient, *, minor: int | None = None, hints: Any = None, **more: Any) -> Any:
    return client.call("POST", "/servers", {**_body(**more), **(hints or {})}, minor=minor)


def test_as_the_sdk_sends_it(who: world.People) -> None:
    """With the image once more as the root disk."""
    member = ComputeClient(who.member, minor=NEWEST)
    root = {
        "uuid": str(Image.objects.get().pk),
        "boot_index": 0,
        "source_type": "image",
        "destination_type": "local",
        "delete_on_termination": "true",
    }
    answer = _create(member, min_count=1, max_count=1, block_device_mapping_v2=[root])
    assert answer.status_code == 202, answer.content
    made = answer.json()["server"]
    assert set(made) == {"id", "links", "adminPass", "OS-DCF:diskConfig", "security_groups"}
    assert made["security_groups"] == [{"name": "default"}]
    assert answer["Location"] == made["links"][0]["href"]
    shown = member.get(f"/servers/{made['id']}")["server"]
    assert (shown["status"], shown["addresses"]) == ("BUILD", {})
    world.pump()
    world.finish_builds()
    shown = member.get(f"/servers/{made['id']}")["server"]
    assert (shown["status"], shown["os-extended-volumes:volumes_attached"]) == ("ACTIVE", [])


def test_every_field_reaches_the_server(who: world.People) -> None:
    keypair_create(user_id=who.admin.user_id, name="mine", public_key=KEY)
    user_data = base64.b64encode(b"#cloud-config\n").decode()
    fields = {
        "metadata": {"role": "db"},
        "tags": ["red"],
        "description": "first",
        "hostname": "db.example.org",
        "key_name": "mine",
        "user_data": user_data,
        "accessIPv4": "192.0.2.1",
        "accessIPv6": "2001:db8::1",
        "OS-DCF:diskConfig": "AUTO",
        "adminPass": "Very-secret-1",
        "config_drive": True,
        "availability_zone": "nova:h1",
    }
    admin = ComputeClient(who.admin, minor=NEWEST)
    answer = _create(admin, **fields)
    assert answer.status_code == 202, answer.content
    assert answer.json()["server"]["adminPass"] == "Very-secret-1"
    shown = admin.get(f"/servers/{answer.json()['server']['id']}")["server"]
    for key in ("metadata", "tags", "description", "key_name", "accessIPv4", "accessIPv6", "OS-DCF:diskConfig"):
        assert shown[key] == fields[key]
    assert shown["OS-EXT-SRV-ATTR:hostname"] == "db.example.org"
    assert shown["OS-EXT-SRV-ATTR:user_data"] == user_data
    assert shown["config_drive"] == "True"


@pytest.mark.parametrize(
    ("specs", "fields", "hints", "field", "reason"),
    [
        ({"quota:vif_inbound_peak": "1"}, {}, {}, "flavorRef", "needs quota:vif_inbound_average"),
        ({}, {"imageRef": "00000000-0000-0000-0000-000000000009"}, {}, "imageRef", "does not exist"),
        ({}, {"accessIPv4": "192.0.2.300"}, {}, "accessIPv4", "IPv4"),
        (
            {},
            {},
            {"os:scheduler_hints": {"group": "00000000-0000-0000-0000-000000000009"}},
            "os:scheduler_hints",
            "Server group",
        ),
    ],
)
def test_what_is_wrong_is_said_by_the_name_that_it_has_in_the_body(
    who: world.People, specs: Any, fields: Any, hints: Any, field: str, reason: str
) -> None:
    Flavor.objects.update(extra_specs=specs)
    said = fault_of(_create(ComputeClient(who.member, minor=NEWEST), hints=hints, **fields), 400, "badRequest")
    assert said.startswith(f"{field}: ")
    assert reason in said


@pytest.mark.parametrize("key", ["os:scheduler_hints", "OS-SCH-HNT:scheduler_hints"])
def test_hints_stand_beside_the_server_under_either_key(who: world.People, key: str) -> None:
    group = server_group_create(caller=who.member, name="g", policy="anti-affinity")
    answer = _create(ComputeClient(who.member, minor=NEWEST), hints={key: {"group": str(group.pk), "mine": "x"}})
    assert answer.status_code == 202, answer.content
    server = answer.json()["server"]["id"]
    assert RequestSpec.objects.get(instance_uuid=server).typed_body.group_id == group.pk
    shown = ComputeClient(who.member, minor=NEWEST).get(f"/servers/{server}")["server"]
    assert shown["server_groups"] == [str(group.pk)]
    assert shown["scheduler_hints"] == {"group": str(group.pk), "mine": "x"}


def test_several_at_once_and_their_reservation(who: world.People) -> None:
    member = ComputeClient(who.member, minor=NEWEST)
    answer = _create(member, min_count="2", max_count=3, return_reservation_id=True)
    assert (answer.status_code, set(answer.json())) == (202, {"reservation_id"})
    found = member.get(f"/servers?reservation_id={answer.json()['reservation_id']}")["servers"]
    assert sorted(one["name"] for one in found) == ["vm-1", "vm-2", "vm-3"]


def test_without_a_config_drive_no_password_is_made(who: world.People) -> None:
    answer = _create(ComputeClient(who.member, minor=NEWEST), config_drive=False)
    assert answer.status_code == 202, answer.content
    assert "adminPass" not in answer.json()["server"]


@pytest.mark.parametrize(
    ("key", "value", "first", "last"),
    [
        ("description", "x", 19, None),
        ("tags", ["x"], 52, None),
        ("hypervisor_hostname", "h1", 74, None),
        ("host", "h1", 74, None),
        ("hostname", "x", 90, None),
        ("personality", [{"path": "/x", "contents": "eA=="}], 1, 56),
    ],
)
def test_fields_come_and_go_with_their_versions(
    who: world.People, key: str, value: Any, first: int, last: int | None
) -> None:
    admin = ComputeClient(who.admin)
    if first > 1:
        networks: Any = "none" if first > 37 else ...
        fault_of(_create(admin, minor=first - 1, networks=networks, **{key: value}), 400, "badRequest")
    within = first if last is None else last
    networks = "none" if within >= 37 else ...
    assert _create(admin, minor=within, networks=networks, **{key: value}).status_code == 202
    if last is not None:
        fault_of(_create(admin, minor=last + 1, **{key: value}), 400, "badRequest")


def test_auto_is_no_more_than_nothing_where_there_are_no_networks(who: world.People) -> None:
    member = ComputeClient(who.member, minor=NEWEST)
    made = _create(member, networks="auto")
    assert made.status_code == 202, made.content
    Network.objects.create(name="theirs", project_id=who.stranger.project_id)
    assert "No network can be made" in fault_of(_create(member, networks="auto"), 400, "badRequest")


def test_networks_have_to_be_said_from_2_37_on(who: world.People) -> None:
    member = ComputeClient(who.member)
    assert _create(member, minor=36, networks=...).status_code == 202
    fault_of(_create(member, minor=36, networks="none"), 400, "badRequest")
    fault_of(_create(member, minor=37, networks=...), 400, "badRequest")


@pytest.mark.parametrize(
    "more",
    [
        {"name": ""},
        {"name": ...},
        {"flavorRef": "none"},
        {"imageRef": "none"},
        {"unknown": 1},
        {"min_count": 3, "max_count": 2},
        {"min_count": 0},
        {"metadata": {"a": 1}},
        {"metadata": {"a": "x" * 256}},
        {"tags": ["a,b"]},
        {"networks": [{"uuid": "00000000-0000-0000-0000-00000000000a"}]},
        {"networks": [{"nothing": "x"}]},
        {"key_name": "none"},
        {"security_groups": [{"name": "none"}]},
        {"availability_zone": "none"},
        {"user_data": "???"},
        {"accessIPv4": "x"},
        {"config_drive": "perhaps"},
        {"OS-DCF:diskConfig": "LATER"},
        {"block_device_mapping_v2": [{"boot_index": 0}]},
        {"block_device_mapping_v2": [{"delete_on_termination": "maybe"}]},
        {"imageRef": ..., "block_device_mapping_v2": []},
    ],
)
def test_what_is_wrong_is_a_400_in_novas_shape(who: world.People, more: dict[str, Any]) -> None:
    assert fault_of(_create(ComputeClient(who.member, minor=NEWEST), **more), 400, "badRequest")


def test_a_body_has_a_server_and_nothing_unknown(who: world.People) -> None:
    member = ComputeClient(who.member, minor=NEWEST)
    for body in ({}, {"server": None}, [], {**_body(), "more": 1}):
        fault_of(member.call("POST", "/servers", body), 400, "badRequest")


def test_what_is_over_a_quota_is_403(who: world.People) -> None:
    fault_of(_create(ComputeClient(who.member, minor=NEWEST), min_count=500), 403, "forbidden")


def test_a_forced_host_is_for_administrators(who: world.People) -> None:
    member = ComputeClient(who.member, minor=NEWEST)
    fault_of(_create(member, availability_zone="nova:h1"), 403, "forbidden")
    fault_of(_create(member, host="h1"), 403, "forbidden")
    fault_of(_create(ComputeClient(who.reader, minor=NEWEST)), 403, "forbidden")


def test_port_that_asks_for_bandwidth_is_for_clients_that_know_of_such() -> None:
    who = networks.cloud_with_networks()
    net = networks.network("lan", project=Project.objects.get(pk=who.member.project_id))
    asked = {"out": {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 2000}}}
    wanted = PortRequest(net.pk, who.member.project_id, resource_request=asked)
    port = ports_create(caller=who.admin, requests=[wanted])[0]
    named = [{"port": str(port.pk)}]
    older = _create(ComputeClient(who.member), minor=71, networks=named)
    assert "not supported until microversion 2.72" in fault_of(older, 400, "badRequest")
    assert _create(ComputeClient(who.member), minor=72, networks=named).status_code == 202
