"""Snapshots, backups and transfers by the Volume API."""

import uuid

import pytest

from servers.models import Volume, VolumeBackup
from servers.volumes.domain.states import VolumeState
from tests.worlds.cloud import People
from tests.worlds.volume_door import VolumeClient, volume_client, volume_cloud
from tests.worlds.volumes import backup_row, snapshot_made, volume_made, work_done

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> People:
    return volume_cloud()


@pytest.fixture
def mary(world: People) -> VolumeClient:
    return volume_client(world.member)


@pytest.fixture
def root(world: People) -> VolumeClient:
    return volume_client(world.admin)


def test_life_of_a_snapshot(world: People, mary: VolumeClient) -> None:
    volume = volume_made(world.member)
    body = {"snapshot": {"volume_id": str(volume.pk), "name": "before", "metadata": {"a": "b"}}}
    made = mary.send("POST", "/snapshots", body, status=202)["snapshot"]
    assert (made["status"], made["size"], made["volume_id"]) == ("creating", 1, str(volume.pk))
    assert "os-extended-snapshot-attributes:progress" not in made
    assert mary.get(f"/snapshots/{made['id']}")["snapshot"]["os-extended-snapshot-attributes:progress"] == "0%"
    work_done(uuid.UUID(made["id"]))
    path = f"/snapshots/{made['id']}"
    shown = mary.get(path)["snapshot"]
    assert (shown["status"], shown["os-extended-snapshot-attributes:progress"]) == ("available", "100%")
    assert (shown["user_id"], shown["group_snapshot_id"]) == (world.member.user_id.hex, None)
    assert "user_id" not in mary.call("GET", f"/v3{path}", version="volume 3.40").json()["snapshot"]
    changed = mary.send("PUT", path, {"snapshot": {"description": "said"}}, status=200)["snapshot"]
    assert (changed["name"], changed["description"]) == ("before", "said")
    assert mary.send("POST", f"{path}/metadata", {"metadata": {"c": "d"}}, status=200)["metadata"] == {
        "a": "b",
        "c": "d",
    }
    mary.send("DELETE", f"{path}/metadata/a", status=200)
    assert mary.send("PUT", f"{path}/metadata/c", {"meta": {"c": "e"}}, status=200) == {"meta": {"c": "e"}}
    assert mary.get(f"{path}/metadata") == {"metadata": {"c": "e"}}
    assert mary.send("PUT", f"{path}/metadata", {"metadata": {}}, status=200) == {"metadata": {}}
    mary.send("DELETE", path, status=202)
    work_done(uuid.UUID(made["id"]))
    mary.fault("GET", path, status=404)


def test_force_of_a_snapshot_is_what_its_version_says(world: People, mary: VolumeClient) -> None:
    volume = str(volume_made(world.member).pk)
    refused = {"snapshot": {"volume_id": volume, "force": False}}
    assert "force" in mary.fault("POST", "/snapshots", refused, status=400)
    mary.send("POST", "/snapshots", refused, status=202, version="volume 3.65")
    mary.send("POST", "/snapshots", {"snapshot": {"volume_id": volume, "force": True}}, status=202)


def test_snapshots_are_listed_and_their_states_written(world: People, mary: VolumeClient, root: VolumeClient) -> None:
    first, second = volume_made(world.member), volume_made(world.member)
    one, other = snapshot_made(world.member, first), snapshot_made(world.member, second)
    snapshot_made(world.stranger, volume_made(world.stranger))
    assert {row["id"] for row in mary.get("/snapshots/detail")["snapshots"]} == {str(one.pk), str(other.pk)}
    assert [row["id"] for row in mary.get(f"/snapshots?volume_id={first.pk}")["snapshots"]] == [str(one.pk)]
    assert len(root.get("/snapshots?all_tenants=1")["snapshots"]) == 3
    assert mary.get("/snapshots?status=error")["snapshots"] == []
    action = f"/snapshots/{one.pk}/action"
    mary.fault("POST", action, {"os-reset_status": {"status": "error"}}, status=403)
    root.send("POST", action, {"os-reset_status": {"status": "error"}}, status=202)
    assert mary.get(f"/snapshots/{one.pk}")["snapshot"]["status"] == "error"
    mary.fault("POST", action, {"os-force_delete": {}}, status=403)
    root.send("POST", action, {"os-force_delete": {}}, status=202)
    root.fault("POST", action, {"os-unmanage": {}}, status=400)


