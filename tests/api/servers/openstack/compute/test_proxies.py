"""What old microversions pass on: images, hosts, networks, floating addresses, security groups; what has no rows."""

from typing import Any

import pytest

from controlplane.identity.models import Project
from servers.models import Image, SecurityGroup, Volume, VolumeSnapshot
from tests.worlds import cloud as world
from tests.worlds import networks
from tests.worlds.compute_door import ComputeClient, fault_of
from tests.worlds.volume_door import volume_cloud

pytestmark = pytest.mark.django_db

SHORT = {"id", "name", "links"}
FULL = SHORT | {
    "minDisk",
    "minRam",
    "metadata",
    "created",
    "updated",
    "status",
    "progress",
    "OS-EXT-IMG-SIZE:size",
}


@pytest.fixture
def who() -> world.People:
    return world.cloud()


def _own(who: world.People, **more: Any) -> Image:
    return world.image("own", project_id=who.member.project_id, visibility="private", **more)


def test_images(who: world.People) -> None:
    own = _own(who, min_disk_gib=3, properties={"image_type": "snapshot"})
    member = ComputeClient(who.member)
    (listed, _) = member.get("/images")["images"]
    assert (set(listed), listed["id"]) == (SHORT, str(own.pk))
    assert [link["rel"] for link in listed["links"]] == ["self", "bookmark", "alternate"]
    shown = member.get(f"/images/{own.pk}")["image"]
    assert set(shown) == FULL
    assert (shown["status"], shown["progress"], shown["metadata"]) == ("ACTIVE", 100, {"image_type": "snapshot"})
    assert member.get("/images/detail?name=own") == {"images": [shown]}
    for query in (
        "minDisk=1",
        "type=snapshot",
        "status=ACTIVE&name=own",
        "limit=1",
        "changes-since=2020-01-01T00:00:00Z&name=own",
    ):
        assert [one["id"] for one in member.get(f"/images?{query}")["images"]] == [str(own.pk)], query
    first = member.get("/images?limit=1")
    query = first["images_links"][0]["href"].partition("?")[2]
    assert [one["name"] for one in member.get(f"/images?{query}")["images"]] == ["demo"]
    fault_of(member.call("GET", "/images?minDisk=x"), 400, "badRequest")
    fault_of(member.call("GET", "/images?marker=x"), 400, "badRequest")
    fault_of(ComputeClient(who.stranger).call("GET", f"/images/{own.pk}"), 404, "itemNotFound")
    fault_of(member.call("GET", "/images", minor=36), 404, "itemNotFound")
    fault_of(ComputeClient(who.reader).call("DELETE", f"/images/{own.pk}"), 403, "forbidden")
    assert member.call("DELETE", f"/images/{own.pk}").status_code == 204
    fault_of(member.call("GET", f"/images/{own.pk}"), 404, "itemNotFound")


def test_image_metadata(who: world.People) -> None:
    path = f"/images/{_own(who, properties={'a': '1'}).pk}/metadata"
    member = ComputeClient(who.member, minor=38)
    assert member.get(path) == {"metadata": {"a": "1"}}
    assert member.call("POST", path, {"metadata": {"b": "2"}}).json() == {"metadata": {"a": "1", "b": "2"}}
    assert member.call("PUT", path, {"metadata": {"c": "3"}}).json() == {"metadata": {"c": "3"}}
    assert member.call("PUT", f"{path}/d", {"meta": {"d": "4"}}).json() == {"meta": {"d": "4"}}
    assert member.get(f"{path}/d") == {"meta": {"d": "4"}}
    fault_of(member.call("PUT", f"{path}/x", {"meta": {"d": "4"}}), 400, "badRequest")
    assert member.call("DELETE", f"{path}/d").status_code == 204
    fault_of(member.call("DELETE", f"{path}/d"), 404, "itemNotFound")
    fault_of(member.call("GET", f"{path}/d"), 404, "itemNotFound")
    fault_of(member.call("GET", path, minor=39), 404, "itemNotFound")
    fault_of(ComputeClient(who.stranger).call("GET", path), 404, "itemNotFound")


