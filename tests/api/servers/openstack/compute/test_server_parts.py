"""What belongs to a server: metadata, tags, addresses, passwords, diagnostics, consoles, groups, shares, actions."""

import pytest

from servers.instances.services.guest_password import guest_password_store
from servers.models import Instance, InstanceAction, InstanceActionEvent
from tests.worlds import cloud as world
from tests.worlds.compute_door import NEWEST, ComputeClient, fault_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> world.People:
    return world.cloud()


@pytest.fixture
def server(who: world.People) -> Instance:
    return world.active(who.member, metadata={"a": "1"}, tags=["red"])


def test_metadata(server: Instance, who: world.People) -> None:
    member, path = ComputeClient(who.member), f"/servers/{server.pk}/metadata"
    assert member.get(path) == {"metadata": {"a": "1"}}
    assert member.call("POST", path, {"metadata": {"b": "2"}}).json() == {"metadata": {"a": "1", "b": "2"}}
    assert member.call("PUT", path, {"metadata": {"c": "3"}}).json() == {"metadata": {"c": "3"}}
    assert member.call("PUT", f"{path}/d", {"meta": {"d": "4"}}).json() == {"meta": {"d": "4"}}
    assert member.get(f"{path}/d") == {"meta": {"d": "4"}}
    assert member.call("DELETE", f"{path}/c").status_code == 204
    for method in ("GET", "DELETE"):
        fault_of(member.call(method, f"{path}/c"), 404, "itemNotFound")
    assert member.get(path) == {"metadata": {"d": "4"}}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/x", {"meta": {"y": "1"}}),
        ("PUT", "/x", {"meta": {}}),
        ("PUT", "/x", {"meta": {"x": "1", "y": "1"}}),
        ("PUT", "", {"metadata": {"x": 1}}),
        ("POST", "", {"metadata": {"x": "y" * 256}}),
        ("POST", "", {"metadata": {"": "y"}}),
        ("POST", "", {"meta": {}}),
    ],
)
def test_bad_metadata_is_400(server: Instance, who: world.People, method: str, path: str, body: object) -> None:
    answer = ComputeClient(who.member).call(method, f"/servers/{server.pk}/metadata{path}", body)
    fault_of(answer, 400, "badRequest")


def test_tags(server: Instance, who: world.People) -> None:
    member, path = ComputeClient(who.member, minor=26), f"/servers/{server.pk}/tags"
    fault_of(member.call("GET", path, minor=25), 404, "itemNotFound")
    assert member.get(path) == {"tags": ["red"]}
    made = member.call("PUT", f"{path}/blue")
    assert (made.status_code, made["Location"]) == (201, f"http://testserver/compute/v2.1{path}/blue")
    assert member.call("PUT", f"{path}/blue").status_code == 204
    assert member.call("GET", f"{path}/blue").status_code == 204
    assert member.call("DELETE", f"{path}/blue").status_code == 204
    for method in ("GET", "DELETE"):
        fault_of(member.call(method, f"{path}/blue"), 404, "itemNotFound")
    assert member.call("PUT", path, {"tags": ["y", "x"]}).json() == {"tags": ["x", "y"]}
    fault_of(member.call("PUT", path, {"tags": ["x,y"]}), 400, "badRequest")
    assert member.call("DELETE", path).status_code == 204
    assert member.get(path) == {"tags": []}


def test_addresses(server: Instance, who: world.People) -> None:
    reader, path = ComputeClient(who.reader), f"/servers/{server.pk}/ips"
    addresses = [{"version": 4, "addr": "10.0.0.5"}]
    assert reader.get(path) == {"addresses": {"default": addresses}}
    assert reader.get(f"{path}/default") == {"default": addresses}
    fault_of(reader.call("GET", f"{path}/other"), 404, "itemNotFound")


def test_the_password_that_a_guest_told(server: Instance, who: world.People) -> None:
    member, path = ComputeClient(who.member), f"/servers/{server.pk}/os-server-password"
    assert member.get(path) == {"password": ""}
    guest_password_store(host="h1", instance_uuid=str(server.pk), password="sealed")
    assert member.get(path) == {"password": "sealed"}
    assert member.call("DELETE", path).status_code == 204
    assert member.get(path) == {"password": ""}


def test_diagnostics_have_one_form_from_2_48_on(server: Instance, who: world.People) -> None:
    admin, path = ComputeClient(who.admin), f"/servers/{server.pk}/diagnostics"
    assert set(admin.get(path, minor=48)) == {
        *("state", "driver", "hypervisor", "hypervisor_os", "uptime", "config_drive", "num_cpus", "num_nics"),
        *("num_disks", "cpu_details", "disk_details", "nic_details", "memory_details"),
    }
    assert admin.get(path, minor=47)["memory"] == 512 * 1024
    Instance.objects.filter(pk=server.pk).update(power_state="shutdown")
    fault_of(admin.call("GET", path), 409, "conflictingRequest")


def test_remote_consoles(server: Instance, who: world.People) -> None:
    member, path = ComputeClient(who.member, minor=6), f"/servers/{server.pk}/remote-consoles"
    asked = {"protocol": "vnc", "type": "novnc"}
    fault_of(member.call("POST", path, {"remote_console": asked}, minor=5), 404, "itemNotFound")
    answer = member.call("POST", path, {"remote_console": asked})
    found = answer.json()["remote_console"]
    assert (answer.status_code, found["protocol"], found["type"]) == (200, "vnc", "novnc")
    assert found["url"].startswith("http://testserver/consoles/vnc/#token=")
    looking = ComputeClient(who.reader, minor=6).call("POST", path, {"remote_console": asked})
    assert "?view=1#token=" in looking.json()["remote_console"]["url"]
    serial = {"remote_console": {"protocol": "serial", "type": "serial"}}
    assert member.call("POST", path, serial).status_code == 200
    for none in ({"protocol": "mks", "type": "webmks"}, {"protocol": "vnc", "type": "serial"}, {"type": "novnc"}):
        fault_of(member.call("POST", path, {"remote_console": none}), 400, "badRequest")


