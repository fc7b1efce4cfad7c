"""Volumes, their types and pools in the Django admin: through the services, for many at once, refusals shown."""

import pytest
from django.test import Client

from controlplane.identity.models import Project, User
from servers.models import (
    BulkJobItem,
    StoragePool,
    Volume,
    VolumeBackup,
    VolumeKey,
    VolumeSnapshot,
    VolumeTransfer,
    VolumeType,
    VolumeTypeAccess,
)
from servers.volumes.services.transfers import transfer_create
from tests.worlds.admin_actions import ask, ask_and_confirm, pairs
from tests.worlds.cloud import People, pump
from tests.worlds.volumes import backup_row, small_cloud, snapshot_made, storage_pool, volume_made, work_done

pytestmark = pytest.mark.django_db
AT = "/admin/servers/"
TYPE: dict[str, object] = {"name": "fast", "description": "", "is_public": "on", "pools": '["shared"]', "kinds": "[]"}
TYPE |= {"min_gib": "0", "max_gib": "0", **pairs("qos", {}), **pairs("qos_per_gib", {})}
NO_FORMS = {"access-TOTAL_FORMS": 0, "access-INITIAL_FORMS": 0}
NO_HOSTS = {"hosts-TOTAL_FORMS": 0, "hosts-INITIAL_FORMS": 0}


@pytest.fixture
def people() -> People:
    return small_cloud("h1")


@pytest.fixture
def pool(people) -> StoragePool:
    return storage_pool("shared", "h1")


@pytest.fixture
def client(db) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(username="super", password="x"))
    return client


def text(answer) -> str:
    return answer.content.decode()


def test_type_is_made_changed_refused_at_its_fields_and_removed(client, people, pool):
    client.post(f"{AT}volumetype/add/", {**TYPE, "make_default": "on", **pairs("qos", {"total_iops": 5})})
    made = VolumeType.objects.get()
    assert (made.pools, made.qos, made.is_default) == (["shared"], {"total_iops": 5}, True)
    path = f"{AT}volumetype/{made.pk}/change/"
    for wrong, said in (
        ({"kinds": '["tape"]'}, "is none of file, nbd, rbd"),
        ({"pools": '{"a": 1}'}, "Must be a list of texts."),
        (pairs("qos", {"total_iops": "many"}), "total_iops: many is no whole number"),
        (pairs("qos", {"total_speed": 1}), "is none of total_iops"),
        ({"min_gib": "9", "max_gib": "5"}, "the smallest size is 9"),
        ({"is_public": ""}, "so it must be public"),
    ):
        page = text(client.post(path, {**TYPE, **NO_FORMS, **wrong}))
        assert said in page.replace("&#x27;", "'"), wrong
    client.post(path, {**TYPE, **NO_FORMS, "name": "faster", "max_gib": "50"})
    made.refresh_from_db()
    assert (made.name, made.max_gib, made.pools) == ("faster", 50, ["shared"])
    assert "A volume type named faster exists already." in text(
        client.post(f"{AT}volumetype/add/", {**TYPE, "name": "faster"})
    )
    other = VolumeType.objects.create(name="slow")
    ask(client, f"{AT}volumetype/", "make_default", [str(other.pk)])
    assert list(VolumeType.objects.filter(is_default=True)) == [other]
    page = text(client.post(f"{AT}volumetype/{other.pk}/delete/", {"post": "yes"}, follow=True))
    assert "is the default" in page
    ask_and_confirm(client, f"{AT}volumetype/", "delete_selected", [str(made.pk)])
    assert list(VolumeType.objects.all()) == [other]


def test_type_is_given_to_a_project(client, people):
    made = VolumeType.objects.create(name="ours", is_public=False)
    project = Project.objects.get(name="demo")
    client.post(f"{AT}volumetypeaccess/add/", {"volume_type": made.pk, "project": project.pk})
    row = VolumeTypeAccess.objects.get()
    VolumeType.objects.create(name="public")
    refused = client.post(
        f"{AT}volumetypeaccess/add/", {"volume_type": VolumeType.objects.get(name="public").pk, "project": project.pk}
    )
    assert "is public" in text(refused)
    assert "demo" in text(client.get(f"{AT}volumetype/{made.pk}/change/"))
    client.post(f"{AT}volumetypeaccess/{row.pk}/delete/", {"post": "yes"})
    assert not VolumeTypeAccess.objects.exists()


def test_many_volumes_are_deleted_and_those_that_cannot_are_said(client, people, pool):
    volumes = [volume_made(people.member, name=f"v{number}") for number in range(3)]
    snapshot = snapshot_made(people.member, volumes[2])
    page = text(ask_and_confirm(client, f"{AT}volume/", "delete", [str(one.pk) for one in volumes]))
    assert "3 accepted: " in page
    pump()
    found = {item.name: (item.state, item.reason) for item in BulkJobItem.objects.all()}
    assert [found[name][0] for name in ("v0", "v1", "v2")] == ["running", "running", "failed"]
    assert "has 1 snapshots" in found["v2"][1]
    ask_and_confirm(client, f"{AT}volume/", "delete_with_snapshots", [str(volumes[2].pk)])
    work_done(snapshot.pk)
    for one in volumes:
        work_done(one.pk)
    assert not Volume.objects.exists()