def test_hosts(who: world.People) -> None:
    server = world.active(who.member)
    admin = ComputeClient(who.admin, minor=42)
    assert admin.get("/os-hosts") == {"hosts": [{"host_name": "h1", "service": "compute", "zone": "nova"}]}
    assert admin.get("/os-hosts?zone=other") == {"hosts": []}
    shown = [one["resource"] for one in admin.get("/os-hosts/h1")["host"]]
    assert [one["project"] for one in shown] == ["(total)", "(used_now)", "(used_max)", server.project_id.hex]
    assert all(set(one) == {"host", "project", "cpu", "memory_mb", "disk_gb"} for one in shown)
    assert (shown[2]["cpu"], shown[3]["memory_mb"]) == (server.vcpus, server.memory_mib)
    assert admin.call("PUT", "/os-hosts/h1", {"status": "disable"}).json() == {"host": "h1", "status": "disabled"}
    assert admin.call("PUT", "/os-hosts/h1", {"status": "Enable"}).json() == {"host": "h1", "status": "enabled"}
    for wrong in ({}, {"status": "away"}, {"colour": "red"}):
        fault_of(admin.call("PUT", "/os-hosts/h1", wrong), 400, "badRequest")
    fault_of(admin.call("PUT", "/os-hosts/h1", {"maintenance_mode": "enable"}), 501, "notImplemented")
    for path in ("", "/startup", "/shutdown", "/reboot"):
        fault_of(admin.call("GET", f"/os-hosts/h9{path}"), 404, "itemNotFound")
        fault_of(ComputeClient(who.member).call("GET", f"/os-hosts/h1{path}"), 403, "forbidden")
    fault_of(admin.call("GET", "/os-hosts/h1/reboot"), 501, "notImplemented")
    fault_of(admin.call("GET", "/os-hosts", minor=43), 404, "itemNotFound")


def test_networks(who: world.People) -> None:
    demo = Project.objects.get(name="demo")
    made = networks.network("private", project=demo)
    member, stranger = ComputeClient(who.member), ComputeClient(who.stranger)
    for path in ("/os-networks", "/os-tenant-networks"):
        assert [one["label"] for one in member.get(path)["networks"]] == ["private"]
        assert member.get(f"{path}/{made.pk}")["network"]["label"] == "private"
        assert stranger.get(path) == {"networks": []}
        fault_of(stranger.call("GET", f"{path}/{made.pk}"), 404, "itemNotFound")
        fault_of(member.call("GET", path, minor=36), 404, "itemNotFound")


def test_floating_ips_without_a_pool(who: world.People) -> None:
    member = ComputeClient(who.member)
    assert member.get("/os-floating-ips") == {"floating_ips": []}
    assert member.get("/os-floating-ip-pools") == {"floating_ip_pools": []}
    fault_of(member.call("POST", "/os-floating-ips", {"pool": "public"}), 404, "itemNotFound")
    fault_of(member.call("POST", "/os-floating-ips", {"colour": "red"}), 400, "badRequest")
    fault_of(member.call("DELETE", f"/os-floating-ips/{'0' * 32}"), 404, "itemNotFound")


def test_floating_ips(who: world.People) -> None:
    networks.network("public", cidr="198.51.100.0/24", is_external=True)
    member = ComputeClient(who.member)
    assert member.get("/os-floating-ip-pools") == {"floating_ip_pools": [{"name": "public"}]}
    made = member.call("POST", "/os-floating-ips", {"pool": "public"}).json()["floating_ip"]
    assert set(made) == {"id", "ip", "pool", "fixed_ip", "instance_id"}
    assert (made["pool"], made["instance_id"]) == ("public", None)
    assert member.get("/os-floating-ips") == {"floating_ips": [made]}
    fault_of(ComputeClient(who.stranger).call("GET", f"/os-floating-ips/{made['id']}"), 404, "itemNotFound")
    assert member.call("DELETE", f"/os-floating-ips/{made['id']}").status_code == 202
    fault_of(member.call("GET", f"/os-floating-ips/{made['id']}"), 404, "itemNotFound")