def test_security_groups_and_shares(server: Instance, who: world.People) -> None:
    member = ComputeClient(who.member, minor=97)
    assert member.get(f"/servers/{server.pk}/os-security-groups") == {"security_groups": []}
    path = f"/servers/{server.pk}/shares"
    assert member.get(path) == {"shares": []}
    fault_of(member.call("POST", path, {"share": {"share_id": str(server.pk)}}), 403, "forbidden")
    for method in ("GET", "DELETE"):
        fault_of(member.call(method, f"{path}/{server.pk}"), 404, "itemNotFound")
    fault_of(member.call("GET", path, minor=96), 404, "itemNotFound")


ACTION = {"action", "instance_uuid", "request_id", "user_id", "project_id", "start_time", "message"}
EVENT = {"event", "start_time", "finish_time", "result"}


def test_what_was_done_by_version(server: Instance, who: world.People) -> None:
    path = f"/servers/{server.pk}/os-instance-actions"
    member = ComputeClient(who.member)
    made = InstanceAction.objects.get()
    InstanceActionEvent.objects.create(action=made, name="spawning", host="h1", started_at=made.started_at)
    (listed,) = member.get(path)["instanceActions"]
    assert set(listed) == ACTION
    assert (listed["action"], listed["message"], listed["user_id"]) == ("create", None, who.member.user_id.hex)
    (newer,) = member.get(path, minor=58)["instanceActions"]
    assert set(newer) == ACTION | {"updated_at"}
    one = f"{path}/{listed['request_id']}"
    assert "events" not in member.get(one, minor=50)["instanceAction"]
    for minor, more in ((51, set()), (62, {"hostId"}), (84, {"hostId", "details"})):
        shown = member.get(one, minor=minor)["instanceAction"]
        assert all(set(event) == EVENT | more for event in shown["events"]) and shown["events"]
    shown = ComputeClient(who.admin).get(one, minor=84)["instanceAction"]
    assert all(set(event) == EVENT | {"hostId", "details", "host", "traceback"} for event in shown["events"])
    fault_of(member.call("GET", f"{path}/req-none"), 404, "itemNotFound")


def test_actions_in_pages_and_of_a_deleted_server(server: Instance, who: world.People) -> None:
    member, path = ComputeClient(who.member, minor=58), f"/servers/{server.pk}/os-instance-actions"
    assert member.act(server.pk, "os-stop").status_code == 202
    answer = member.get(f"{path}?limit=1")
    assert [one["action"] for one in answer["instanceActions"]] == ["stop"]
    rest = member.client.get(
        answer["links"][0]["href"], headers={"X-Auth-Token": member.token, "OpenStack-API-Version": "compute 2.58"}
    )
    assert [one["action"] for one in rest.json()["instanceActions"]] == ["create"]
    assert member.get(f"{path}?changes-since=2999-01-01T00:00:00Z") == {"instanceActions": []}
    fault_of(member.call("GET", f"{path}?marker=none"), 400, "badRequest")
    fault_of(member.call("GET", f"{path}?foo=1", minor=75), 400, "badRequest")
    Instance.objects.filter(pk=server.pk).update(vm_state="deleted", task_state="", deleted_at="2026-01-01T00:00Z")
    assert len(member.get(path)["instanceActions"]) == 2
    fault_of(member.call("GET", path, minor=20), 404, "itemNotFound")
    fault_of(ComputeClient(who.stranger, minor=58).call("GET", path), 404, "itemNotFound")


def test_an_update_of_each_field_and_what_it_refuses(server: Instance, who: world.People) -> None:
    member, path = ComputeClient(who.member, minor=NEWEST), f"/servers/{server.pk}"
    asked = {"name": "n", "description": None, "hostname": "h", "accessIPv4": "192.0.2.1", "accessIPv6": "2001:db8::1"}
    shown = member.call("PUT", path, {"server": {**asked, "OS-DCF:diskConfig": "AUTO"}}).json()["server"]
    assert shown["OS-DCF:diskConfig"] == world.instance_of(server.pk).disk_config == "AUTO"
    assert (shown["name"], shown["description"], shown["OS-EXT-SRV-ATTR:hostname"]) == ("n", None, "h")
    assert (shown["accessIPv4"], shown["accessIPv6"]) == ("192.0.2.1", "2001:db8::1")
    for wrong in ({"name": ""}, {"status": "x"}, {"accessIPv4": "x"}, {"OS-DCF:diskConfig": "LATER"}):
        fault_of(member.call("PUT", path, {"server": wrong}), 400, "badRequest")
    fault_of(member.call("PUT", path, {"server": {"hostname": "h"}}, minor=89), 400, "badRequest")


def test_a_deleted_server_is_soon_not_there(server: Instance, who: world.People) -> None:
    member = ComputeClient(who.member)
    assert member.call("DELETE", f"/servers/{server.pk}").status_code == 204
    assert member.get(f"/servers/{server.pk}")["server"]["OS-EXT-STS:task_state"] == "deleting"
    waiting = world.create(who.member, "new")[0]
    assert member.call("DELETE", f"/servers/{waiting.pk}").status_code == 204
    fault_of(member.call("GET", f"/servers/{waiting.pk}"), 404, "itemNotFound")