def test_states_are_written_by_hand_and_volumes_go_by_force(client, people, pool):
    volume = volume_made(people.member)
    for action, state in (("reset_to_error", "error"), ("reset_to_available", "available")):
        ask_and_confirm(client, f"{AT}volume/", action, [str(volume.pk)])
        assert Volume.objects.get().state == state
    snapshot = snapshot_made(people.member, volume)
    for action, state in (("reset_to_error", "error"), ("reset_to_available", "available"), ("delete", "deleting")):
        ask_and_confirm(client, f"{AT}volumesnapshot/", action, [str(snapshot.pk)])
        assert VolumeSnapshot.objects.get().state == state
    work_done(snapshot.pk)
    ask_and_confirm(client, f"{AT}volume/", "force_delete", [str(volume.pk)])
    work_done(volume.pk)
    assert not Volume.objects.exists()


def test_backups_have_their_states_written_and_go(client, people, pool):
    volume = volume_made(people.member)
    full, empty = backup_row(volume, name="full"), backup_row(volume, name="empty", has_bytes=False)
    both, path = [str(full.pk), str(empty.pk)], f"{AT}volumebackup/"
    ask_and_confirm(client, path, "reset_to_error", both)
    assert set(VolumeBackup.objects.values_list("state", flat=True)) == {"error"}
    page = text(ask_and_confirm(client, path, "reset_to_available", both))
    assert "Backup empty has no bytes in the store" in page
    assert "1 done." in page
    assert dict(VolumeBackup.objects.values_list("name", "state")) == {"full": "available", "empty": "error"}
    increment = backup_row(volume, parent=full, name="increment")
    page = text(ask_and_confirm(client, path, "delete", [str(full.pk)]))
    assert "1 backups have only what changed since full" in page
    ask_and_confirm(client, path, "delete", [str(increment.pk)])
    assert VolumeBackup.objects.get(pk=increment.pk).state == "deleting"
    ask_and_confirm(client, path, "force_delete", [str(full.pk)])
    assert VolumeBackup.objects.get(pk=full.pk).state == "available"  # the increment is there still
    ask_and_confirm(client, path, "force_delete", [str(increment.pk), str(empty.pk)])
    ask_and_confirm(client, path, "force_delete", [str(full.pk)])
    assert not VolumeBackup.objects.exists()


def test_nothing_is_done_to_backups_before_it_is_confirmed(client, people, pool):
    backup = backup_row(volume_made(people.member))
    for action in ("delete", "force_delete", "reset_to_error", "reset_to_available"):
        asked = ask(client, f"{AT}volumebackup/", action, [str(backup.pk)])
        assert asked.status_code == 200
        assert asked.context["action"] == action
    assert VolumeBackup.objects.get().state == "available"


def test_offers_are_taken_back_and_no_secret_is_shown(client, people, pool):
    VolumeType.objects.create(name="secret", is_encrypted=True)
    volume = volume_made(people.member, volume_type="secret")
    offer = transfer_create(caller=people.member, volume_id=volume.pk)
    digest, sealed = VolumeTransfer.objects.get().word_hash, VolumeKey.objects.get().sealed
    for path in (f"volumetransfer/{offer.transfer.pk}/change/", f"volumekey/{volume.pk}/change/", "volumekey/"):
        page = text(client.get(AT + path))
        assert digest not in page
        assert sealed not in page
    ask_and_confirm(client, f"{AT}volumetransfer/", "take_back", [str(offer.transfer.pk)])
    assert Volume.objects.get().state == "available"


def test_pool_takes_what_is_said_of_it_and_stays_while_it_is_needed(client, people, pool):
    volume_made(people.member)
    form = {"is_enabled": "on", "allocation_ratio": "2.5", "reserved_gib": "7", **NO_HOSTS}
    client.post(f"{AT}storagepool/{pool.pk}/change/", form)
    pool.refresh_from_db()
    assert (pool.allocation_ratio, pool.reserved_gib) == (2.5, 7)
    page = text(client.post(f"{AT}storagepool/{pool.pk}/change/", {**form, "allocation_ratio": "0"}))
    assert "it is above 0" in page
    ask(client, f"{AT}storagepool/", "disable", [str(pool.pk)])
    pool.refresh_from_db()
    assert not pool.is_enabled
    page = text(client.post(f"{AT}storagepool/{pool.pk}/delete/", {"post": "yes"}, follow=True))
    assert "1 volumes, and 1 hosts report it" in page
    assert client.get(f"{AT}storagepool/add/").status_code == 403