def test_security_groups(who: world.People) -> None:
    member, stranger = ComputeClient(who.member), ComputeClient(who.stranger)
    body = {"security_group": {"name": " web ", "description": "open"}}
    made = member.call("POST", "/os-security-groups", body).json()["security_group"]
    assert (set(made), made["name"]) == ({"id", "name", "description", "tenant_id", "rules"}, " web ")
    path = f"/os-security-groups/{made['id']}"
    rule = {"parent_group_id": made["id"], "ip_protocol": "tcp", "from_port": 22, "to_port": 22, "cidr": "192.0.2.0/24"}
    added = member.call("POST", "/os-security-group-rules", {"security_group_rule": rule}).json()["security_group_rule"]
    for wrong in (rule, {**rule, "parent_group_id": "no-id"}):  # the first one is there already
        fault_of(member.call("POST", "/os-security-group-rules", {"security_group_rule": wrong}), 400, "badRequest")
    assert set(added) == {"id", "parent_group_id", "ip_protocol", "from_port", "to_port", "ip_range", "group"}
    assert (added["from_port"], added["ip_range"]) == (22, {"cidr": "192.0.2.0/24"})
    assert member.get(path)["security_group"]["rules"] == [added]
    assert [one["name"] for one in stranger.get("/os-security-groups")["security_groups"]] == ["default"]
    fault_of(stranger.call("GET", path), 404, "itemNotFound")
    fault_of(stranger.call("POST", "/os-security-group-rules", {"security_group_rule": rule}), 404, "itemNotFound")
    fault_of(
        member.call("POST", "/os-security-group-rules", {"security_group_rule": {**rule, "cidr": "x"}}),
        400,
        "badRequest",
    )
    fault_of(ComputeClient(who.reader).call("DELETE", path), 403, "forbidden")
    changed = {"security_group": {"name": "new", "description": ""}}
    assert member.call("PUT", path, changed).json()["security_group"]["name"] == "new"
    assert member.call("DELETE", f"/os-security-group-rules/{added['id']}").status_code == 202
    assert member.call("DELETE", path).status_code == 202
    assert not SecurityGroup.objects.filter(name="new").exists()


def test_what_has_no_rows(who: world.People) -> None:
    admin, reader = ComputeClient(who.admin), ComputeClient(who.reader)
    assert admin.get("/os-migrations?status=done", minor=80) == {"migrations": []}
    fault_of(reader.call("GET", "/os-migrations"), 403, "forbidden")
    fault_of(admin.call("GET", "/os-migrations?marker=1", minor=59), 400, "badRequest")
    path = f"/servers/{world.active(who.member).pk}/migrations"
    assert admin.get(path, minor=23) == {"migrations": []}
    fault_of(reader.call("GET", path, minor=100), 403, "forbidden")
    for method, below, minor in (("GET", "/1", 59), ("DELETE", "/1", 24), ("POST", "/1/action", 22)):
        body = {"force_complete": None} if method == "POST" else None
        fault_of(admin.call(method, path + below, body, minor=minor), 404, "itemNotFound")
        fault_of(reader.call(method, path + below, body, minor=minor), 403, "forbidden")
    fault_of(admin.call("POST", path + "/1/action", {"other": None}, minor=22), 400, "badRequest")
    log = admin.get("/os-instance_usage_audit_log")["instance_usage_audit_logs"]
    assert (log["hosts_not_run"], log["num_hosts_done"], log["log"]) == (["h1"], 0, {})
    before = admin.get("/os-instance_usage_audit_log/2026-03-15%2000:00:00")["instance_usage_audit_log"]
    assert (before["period_beginning"], before["period_ending"]) == ("2026-02-01 00:00:00", "2026-03-01 00:00:00")
    fault_of(admin.call("GET", "/os-instance_usage_audit_log/soon"), 400, "badRequest")
    listed = reader.get("/extensions")["extensions"]
    assert "Hosts" in {one["name"] for one in listed}
    assert all(set(one) == {"alias", "name", "description", "links", "namespace", "updated"} for one in listed)
    assert reader.get("/extensions/os-consoles")["extension"] in listed
    fault_of(reader.call("GET", "/extensions/os-dreams"), 404, "itemNotFound")
    for path in ("/os-cells", "/os-assisted-volume-snapshots", "/os-fping", "/os-agents"):
        fault_of(admin.call("GET", path), 404, "itemNotFound")


