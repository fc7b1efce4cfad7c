"""Volumes by the Volume API: discovery, paths with and without a project, their life, lists, actions, refusals."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from servers.models import Image, Volume, VolumeAttachment
from servers.openstack.volume.versions import STEPS, VERSIONS
from servers.volumes.domain.states import AttachmentState, VolumeState
from tests.worlds.cloud import People
from tests.worlds.volume_door import VolumeClient, volume_client, volume_cloud
from tests.worlds.volumes import snapshot_made, volume_made, work_done, work_failed

pytestmark = pytest.mark.django_db
NO_ID = "00000000-0000-4000-8000-000000000001"


@pytest.fixture
def world() -> People:
    return volume_cloud()


@pytest.fixture
def mary(world: People) -> VolumeClient:
    return volume_client(world.member)


@pytest.fixture
def root(world: People) -> VolumeClient:
    return volume_client(world.admin)


def test_discovery_needs_no_token_and_says_the_range_of_versions() -> None:
    for path, status in (("", 300), ("/", 300), ("/v3", 200), ("/v3/", 200)):
        answer = VolumeClient(version="").call("GET", path, Host="cloud.example.org")
        assert answer.status_code == status
        (version,) = answer.json()["versions"]
        assert (version["id"], version["min_version"], version["version"]) == ("v3.0", "3.0", "3.67")
        assert version["links"][0]["href"] == "http://cloud.example.org/volume/v3/"


def test_each_version_has_a_step_and_what_is_not_served_is_406(mary: VolumeClient) -> None:
    assert [step.minor for step in STEPS] == list(range(VERSIONS.max_minor + 1))
    answer = mary.call("GET", "/v3/volumes", version="volume 3.27, compute 2.90")
    assert answer["OpenStack-API-Version"] == "volume 3.27"
    assert mary.call("GET", "/v3/volumes", version="")["OpenStack-API-Version"] == "volume 3.0"
    mary.fault("GET", "/volumes", status=406, version="volume 3.68")
    mary.fault("GET", "/volumes", status=400, version="volume three")


def test_a_path_may_name_the_project_of_the_token_and_no_other(world: People, mary: VolumeClient) -> None:
    own, other = world.member.project_id.hex, world.stranger.project_id.hex
    made = mary.send("POST", f"/{own}/volumes", {"volume": {"size": 1}}, status=202)["volume"]
    assert f"/volume/v3/{own}/volumes/{made['id']}" in made["links"][0]["href"]
    assert mary.get(f"/volumes/{made['id']}")["volume"]["links"][0]["href"].endswith(f"/v3/volumes/{made['id']}")
    assert mary.get(f"/{world.member.project_id}/volumes")["volumes"][0]["id"] == made["id"]
    assert "Malformed request url" in mary.fault("GET", f"/{other}/volumes", status=400)
    mary.fault("GET", "/no-such-thing/volumes", status=404)


def test_life_of_a_volume(world: People, mary: VolumeClient, root: VolumeClient) -> None:
    body = {"volume": {"name": "data", "description": None, "size": "2", "metadata": {"a": "b"}}}
    made = mary.send("POST", "/volumes", body, status=202)["volume"]
    assert (made["status"], made["size"], made["bootable"], made["attachments"]) == ("creating", 2, "false", [])
    assert made["metadata"] == {"a": "b"}
    assert not [name for name in made if name.startswith("os-vol-")]
    volume_id = uuid.UUID(made["id"])
    work_done(volume_id)
    path = f"/volumes/{volume_id}"
    shown = mary.get(path)["volume"]
    assert (shown["status"], shown["os-vol-tenant-attr:tenant_id"]) == ("available", world.member.project_id.hex)
    changed = mary.send("PUT", path, {"volume": {"name": "more", "description": "said"}}, status=200)["volume"]
    assert (changed["name"], changed["description"], changed["metadata"]) == ("more", "said", {"a": "b"})
    mary.send("POST", f"{path}/action", {"os-extend": {"new_size": 5}}, status=202)
    assert mary.get(path)["volume"]["status"] == "extending"
    work_done(volume_id)
    assert mary.get(path)["volume"]["size"] == 5
    assert root.get(path)["volume"]["os-vol-host-attr:host"] == "shared@file#shared"
    assert "os-vol-host-attr:host" not in mary.get(path)["volume"]
    mary.send("DELETE", path, status=202)
    work_done(volume_id)
    assert "does not exist" in mary.fault("GET", path, status=404)


def test_a_volume_shows_what_its_version_has(world: People, mary: VolumeClient, root: VolumeClient) -> None:
    path = f"/volumes/{volume_made(world.member).pk}"
    first = set(root.get(path, version="volume 3.0")["volume"])
    for minor, name, for_all in (
        (21, "provider_id", False),
        (25, "group_id", True),
        (48, "shared_targets", True),
        (48, "service_uuid", True),
        (61, "cluster_name", False),
        (63, "volume_type_id", True),
        (65, "consumes_quota", True),
    ):
        assert name not in first
        assert name not in root.get(path, version=f"volume 3.{minor - 1}")["volume"]
        assert name in root.get(path, version=f"volume 3.{minor}")["volume"]
        assert (name in mary.get(path)["volume"]) is for_all


def test_volumes_of_an_image_a_snapshot_a_volume_and_a_backup_name_their_source(
    world: People, mary: VolumeClient
) -> None:
    image = Image.objects.get()
    of_image = mary.send("POST", "/volumes", {"volume": {"size": 1, "imageRef": "demo"}}, status=202)["volume"]
    assert of_image["bootable"] == "true"
    read = mary.send("GET", f"/volumes/{of_image['id']}", status=200)["volume"]
    assert read["volume_image_metadata"]["image_id"] == str(image.pk)
    work_done(uuid.UUID(of_image["id"]))
    (shown,) = mary.send(
        "POST", f"/volumes/{of_image['id']}/action", {"os-show_image_metadata": None}, status=200
    ).values()
    assert shown["image_name"] == "demo"
    snapshot = snapshot_made(world.member, Volume.objects.get())
    of_snapshot = mary.send("POST", "/volumes", {"volume": {"snapshot_id": str(snapshot.pk)}}, status=202)["volume"]
    assert (of_snapshot["snapshot_id"], of_snapshot["source_volid"]) == (str(snapshot.pk), None)
    of_volume = mary.send("POST", "/volumes", {"volume": {"source_volid": of_image["id"]}}, status=202)["volume"]
    assert (of_volume["snapshot_id"], of_volume["source_volid"]) == (None, of_image["id"])
    two = {"volume": {"size": 1, "source_volid": of_image["id"], "snapshot_id": str(snapshot.pk)}}
    assert "one thing" in mary.fault("POST", "/volumes", two, status=400)
    missing = {"volume": {"size": 1, "snapshot_id": str(uuid.uuid4())}}
    mary.fault("POST", "/volumes", missing, status=404)
    mary.fault("POST", "/volumes", {"volume": {"size": 1, "imageRef": "nothing"}}, status=400)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("size", 0),
        ("size", "one"),
        ("consistencygroup_id", NO_ID),
        ("group_id", NO_ID),
        ("source_replica", NO_ID),
        ("multiattach", True),
        ("metadata", {"a": 1}),
        ("sizze", 1),
        ("name", "x" * 256),
    ],
)
def test_what_a_volume_cannot_be_is_refused_with_its_name(mary: VolumeClient, field: str, value: Any) -> None:
    body = {"volume": {"size": 1, field: value}}
    assert field in mary.fault("POST", "/volumes", body, status=400)
    assert not Volume.objects.exists()


def test_hints_of_a_place_are_refused_unless_they_are_empty(mary: VolumeClient) -> None:
    hints = "OS-SCH-HNT:scheduler_hints"
    mary.send("POST", "/volumes", {"volume": {"size": 1}, hints: {}}, status=202)
    assert hints in mary.fault("POST", "/volumes", {"volume": {"size": 1}, hints: {"same_host": "x"}}, status=400)


def test_quota_is_overlimit_and_no_room_is_a_conflict(world: People, mary: VolumeClient, root: VolumeClient) -> None:
    mary.fault("POST", "/volumes", {"volume": {"size": 900}}, status=409)
    root.send("PUT", f"/os-quota-sets/{world.member.project_id.hex}", {"quota_set": {"volumes": 0}}, status=200)
    answer = mary.call("POST", "/v3/volumes", {"volume": {"size": 1}})
    assert (answer.status_code, answer["Retry-After"]) == (413, "0")
    fault = answer.json()["overLimit"]
    assert fault["retryAfter"] == "0" and "exceeded" in fault["message"]


def test_lists_go_in_pages_and_in_any_order(world: People, mary: VolumeClient) -> None:
    for number, name in enumerate(("c", "a", "b", "e", "d")):
        volume_made(world.member, name=name, size_gib=1 + number % 2)
    names = []
    path = "/volumes/detail?limit=2&sort=name:asc"
    while path:
        page = mary.get(path)
        names.append([one["name"] for one in page["volumes"]])
        links = page.get("volumes_links")
        path = links[0]["href"].partition("/v3")[2] if links else ""
    assert names == [["a", "b"], ["c", "d"], ["e"]]
    sizes = [(one["size"], one["name"]) for one in mary.get("/volumes/detail?sort=size:desc,name:asc")["volumes"]]
    assert sizes == [(2, "a"), (2, "e"), (1, "b"), (1, "c"), (1, "d")]
    last = mary.get("/volumes?sort_key=display_name&sort_dir=asc&offset=3")["volumes"]
    assert [one["name"] for one in last] == ["d", "e"]
    assert [one["name"] for one in mary.get("/volumes")["volumes"]] == ["d", "e", "b", "a", "c"]
    counted = mary.get("/volumes?limit=1&with_count=true")
    assert (len(counted["volumes"]), counted["count"]) == (1, 5)
    assert mary.get("/volumes?limit=0")["volumes"] == []
    for wrong in ("limit=-1", "limit=x", "sort=nothing", "sort=name:up", "marker=nothing", "all_tenants=maybe", "x=1"):
        mary.fault("GET", f"/volumes?{wrong}", status=404 if "marker" in wrong else 400)


def test_lists_are_filtered(world: People, mary: VolumeClient) -> None:
    kept = volume_made(world.member, name="one", metadata={"a": "b"})
    other = volume_made(world.member, name="other", size_gib=2, metadata={"a": "c"})
    Volume.objects.filter(pk=other.pk).update(is_bootable=True, state=VolumeState.ERROR.value)
    found = {
        "name=one": [kept],
        "name~=o": [kept, other],
        "status=error": [other],
        "bootable=true": [other],
        "size=2": [other],
        "metadata=%7B%22a%22%3A%20%22b%22%7D": [kept],
        "metadata=%7B'a'%3A%20'c'%7D": [other],
        "created_at=gt:2000-01-01T00:00:00,lt:2001-01-01": [],
        "created_at=gte:2000-01-01T00:00:00": [kept, other],
        "consumes_quota=false": [],
        "availability_zone=nova": [],
    }
    for query, rows in found.items():
        assert {one["id"] for one in mary.get(f"/volumes?{query}")["volumes"]} == {str(row.pk) for row in rows}, query
    for wrong in (
        "bootable=perhaps",
        "size=x",
        "created_at=now",
        "metadata=%5B1%5D",
        "group_id=1",
        "glance_metadata=1",
    ):
        mary.fault("GET", f"/volumes?{wrong}", status=400)
    mary.fault("GET", "/volumes?name~=o", status=400, version="volume 3.33")
    mary.fault("GET", "/volumes?created_at=gte:2000-01-01", status=400, version="volume 3.59")


def test_other_projects_are_listed_by_administrators_who_ask(
    world: People, mary: VolumeClient, root: VolumeClient
) -> None:
    own, other = volume_made(world.member), volume_made(world.stranger)
    assert [one["id"] for one in root.get("/volumes")["volumes"]] == [str(own.pk)]
    assert len(root.get("/volumes?all_tenants=1")["volumes"]) == 2
    query = f"/volumes?all_tenants=True&project_id={world.stranger.project_id.hex}"
    assert [one["id"] for one in root.get(query)["volumes"]] == [str(other.pk)]
    mary.fault("GET", "/volumes?all_tenants=1", status=403)
    mary.fault("GET", f"/volumes/{other.pk}", status=404)
    assert root.get(f"/volumes/{other.pk}")["volume"]["id"] == str(other.pk)


def test_a_list_costs_the_same_however_long_it_is(world: People, mary: VolumeClient) -> None:
    def cost(path: str) -> int:
        with CaptureQueriesContext(connection) as seen:
            mary.get(path)
        return len(seen)

    volume_made(world.member)
    cost("/volumes/detail")  # the token's use is noted once
    before = {path: cost(path) for path in ("/volumes", "/volumes/detail", "/volumes/summary")}
    for number in range(6):
        row = volume_made(world.member, name=str(number))
        VolumeAttachment.objects.create(volume=row, instance_uuid=uuid.uuid4(), state=AttachmentState.ATTACHED)
    assert {path: cost(path) for path in before} == before


def test_metadata_is_written_key_by_key(world: People, mary: VolumeClient) -> None:
    path = f"/volumes/{volume_made(world.member, metadata={'a': '1'}).pk}/metadata"
    assert mary.send("POST", path, {"metadata": {"b": "2"}}, status=200) == {"metadata": {"a": "1", "b": "2"}}
    assert mary.send("PUT", f"{path}/c", {"meta": {"c": "3"}}, status=200) == {"meta": {"c": "3"}}
    assert mary.get(f"{path}/c") == {"meta": {"c": "3"}}
    mary.send("DELETE", f"{path}/a", status=200)
    mary.fault("DELETE", f"{path}/a", status=404)
    mary.fault("GET", f"{path}/a", status=404)
    mary.fault("PUT", f"{path}/c", {"meta": {"d": "3"}}, status=400)
    assert mary.get(path) == {"metadata": {"b": "2", "c": "3"}}
    assert mary.send("PUT", path, {"metadata": {"z": "9"}}, status=200) == {"metadata": {"z": "9"}}
    mary.fault("POST", path, {"metadata": {"x" * 256: "1"}}, status=400)


def test_summary_counts(world: People, mary: VolumeClient) -> None:
    volume_made(world.member, size_gib=2, metadata={"a": "b"})
    volume_made(world.member, size_gib=3, metadata={"a": "c"})
    volume_made(world.stranger)
    shown = {"total_count": 2, "total_size": 5}
    assert mary.get("/volumes/summary", version="volume 3.12") == {"volume-summary": shown}
    assert mary.get("/volumes/summary")["volume-summary"] == {**shown, "metadata": {"a": ["b", "c"]}}
    mary.fault("GET", "/volumes/summary", status=404, version="volume 3.11")


def test_flags_and_states_are_written(world: People, mary: VolumeClient, root: VolumeClient) -> None:
    volume = volume_made(world.member)
    path, action = f"/volumes/{volume.pk}", f"/volumes/{volume.pk}/action"
    mary.send("POST", action, {"os-set_bootable": {"bootable": "True"}}, status=200)
    mary.send("POST", action, {"os-update_readonly_flag": {"readonly": True}}, status=202)
    shown = mary.get(path)["volume"]
    assert (shown["bootable"], shown["metadata"]) == ("true", {"readonly": "True"})
    mary.fault("POST", action, {"os-set_bootable": {"bootable": "maybe"}}, status=400)
    mary.fault("POST", action, {"os-reset_status": {"status": "error"}}, status=403)
    root.send("POST", action, {"os-reset_status": {"status": "error", "attach_status": "detached"}}, status=202)
    assert mary.get(path)["volume"]["status"] == "error"
    assert "attach_status" in root.fault("POST", action, {"os-reset_status": {"attach_status": "attached"}}, status=400)
    root.fault("POST", action, {"os-reset_status": {"status": "creating"}}, status=400)
    mary.fault("POST", action, {"os-force_delete": {}}, status=403)
    root.send("POST", action, {"os-force_delete": {}}, status=202)
    assert mary.get(path)["volume"]["status"] == "deleting"


def test_revert_wants_the_newest_snapshot_and_its_version(world: People, mary: VolumeClient) -> None:
    volume = volume_made(world.member)
    old, new = snapshot_made(world.member, volume), snapshot_made(world.member, volume)
    action = f"/volumes/{volume.pk}/action"
    back = {"revert": {"snapshot_id": str(new.pk)}}
    assert "no such action" in mary.fault("POST", action, back, status=400, version="volume 3.39")
    mary.fault("POST", action, {"revert": {"snapshot_id": str(old.pk)}}, status=400)
    mary.send("POST", action, back, status=202)
    assert mary.get(f"/volumes/{volume.pk}")["volume"]["status"] == "reverting"
    mary.fault("POST", action, back, status=409)


def test_a_volume_becomes_an_image_of_the_form_that_it_has_here(world: People, mary: VolumeClient) -> None:
    volume = volume_made(world.member)
    action = f"/volumes/{volume.pk}/action"
    raw = {"os-volume_upload_image": {"image_name": "golden", "disk_format": "raw"}}
    assert "disk_format" in mary.fault("POST", action, raw, status=400)
    body = {"os-volume_upload_image": {"image_name": "golden", "disk_format": "qcow2", "force": False}}
    (shown,) = mary.send("POST", action, body, status=202).values()
    assert (shown["status"], shown["disk_format"], shown["visibility"]) == ("uploading", "qcow2", "private")
    assert Image.objects.get(pk=shown["image_id"]).name == "golden"


@pytest.mark.parametrize(
    "name",
    ["os-attach", "os-detach", "os-reserve", "os-initialize_connection", "os-set_image_metadata", "os-migrate_volume"],
)
def test_actions_that_are_not_done_here_say_why(world: People, mary: VolumeClient, name: str) -> None:
    action = f"/volumes/{volume_made(world.member).pk}/action"
    assert name in mary.fault("POST", action, {name: {}}, status=400)
    assert "no such action: nothing" in mary.fault("POST", action, {"nothing": {}}, status=400)
    mary.fault("POST", action, {"os-extend": {"new_size": 2}, "revert": {}}, status=400)


def test_deletion_minds_snapshots_attachments_and_force(world: People, mary: VolumeClient, root: VolumeClient) -> None:
    volume = volume_made(world.member)
    snapshot = snapshot_made(world.member, volume)
    path = f"/volumes/{volume.pk}"
    mary.fault("DELETE", path, status=400)
    mary.fault("DELETE", f"{path}?force=true", status=403)
    mary.fault("DELETE", f"{path}?force=true", status=400, version="volume 3.22")
    mary.send("DELETE", f"{path}?cascade=True", status=202)
    work_done(snapshot.pk)
    work_done(volume.pk)
    mary.fault("GET", path, status=404)
    held = volume_made(world.member)
    VolumeAttachment.objects.create(volume=held, instance_uuid=uuid.uuid4(), state=AttachmentState.ATTACHED)
    mary.fault("DELETE", f"/volumes/{held.pk}", status=400)
    root.fault("DELETE", f"/volumes/{held.pk}?force=true", status=400)


def test_attachments_are_read_and_belong_to_the_compute_api(world: People, mary: VolumeClient) -> None:
    volume, instance = volume_made(world.member), uuid.uuid4()
    row = VolumeAttachment.objects.create(
        volume=volume, instance_uuid=instance, state=AttachmentState.ATTACHED, device="vdb"
    )
    (shown,) = mary.get(f"/volumes/{volume.pk}")["volume"]["attachments"]
    assert (shown["server_id"], shown["attachment_id"], shown["device"]) == (str(instance), str(row.pk), "/dev/vdb")
    summary = {"id": str(row.pk), "status": "attached", "instance": str(instance), "volume_id": str(volume.pk)}
    assert mary.get("/attachments")["attachments"] == [summary]
    assert mary.get(f"/attachments/detail?instance_id={instance}&status=attached")["attachments"][0].items() >= (
        summary.items()
    )
    assert mary.get("/attachments?status=reserved")["attachments"] == []
    assert mary.get(f"/attachments/{row.pk}")["attachment"]["attach_mode"] == "rw"
    assert "Compute API" in mary.fault("DELETE", f"/attachments/{row.pk}", status=409)
    mary.fault("POST", "/attachments", {"attachment": {}}, status=405)
    mary.fault("GET", "/attachments", status=404, version="volume 3.26")
    stranger = volume_client(world.stranger)
    assert stranger.get("/attachments")["attachments"] == []
    stranger.fault("GET", f"/attachments/{row.pk}", status=404)


def test_what_failed_is_an_error_and_can_be_deleted(mary: VolumeClient) -> None:
    made = mary.send("POST", "/volumes", {"volume": {"size": 1}}, status=202)["volume"]
    work_failed(uuid.UUID(made["id"]))
    assert mary.get(f"/volumes/{made['id']}")["volume"]["status"] == "error"
    mary.send("DELETE", f"/volumes/{made['id']}", status=202)


def test_nothing_that_is_sent_ends_in_a_500(world: People, mary: VolumeClient) -> None:
    path = f"/volumes/{volume_made(world.member).pk}"
    for method, where, body in (
        ("POST", "/volumes", []),
        ("POST", "/volumes", {"volume": None}),
        ("PUT", path, {"volume": {}}),
        ("PUT", path, {"volume": {"name": "a\0b"}}),
        ("POST", f"{path}/action", []),
        ("POST", f"{path}/action", {"os-extend": {"new_size": 10**12}}),
        ("POST", f"{path}/action", {"os-extend": None}),
        ("GET", f"{path}/metadata/%00", None),
        ("GET", "/volumes?metadata=" + "[" * 5000, None),
        ("GET", "/volumes?size=99999999999999999999", None),
    ):
        answer = mary.call(method, f"/v3{where}", body)
        assert 400 <= answer.status_code < 500, (method, where, answer.content)
    assert mary.call("POST", "/v3/volumes").status_code == 415


def test_the_document_has_the_table_of_versions() -> None:
    text = (Path(__file__).parents[5] / "docs" / "openstack-clients.md").read_text()
    missing = [step.minor for step in STEPS if f"| 3.{step.minor} | {step.change} |" not in text]
    assert missing == []


def test_what_a_change_does_not_have_is_refused_and_nothing_is_done(world: People, mary: VolumeClient) -> None:
    """A parameter in its address, and words under an action that takes none."""
    said = mary.fault("POST", "/volumes?no_such=1", {"volume": {"size": 1}}, status=400)
    assert "no_such are not known here" in said
    assert not Volume.objects.exists()
    path = f"/volumes/{volume_made(world.member).pk}"
    assert "no_such" in mary.fault("PUT", f"{path}?no_such=1", {"volume": {"name": "other"}}, status=400)
    mary.fault("POST", f"{path}/action", {"os-show_image_metadata": {"no_such": 1}}, status=400)
    for nothing in (None, {}, ""):
        mary.send("POST", f"{path}/action", {"os-show_image_metadata": nothing}, status=200)
    assert Volume.objects.get().name != "other"
