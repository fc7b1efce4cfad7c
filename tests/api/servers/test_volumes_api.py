"""Volumes by the API: the shapes of answers and refusals, pages, filters, and who may do what at each endpoint."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from controlplane.audit_log.models import AuditLogEntry
from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from servers.api import volume_urls
from servers.models import StoragePool, Volume, VolumeBackup, VolumeSnapshot, VolumeType
from servers.volumes.domain.states import BackupState
from servers.volumes.services.transfers import transfer_create
from tests.worlds.cloud import People
from tests.worlds.volumes import backup_row, small_cloud, snapshot_made, storage_pool, volume_made, work_done

pytestmark = pytest.mark.django_db
VOLUMES, SNAPSHOTS, BACKUPS = "/api/volumes/", "/api/volume-snapshots/", "/api/volume-backups/"


@pytest.fixture
def people() -> People:
    return small_cloud("h1")


def client_of(caller: Caller) -> APIClient:
    client = APIClient()
    client.force_authenticate(user=User(username=caller.username), token=caller)  # type: ignore[arg-type]
    return client


@pytest.fixture
def pool(people) -> StoragePool:
    return storage_pool("shared", "h1")


def post(caller: Caller, path: str, body: dict[str, Any]) -> Any:
    return client_of(caller).post(path, body, format="json")


def error(answer: Any, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.content
    found = answer.json()["error"]
    assert found["message"]
    assert answer["X-OpenStack-Request-Id"]
    return dict(found)


def test_life_of_a_volume(people, pool):
    made = post(people.member, VOLUMES, {"size_gib": 2, "name": "data", "metadata": {"a": "b"}})
    assert made.status_code == 202
    shown = made.json()
    assert (shown["state"], shown["pool"], shown["attachments"], shown["source_kind"]) == (
        "creating",
        None,
        [],
        "blank",
    )
    path = f"{VOLUMES}{shown['id']}/"
    work_done(uuid.UUID(shown["id"]))
    client = client_of(people.member)
    assert client.get(path).json()["state"] == "available"
    changed = client.patch(path, {"name": "more", "is_bootable": True}, format="json").json()
    assert (changed["name"], changed["is_bootable"], changed["metadata"]) == ("more", True, {"a": "b"})
    grown = client.post(f"{path}extend/", {"size_gib": 5}, format="json")
    assert (grown.status_code, grown.json()["wanted_gib"]) == (202, 5)
    work_done(uuid.UUID(shown["id"]))
    assert client_of(people.admin).get(path).json()["pool_name"] == "shared"
    assert client.delete(path).status_code == 202
    work_done(uuid.UUID(shown["id"]))
    assert client.get(path).status_code == 404


def test_snapshots_going_back_and_volumes_of_them(people, pool):
    volume = volume_made(people.member)
    made = post(people.member, SNAPSHOTS, {"volume": str(volume.pk), "name": "s"})
    assert (made.status_code, made.json()["state"]) == (202, "creating")
    snapshot_id = made.json()["id"]
    work_done(uuid.UUID(snapshot_id), is_consistent=True, frozen_ms=5)
    assert client_of(people.reader).get(f"{SNAPSHOTS}{snapshot_id}/").json()["frozen_ms"] == 5
    copy = post(people.member, VOLUMES, {"snapshot": snapshot_id}).json()
    assert (copy["source_kind"], copy["source_id"], copy["size_gib"]) == ("snapshot", snapshot_id, 1)
    busy = error(client_of(people.member).delete(f"{SNAPSHOTS}{snapshot_id}/"), 409)
    assert busy["code"] == "invalid_snapshot"
    back = post(people.member, f"{VOLUMES}{volume.pk}/revert/", {"snapshot": snapshot_id})
    assert (back.status_code, back.json()["state"]) == (202, "reverting")
    has = error(client_of(people.member).delete(f"{VOLUMES}{volume.pk}/"), 409)
    assert has["code"] in {"volume_has_snapshots", "invalid_volume"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "size_gib"),
        ({"size_gib": 0}, "size_gib"),
        ({"size_gib": "many"}, "size_gib"),
        ({"size_gib": 2**40}, "size_gib"),
        ({"size_gib": 1, "name": "n" * 300}, "name"),
        ({"size_gib": 1, "metadata": {"k": 5}}, "metadata"),
        ({"size_gib": 1, "metadata": "text"}, "metadata"),
        ({"size_gib": 1, "colour": "red"}, "colour"),
        ({"size_gib": 1, "image": str(uuid.uuid4()), "volume": str(uuid.uuid4())}, "volume"),
        ({"image": "demo"}, "image"),
        ({"image": str(uuid.uuid4())}, "image"),
    ],
)
def test_bad_input_is_told_at_its_field(people, pool, body, field):
    assert error(post(people.member, VOLUMES, body), 400)["field"] == field
    assert not Volume.objects.exists()


def test_refusals_have_their_codes_and_numbers(people, pool, settings):
    full = error(post(people.member, VOLUMES, {"size_gib": 500}), 409)
    assert full["code"] == "no_valid_backend"
    settings.KILONOVA = {**settings.KILONOVA, "DEFAULT_QUOTA_VOLUME_GIB": 3}
    over = error(post(people.member, VOLUMES, {"size_gib": 4}), 403)
    assert (over["code"], over["field"], over["limit"]) == ("quota_exceeded", "volume_gib", 3)
    assert error(post(people.member, VOLUMES, {"size_gib": 1, "volume_type": "none"}), 404)["field"] == "volume_type"
    assert error(post(people.member, VOLUMES, {"size_gib": 1, "pool": "shared"}), 403)["code"] == "forbidden"
    assert error(client_of(people.member).delete(f"{VOLUMES}{uuid.uuid4()}/?force=maybe"), 400)["field"] == "force"


def test_lists_are_paged_filtered_and_cost_the_same(people, pool, django_assert_max_num_queries):
    volumes = [volume_made(people.member, name=f"v{number}") for number in range(3)]
    volume_made(people.stranger, name="theirs")
    client = client_of(people.reader)
    assert [one["name"] for one in client.get(f"{VOLUMES}?ordering=name").json()["results"]] == ["v0", "v1", "v2"]
    assert client.get(f"{VOLUMES}?name=V1").json()["count"] == 1
    assert client.get(f"{VOLUMES}?state=error").json()["count"] == 0
    page = client.get(f"{VOLUMES}?page_size=2").json()
    assert (page["count"], len(page["results"])) == (3, 2)
    snapshot_made(people.member, volumes[0])
    snapshot_made(people.member, volumes[1])
    assert client.get(f"{SNAPSHOTS}?volume={volumes[0].pk}").json()["count"] == 1
    with django_assert_max_num_queries(6):
        client.get(VOLUMES)
    with django_assert_max_num_queries(5):
        client.get(SNAPSHOTS)
    assert client_of(people.admin).get(VOLUMES).json()["count"] == 4


def test_word_of_a_transfer_is_shown_once_and_moves_the_volume(people, pool):
    volume = volume_made(people.member)
    made = post(people.member, "/api/volume-transfers/", {"volume": str(volume.pk), "name": "gift"})
    assert made.status_code == 201
    offer = made.json()
    path = f"/api/volume-transfers/{offer['id']}/"
    assert "word" not in client_of(people.member).get(path).json()
    assert client_of(people.stranger).get(path).status_code == 404
    wrong = error(post(people.stranger, f"{path}accept/", {"word": "x"}), 400)
    assert (wrong["code"], wrong["field"]) == ("invalid_auth_key", "word")
    taken = post(people.stranger, f"{path}accept/", {"word": offer["word"]})
    assert (taken.status_code, taken.json()["project"]) == (200, str(people.stranger.project_id))
    assert client_of(people.member).get(f"{VOLUMES}{volume.pk}/").status_code == 404


def test_types_are_edited_by_admins_and_given_to_projects(people, pool):
    admin = client_of(people.admin)
    body = {"name": "fast", "is_public": False, "kinds": ["file"], "qos": {"total_iops": 5}, "max_gib": 9}
    made = admin.post("/api/volume-types/", body, format="json").json()
    assert (made["kinds"], made["qos"], made["pools"]) == (["file"], {"total_iops": 5}, [])
    path = f"/api/volume-types/{made['id']}/"
    assert client_of(people.member).get(path).status_code == 404
    assert admin.put(f"{path}projects/{people.member.project_id}/").status_code == 204
    assert client_of(people.member).get(path).json()["kinds"] is None
    assert admin.get(f"{path}projects/").json() == {"projects": [str(people.member.project_id)]}
    assert error(admin.post("/api/volume-types/", body, format="json"), 409)["code"] == "volume_type_exists"
    for wrong in ({"iops": 1}, "fast"):
        assert error(admin.patch(path, {"qos": wrong}, format="json"), 400)["field"] == "qos"
    assert admin.delete(f"{path}projects/{people.member.project_id}/").status_code == 204
    assert admin.patch(path, {"is_public": True, "pools": ["shared"]}, format="json").json()["pools"] == ["shared"]
    assert admin.delete(path).status_code == 204


def test_pools_show_what_is_promised_and_take_what_admins_say(people, pool):
    volume_made(people.member, size_gib=7)
    admin = client_of(people.admin)
    (shown,) = admin.get("/api/storage-pools/").json()["results"]
    assert (shown["promised_gib"], shown["volumes"], shown["hosts"][0]["host"]) == (7, 1, "h1")
    path = f"/api/storage-pools/{pool.pk}/"
    body = {"allocation_ratio": 0.05, "reserved_gib": 10, "is_enabled": True}
    assert admin.patch(path, body, format="json").json()["allocation_ratio"] == 0.05
    assert error(post(people.member, VOLUMES, {"size_gib": 1}), 409)["code"] == "no_valid_backend"
    assert admin.patch(path, {"allocation_ratio": 2.0, "is_enabled": False}, format="json").status_code == 200
    assert "disabled" in error(post(people.member, VOLUMES, {"size_gib": 1}), 409)["message"]
    assert error(admin.patch(path, {"allocation_ratio": 0}, format="json"), 400)["field"] == "allocation_ratio"
    assert error(admin.delete(path), 409)["volumes"] == 1


def test_life_of_a_backup(people, pool):
    volume = volume_made(people.member, size_gib=2)
    body = {"volume": str(volume.pk), "name": "monday", "incremental": True}
    refused = error(post(people.member, BACKUPS, body), 409)
    assert (refused["code"], refused["field"]) == ("no_backup_base", "incremental")
    made = post(people.member, BACKUPS, {**body, "full_after": 6, "keep_snapshot": True})
    assert made.status_code == 202
    shown = made.json()
    assert (shown["state"], shown["size_gib"], shown["is_incremental"]) == ("creating", 2, False)
    assert error(post(people.member, BACKUPS, {**body, "full_after": -1}), 400)["field"] == "full_after"
    full = {**body, "incremental": False, "full_after": 6}
    assert error(post(people.member, BACKUPS, full), 400)["field"] == "full_after"
    full = backup_row(volume)
    backup_row(volume, parent=full)
    client = client_of(people.member)
    assert client.get(f"{BACKUPS}{full.pk}/").json()["has_dependents"] is True
    assert error(client.delete(f"{BACKUPS}{full.pk}/"), 409)["code"] == "invalid_backup"
    small = client.post(f"{BACKUPS}{full.pk}/restore/", {"size_gib": 1}, format="json")
    assert error(small, 400)["field"] == "size_gib"
    restored = client.post(f"{BACKUPS}{full.pk}/restore/", {"name": "again"}, format="json")
    assert restored.status_code == 202
    assert (restored.json()["name"], restored.json()["source_id"]) == ("again", str(full.pk))
    answer = client.get(BACKUPS, {"volume_id": str(volume.pk), "state": "available"}).json()
    assert answer["count"] == 2


def test_states_of_a_backup_are_written_and_it_goes_by_force(people, pool):
    backup = backup_row(volume_made(people.member), state=BackupState.CREATING, has_bytes=False)
    path, admin = f"{BACKUPS}{backup.pk}/", client_of(people.admin)
    assert error(post(people.admin, f"{path}reset-state/", {"state": "deleting"}), 400)["field"] == "state"
    refused = error(post(people.admin, f"{path}reset-state/", {"state": "available"}), 409)
    assert (refused["code"], refused["state"]) == ("invalid_backup", "creating")
    assert post(people.admin, f"{path}reset-state/", {"state": "error"}).json()["state"] == "error"
    VolumeBackup.objects.update(state=BackupState.ERROR_DELETING)
    assert error(admin.delete(f"{path}?force=perhaps"), 400)["field"] == "force"
    for caller, status in ((people.member, 403), (people.reader, 403), (people.stranger, 403)):
        assert client_of(caller).delete(f"{path}?force=yes").status_code == status
    assert VolumeBackup.objects.exists()
    assert admin.delete(f"{path}?force=yes").status_code == 202
    assert not VolumeBackup.objects.exists()
    entries = AuditLogEntry.objects.filter(target_id=str(backup.pk), result="done")
    assert {one.action for one in entries} == {"volume_backup.reset_state", "volume_backup.force_delete"}


# What admin, member, reader and stranger are answered, on things of the project of the first three.
ADMINS = (403, 403, 403)
TABLE: dict[str, tuple[int, int, int, int]] = {
    "GET volume-list": (200, 200, 200, 200),
    "POST volume-list": (202, 202, 403, 202),
    "GET volume-detail": (200, 200, 200, 404),
    "PATCH volume-detail": (200, 200, 403, 404),
    "DELETE volume-detail": (409, 409, 403, 404),
    "POST volume-extend": (202, 202, 403, 404),
    "POST volume-revert": (202, 202, 403, 404),
    "POST volume-retype": (202, 202, 403, 404),
    "POST volume-upload-image": (202, 202, 403, 404),
    "POST volume-reset-state": (200, *ADMINS),
    "GET volume-snapshot-list": (200, 200, 200, 200),
    "POST volume-snapshot-list": (202, 202, 403, 404),
    "GET volume-snapshot-detail": (200, 200, 200, 404),
    "PATCH volume-snapshot-detail": (200, 200, 403, 404),
    "DELETE volume-snapshot-detail": (202, 202, 403, 404),
    "POST volume-snapshot-reset-state": (200, *ADMINS),
    "GET volume-backup-list": (200, 200, 200, 200),
    "POST volume-backup-list": (202, 202, 403, 404),
    "GET volume-backup-detail": (200, 200, 200, 404),
    "PATCH volume-backup-detail": (200, 200, 403, 404),
    "DELETE volume-backup-detail": (202, 202, 403, 404),
    "POST volume-backup-restore": (202, 202, 403, 404),
    "POST volume-backup-reset-state": (200, *ADMINS),
    "GET volume-type-list": (200, 200, 200, 200),
    "POST volume-type-list": (201, *ADMINS),
    "GET volume-type-detail": (200, 200, 200, 200),
    "PATCH volume-type-detail": (200, *ADMINS),
    "DELETE volume-type-detail": (204, *ADMINS),
    "GET volume-type-projects": (200, *ADMINS),
    "PUT volume-type-project": (409, *ADMINS),
    "DELETE volume-type-project": (409, *ADMINS),
    "GET volume-transfer-list": (200, 200, 200, 200),
    "POST volume-transfer-list": (201, 201, 403, 404),
    "GET volume-transfer-detail": (200, 200, 200, 404),
    "DELETE volume-transfer-detail": (204, 204, 403, 404),
    "POST volume-transfer-accept": (400, 400, 403, 400),
    "GET storage-pool-list": (200, *ADMINS),
    "GET storage-pool-detail": (200, *ADMINS),
    "PATCH storage-pool-detail": (200, *ADMINS),
    "DELETE storage-pool-detail": (409, *ADMINS),
}


def endpoints() -> Iterator[str]:
    """Method and name of all that volumes offer."""
    for pattern in volume_urls.urlpatterns:
        actions = getattr(pattern.callback, "actions", None) or [
            verb for verb in ("get", "post", "put", "patch", "delete") if hasattr(pattern.callback.cls, verb)
        ]
        yield from (f"{verb.upper()} {pattern.name}" for verb in actions if pattern.name and verb != "head")


def test_table_names_every_endpoint():
    assert sorted(TABLE) == sorted(endpoints())


@dataclass
class Things:
    volume: Volume
    snapshot: VolumeSnapshot
    backup: VolumeBackup
    type: VolumeType
    offered: uuid.UUID
    pool: StoragePool

    def path(self, name: str, caller: Caller) -> str:
        if name.endswith("-list"):
            return reverse(name)
        by_name = {
            "volume-snapshot": self.snapshot.pk,
            "volume-backup": self.backup.pk,
            "volume-type": self.type.pk,
            "volume-transfer": self.offered,
            "storage-pool": self.pool.pk,
            "volume": self.volume.pk,
        }
        kwargs = {"pk": next(pk for start, pk in by_name.items() if name.startswith(start))}
        if name == "volume-type-project":
            kwargs["project"] = caller.project_id
        return reverse(name, kwargs=kwargs)

    def body(self, endpoint: str) -> dict[str, Any]:
        return {
            "POST volume-list": {"size_gib": 1},
            "PATCH volume-detail": {"name": "n"},
            "POST volume-extend": {"size_gib": 9},
            "POST volume-revert": {"snapshot": str(self.snapshot.pk)},
            "POST volume-retype": {"volume_type": "plain"},
            "POST volume-upload-image": {"name": "golden"},
            "POST volume-reset-state": {"state": "error"},
            "POST volume-snapshot-list": {"volume": str(self.volume.pk)},
            "PATCH volume-snapshot-detail": {"name": "n"},
            "POST volume-snapshot-reset-state": {"state": "error"},
            "POST volume-backup-list": {"volume": str(self.volume.pk)},
            "PATCH volume-backup-detail": {"name": "n"},
            "POST volume-backup-reset-state": {"state": "error"},
            "POST volume-type-list": {"name": "new"},
            "PATCH volume-type-detail": {"name": "new"},
            "POST volume-transfer-list": {"volume": str(self.volume.pk)},
            "POST volume-transfer-accept": {"word": "guess"},
            "PATCH storage-pool-detail": {"is_enabled": False},
        }.get(endpoint, {})


@pytest.fixture
def things(people, pool) -> Things:
    volume = volume_made(people.member)
    offered = transfer_create(caller=people.member, volume_id=volume_made(people.member).pk).transfer.pk
    made = VolumeType.objects.create(name="plain")
    backup = backup_row(volume)
    return Things(volume, snapshot_made(people.member, volume), backup, made, offered, pool)


@pytest.mark.parametrize("endpoint", TABLE)
def test_role_is_answered_as_the_table_says(people, things, endpoint):
    verb, _, name = endpoint.partition(" ")
    refused_first = (people.stranger, people.reader, people.member, people.admin)
    answers: dict[str, int] = {}
    for caller, wanted in zip(refused_first, reversed(TABLE[endpoint]), strict=True):
        if any(200 <= status < 300 for status in answers.values()) and verb != "GET":
            continue  # it is done: whoever may do more is not asked to do it again
        client = client_of(caller)
        answer = getattr(client, verb.lower())(things.path(name, caller), things.body(endpoint), format="json")
        assert answer.status_code == wanted, (caller.username, answer.content)
        if caller.project_id == people.member.project_id:
            answers[caller.username] = answer.status_code