def test_external_events(who: world.People) -> None:
    server = world.active(who.member)
    admin, path = ComputeClient(who.admin), "/os-server-external-events"

    def tell(*events: dict[str, str]) -> Any:
        return admin.call("POST", path, {"events": list(events)})

    known = {"name": "network-changed", "server_uuid": str(server.pk)}
    answer = tell(known)
    assert (answer.status_code, answer.json()["events"]) == (200, [{**known, "status": "completed", "code": 200}])
    answer = tell(known, {**known, "name": "power-update"}, {**known, "server_uuid": "0" * 32})
    assert (answer.status_code, [one["code"] for one in answer.json()["events"]]) == (207, [200, 400, 404])
    fault_of(tell(), 400, "badRequest")
    fault_of(tell({**known, "status": "perhaps"}), 400, "badRequest")
    fault_of(ComputeClient(who.member).call("POST", path, {"events": [known]}), 403, "forbidden")


def test_volumes_and_their_snapshots() -> None:
    who = volume_cloud()
    member, reader = ComputeClient(who.member), ComputeClient(who.reader)
    asked = {"display_name": " data ", "size": "1", "metadata": {"a": "b"}}
    made = member.call("POST", "/os-volumes", {"volume": asked})
    assert made.status_code == 200, made.content
    volume = made.json()["volume"]
    assert (volume["displayName"], volume["size"], volume["metadata"]) == ("data", 1, {"a": "b"})
    assert (volume["status"], volume["attachments"], volume["snapshotId"]) == ("creating", [{}], None)
    path = f"/os-volumes/{volume['id']}"
    assert reader.get(path) == {"volume": volume}
    assert reader.get("/os-volumes") == reader.get("/os-volumes/detail?limit=1&offset=0") == {"volumes": [volume]}
    assert reader.get("/os-volumes?offset=1") == ComputeClient(who.stranger).get("/os-volumes") == {"volumes": []}
    for wrong in ({}, {"size": 0}, {"size": ""}, {"size": "#$%"}, {"size": 1, "colour": "x"}):
        fault_of(member.call("POST", "/os-volumes", {"volume": wrong}), 400, "badRequest")
    fault_of(reader.call("POST", "/os-volumes", {"volume": asked}), 403, "forbidden")
    fault_of(ComputeClient(who.stranger).call("GET", path), 404, "itemNotFound")
    fault_of(member.call("GET", path, minor=36), 404, "itemNotFound")
    for none in ("/os-volumes/x", "/os-volumes/", f"/os-volumes/{'0' * 32}"):
        fault_of(member.call("GET", none), 404, "itemNotFound")

    Volume.objects.update(state="available")
    snapshot = {"snapshot": {"volume_id": volume["id"], "display_name": "s", "force": False}}
    taken = member.call("POST", "/os-snapshots", snapshot)
    assert taken.status_code == 200, taken.content
    shown = taken.json()["snapshot"]
    assert (shown["volumeId"], shown["displayName"], shown["size"]) == (volume["id"], "s", 1)
    assert reader.get(f"/os-snapshots/{shown['id']}") == {"snapshot": shown}
    assert reader.get("/os-snapshots") == reader.get("/os-snapshots/detail") == {"snapshots": [shown]}
    fault_of(reader.call("DELETE", f"/os-snapshots/{shown['id']}"), 403, "forbidden")
    VolumeSnapshot.objects.update(state="available")
    assert member.call("DELETE", f"/os-snapshots/{shown['id']}").status_code == 202
    VolumeSnapshot.objects.all().delete()
    assert member.call("DELETE", path).status_code == 202