def test_a_backup_is_made_shown_changed_and_deleted(world: People, mary: VolumeClient, root: VolumeClient) -> None:
    volume = volume_made(world.member)
    body = {"backup": {"volume_id": str(volume.pk), "name": "monday", "force": True, "container": None}}
    made = mary.send("POST", "/backups", body, status=202)["backup"]
    assert set(made) == {"id", "name", "links"}
    path = f"/backups/{made['id']}"
    shown = mary.get(path)["backup"]
    assert (shown["status"], shown["is_incremental"], shown["snapshot_id"]) == ("creating", False, None)
    assert (shown["metadata"], shown["user_id"]) == ({}, world.member.user_id.hex)
    project = "os-backup-project-attr:project_id"
    assert root.get(path)["backup"][project] == world.member.project_id.hex
    assert project not in shown
    changed = {"backup": {"name": "tuesday", "description": "said"}}
    mary.fault("PUT", path, changed, status=404, version="volume 3.8")
    mary.send("PUT", path, changed, status=200)
    assert [one["name"] for one in mary.get("/backups/detail?sort=name:asc")["backups"]] == ["tuesday"]
    mary.send("DELETE", path, status=202)


@pytest.mark.parametrize(
    ("field", "value"),
    [("container", "box"), ("availability_zone", "nova"), ("metadata", {"a": "b"}), ("backend", "s3")],
)
def test_what_a_backup_does_not_have_is_refused(world: People, mary: VolumeClient, field: str, value: object) -> None:
    body = {"backup": {"volume_id": str(volume_made(world.member).pk), field: value}}
    assert field in mary.fault("POST", "/backups", body, status=400)


def test_an_increment_rests_on_a_backup_whose_snapshot_is_there(world: People, mary: VolumeClient) -> None:
    volume = volume_made(world.member)
    wanted = {"backup": {"volume_id": str(volume.pk), "incremental": True}}
    assert "no backup" in mary.fault("POST", "/backups", wanted, status=400)
    snapshot = snapshot_made(world.member, volume)
    base = backup_row(volume, snapshot_id=snapshot.pk)
    assert mary.get(f"/backups/{base.pk}")["backup"]["snapshot_id"] == str(snapshot.pk)
    made = mary.send("POST", "/backups", wanted, status=202)["backup"]
    row = VolumeBackup.objects.get(pk=made["id"])
    assert (row.parent_id, row.keeps_snapshot) == (base.pk, True)
    assert mary.get(f"/backups/{base.pk}")["backup"]["has_dependent_backups"] is True
    mary.fault("DELETE", f"/backups/{base.pk}", status=400)


def test_a_backup_is_restored_into_a_new_volume_or_one_that_is_there(world: People, mary: VolumeClient) -> None:
    volume = volume_made(world.member)
    backup = backup_row(volume)
    restore = f"/backups/{backup.pk}/restore"
    made = mary.send("POST", restore, {"restore": {}}, status=202)["restore"]
    assert (made["backup_id"], made["volume_name"]) == (str(backup.pk), f"restore_backup_{backup.pk}")
    assert Volume.objects.get(pk=made["volume_id"]).source_id == backup.pk
    both = {"restore": {"volume_id": str(volume.pk), "name": "x"}}
    mary.fault("POST", restore, both, status=400)
    into = {"restore": {"volume_id": str(volume.pk), "name": None}}
    assert mary.send("POST", restore, into, status=202)["restore"]["volume_id"] == str(volume.pk)
    assert Volume.objects.get(pk=volume.pk).state == VolumeState.RESTORING
    mary.fault("POST", restore, into, status=400)
    of_backup = {"volume": {"backup_id": str(backup.pk)}}
    assert "3.47" in mary.fault("POST", "/volumes", of_backup, status=400, version="volume 3.46")
    shown = mary.send("POST", "/volumes", of_backup, status=202)["volume"]
    assert Volume.objects.get(pk=shown["id"]).source_id == backup.pk


def test_states_of_backups_are_written_and_they_go_by_force(
    world: People, mary: VolumeClient, root: VolumeClient
) -> None:
    backup = backup_row(volume_made(world.member), has_bytes=False)
    action = f"/backups/{backup.pk}/action"
    mary.fault("POST", action, {"os-reset_status": {"status": "error"}}, status=403)
    root.send("POST", action, {"os-reset_status": {"status": "error"}}, status=202)
    assert mary.get(f"/backups/{backup.pk}")["backup"]["status"] == "error"
    for status, said in (("available", "has no bytes"), ("creating", "by hand"), ("lost", "status")):
        assert said in root.fault("POST", action, {"os-reset_status": {"status": status}}, status=400)
    mary.fault("POST", action, {"os-force_delete": {}}, status=403)
    root.send("POST", action, {"os-force_delete": {}}, status=202)
    root.fault("GET", f"/backups/{backup.pk}", status=404)


@pytest.mark.parametrize("path", ["/os-volume-transfer", "/volume-transfers"])
def test_a_volume_goes_to_who_knows_the_word(world: People, mary: VolumeClient, path: str) -> None:
    volume, stan = volume_made(world.member), volume_client(world.stranger)
    body = {"transfer": {"volume_id": str(volume.pk), "name": "gift"}}
    made = mary.send("POST", path, body, status=202)["transfer"]
    assert made["no_snapshots"] is False
    assert path in made["links"][0]["href"]
    (shown,) = mary.get(f"{path}/detail")["transfers"]
    assert (shown["source_project_id"], shown["accepted"]) == (world.member.project_id.hex, False)
    assert "auth_key" not in shown
    assert stan.get(path)["transfers"] == []
    stan.fault("GET", f"{path}/{made['id']}", status=404)
    accept = f"{path}/{made['id']}/accept"
    stan.fault("POST", accept, {"accept": {"auth_key": "wrong"}}, status=400)
    taken = stan.send("POST", accept, {"accept": {"auth_key": made["auth_key"]}}, status=202)["transfer"]
    assert (taken["volume_id"], taken["name"]) == (str(volume.pk), "gift")
    assert stan.get(f"/volumes/{volume.pk}")["volume"]["status"] == "available"
    mary.fault("GET", f"/volumes/{volume.pk}", status=404)


def test_an_offer_is_taken_back_and_minds_snapshots(world: People, mary: VolumeClient) -> None:
    volume = volume_made(world.member)
    snapshot_made(world.member, volume)
    alone = {"transfer": {"volume_id": str(volume.pk), "no_snapshots": True}}
    mary.fault("POST", "/volume-transfers", alone, status=400)
    mary.fault("POST", "/os-volume-transfer", alone, status=400, version="volume 3.54")
    made = mary.send("POST", "/volume-transfers", {"transfer": {"volume_id": str(volume.pk)}}, status=202)["transfer"]
    shown = mary.get(f"/volume-transfers/{made['id']}", version="volume 3.54")["transfer"]
    assert "no_snapshots" not in shown
    assert mary.get(f"/volumes/{volume.pk}")["volume"]["status"] == "awaiting-transfer"
    mary.send("DELETE", f"/volume-transfers/{made['id']}", status=202, version="")
    assert mary.get(f"/volumes/{volume.pk}")["volume"]["status"] == "available"
    mary.fault("DELETE", f"/volume-transfers/{made['id']}", status=404)
