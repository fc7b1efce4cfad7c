"""Snapshots and backups on the pages of volumes: edited, restored, deleted together, and put right by admins."""

from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from servers.models import StoragePool, Volume, VolumeBackup, VolumeKey, VolumeSnapshot
from servers.volumes.domain.states import BackupState
from servers.volumes.services.backups import BackupRequest, backup_create
from servers.volumes.services.keys import volume_key_copy, volume_key_make
from tests.pages.test_volume_acts import acted, form_on, kind_of_work, sent
from tests.worlds.cloud import People
from tests.worlds.volumes import backup_row, snapshot_made, storage_pool, volume_made, work_done, work_of

pytestmark = pytest.mark.django_db(transaction=True)
AsPerson = Callable[[Caller], Client]


@pytest.fixture
def pool(people: People) -> StoragePool:
    return storage_pool("shared", "h1", "h2")


@pytest.fixture
def volume(people: People, pool: StoragePool) -> Volume:
    return volume_made(people.member, size_gib=2, name="data")


@pytest.fixture
def member(people: People, as_person: AsPerson) -> Client:
    return as_person(people.member)


@pytest.fixture
def admin(people: People, as_person: AsPerson) -> Client:
    return as_person(people.admin)


def refused(client: Client, path: str, **filled: str) -> str:
    """What is said where the form is refused."""
    answer = client.post(path, filled, follow=True)
    ((text, tag),) = [(str(one.message), one.extra_tags) for one in answer.context["messages"]]
    assert tag == "bad"
    return text


def open_work() -> int:
    return Work.objects.filter(state__in=OPEN_STATES).count()


def test_snapshot_is_renamed_and_described(people: People, member: Client, volume: Volume) -> None:
    snapshot = snapshot_made(people.member, volume)
    path = f"/volume-snapshots/{snapshot.pk}/edit/"
    assert f'href="{path}"' in member.get(f"/volumes/{volume.pk}/").text
    assert f'href="{path}"' in member.get("/volume-snapshots/").text
    said = {"name": "before", "description": "the upgrade", "metadata": "team = red"}
    answer = member.post(path, said)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/volumes/{volume.pk}/")
    snapshot.refresh_from_db()
    assert (snapshot.name, snapshot.description, snapshot.metadata) == ("before", "the upgrade", {"team": "red"})
    wrong = member.post(path, {**said, "name": "x" * 256, "metadata": "a = b\na = c"})
    assert set(wrong.context["form"].errors) == {"metadata"}
    wrong = member.post(path, {**said, "name": "x" * 256})
    assert set(wrong.context["form"].errors) == {"name"}
    snapshot.refresh_from_db()
    assert snapshot.name == "before"


def test_backup_is_renamed_and_described(member: Client, volume: Volume) -> None:
    backup = backup_row(volume, name="monday")
    path = f"/volume-backups/{backup.pk}/edit/"
    assert f'href="{path}"' in member.get("/volume-backups/").text
    assert member.post(path, {"name": "tuesday", "description": "late"}).headers["Location"] == "/volume-backups/"
    backup.refresh_from_db()
    assert (backup.name, backup.description) == ("tuesday", "late")
    assert set(member.post(path, {"description": "x" * 256}).context["form"].errors) == {"description"}


def test_backup_is_restored_into_a_volume_that_fits(
    people: People, as_person: AsPerson, member: Client, volume: Volume
) -> None:
    backup = backup_row(volume, name="monday")
    other = volume_made(people.member, size_gib=3, name="other")
    small = volume_made(people.member, size_gib=1, name="small")
    used = volume_made(people.member, size_gib=2, name="used")
    Volume.objects.filter(pk=used.pk).update(state="in-use")
    broken = volume_made(people.member, size_gib=2, name="broken")
    Volume.objects.filter(pk=broken.pk).update(state="error_restoring")
    secret = volume_made(people.member, size_gib=2, name="secret")
    Volume.objects.filter(pk=secret.pk).update(is_encrypted=True)
    foreign = volume_made(people.stranger, size_gib=2, name="foreign")
    path = f"/volume-backups/{backup.pk}/restore/"
    assert f'href="{path}"' in member.get("/volume-backups/").text

    for client in (member, as_person(people.admin)):
        page = client.get(path)
        assert "All that the chosen volume has now is lost for good." in page.text
        offered = {pk for pk, _label in page.context["form"].fields["volume"].choices}
        assert offered == {str(one.pk) for one in (volume, other, broken)}
    for one in (small, used, secret, foreign):
        answer = member.post(path, {"volume": str(one.pk)})
        assert set(answer.context["form"].errors) == {"volume"}
    assert open_work() == 0

    answer = member.post(path, {"volume": str(other.pk)})
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/volumes/{other.pk}/")
    other.refresh_from_db()
    assert (other.state, kind_of_work(other.pk)) == ("restoring-backup", "volume_restore")
    assert work_of(other.pk).arguments["backup_id"] == str(backup.pk)


def test_encrypted_backup_is_offered_volumes_with_its_passphrase(
    people: People, member: Client, volume: Volume
) -> None:
    mine, other = volume_made(people.member, size_gib=2), volume_made(people.member, size_gib=2)
    Volume.objects.exclude(pk=volume.pk).update(is_encrypted=True)
    volume_key_make(owner_id=mine.pk)
    volume_key_make(owner_id=other.pk)
    backup = backup_row(mine, is_encrypted=True)
    volume_key_copy(owner_id=backup.pk, of=mine.pk)
    path = f"/volume-backups/{backup.pk}/restore/"
    assert [pk for pk, _label in member.get(path).context["form"].fields["volume"].choices] == [str(mine.pk)]
    VolumeKey.objects.filter(owner_id=mine.pk).delete()
    assert "with the passphrase of the backup" in member.get(path).text


def test_backup_that_no_volume_fits_says_what_it_takes(people: People, member: Client, volume: Volume) -> None:
    backup = backup_row(volume, name="monday")
    Volume.objects.update(state="in-use")
    page = member.get(f"/volume-backups/{backup.pk}/restore/").text
    assert "No volume fits" in page
    assert f"/volumes/new/?source=backup:{backup.pk}" in page
    VolumeBackup.objects.update(state="creating")
    page = member.get(f"/volume-backups/{backup.pk}/restore/").text
    assert "only one that is available can be restored" in page
    assert "No volume fits" not in page


def test_volume_is_deleted_with_its_snapshots(people: People, member: Client, volume: Volume) -> None:
    snapshots = [snapshot_made(people.member, volume) for _ in range(3)]
    assert "Its 3 snapshots are deleted with it" in member.get(f"/volumes/{volume.pk}/").text
    assert "has 3 snapshots" in refused(member, f"/volumes/{volume.pk}/delete/")
    acted(member, volume, "delete", with_snapshots="1")
    assert volume.state == "deleting"
    assert set(VolumeSnapshot.objects.values_list("state", flat=True)) == {"deleting"}
    assert {kind_of_work(one.pk) for one in snapshots} == {"volume_snapshot_delete"}


def test_snapshots_of_backups_are_in_nobodys_way(people: People, member: Client, volume: Volume) -> None:
    mine = snapshot_made(people.member, volume)
    backup = backup_create(caller=people.member, request=BackupRequest(volume.pk, keeps_snapshot=True))
    assert backup.snapshot_id is not None
    work_done(backup.snapshot_id)
    VolumeBackup.objects.update(has_bytes=True)
    work_done(backup.pk)
    page = member.get(f"/volumes/{volume.pk}/").text
    assert "Its 1 snapshot is deleted with it" in page
    assert f'id="revert-{mine.pk}"' in page, "the volume goes back to it, though a backup keeps a newer one"
    assert f'id="revert-{backup.snapshot_id}"' not in page
    VolumeSnapshot.objects.filter(pk=mine.pk).delete()
    assert "with_snapshots" not in form_on(member, f"/volumes/{volume.pk}/", f"/volumes/{volume.pk}/delete/")


def test_backup_of_a_chosen_snapshot(people: People, member: Client, volume: Volume) -> None:
    assert "snapshot" not in form_on(member, f"/volumes/{volume.pk}/", f"/volumes/{volume.pk}/backup/")
    snapshot = snapshot_made(people.member, volume)
    acted(member, volume, "backup", snapshot=str(snapshot.pk))
    backup = VolumeBackup.objects.get()
    assert (backup.snapshot_id, backup.owns_snapshot, kind_of_work(backup.pk)) == (
        snapshot.pk, False, "volume_backup_create",
    )  # fmt: skip
    assert refused(member, f"/volumes/{volume.pk}/backup/", snapshot="newest") == "Name the snapshot."
    other = snapshot_made(people.member, volume_made(people.member))
    assert "It is of volume" in refused(member, f"/volumes/{volume.pk}/backup/", snapshot=str(other.pk))
    assert VolumeBackup.objects.count() == 1


def test_full_backup_after_so_many_increments(member: Client, volume: Volume) -> None:
    path = f"/volumes/{volume.pk}/backup/"
    assert "this one is full anyway" in refused(member, path, full_after="2")
    assert "is a whole number" in refused(member, path, full_after="some", incremental="1")
    assert not VolumeBackup.objects.exists()
    acted(member, volume, "backup", incremental="1", full_after="1")
    backup = VolumeBackup.objects.get()
    assert backup.parent_id is None, "there was none yet: so it is a full one, and not refused"
    VolumeBackup.objects.all().delete()
    first = backup_row(volume)
    acted(member, volume, "backup", incremental="1", full_after="1")
    second = VolumeBackup.objects.exclude(pk=first.pk).get()
    assert second.parent_id == first.pk
    VolumeBackup.objects.update(state="available")
    acted(member, volume, "backup", incremental="1", full_after="1")
    assert VolumeBackup.objects.exclude(pk__in=(first.pk, second.pk)).get().parent_id is None


def test_admin_sets_states(people: People, admin: Client, member: Client, volume: Volume) -> None:
    snapshot = snapshot_made(people.member, volume)
    page = member.get(f"/volumes/{volume.pk}/").text
    assert "reset-state" not in page
    assert 'name="force"' not in page
    acted(admin, volume, "reset-state", state="maintenance")
    assert volume.state == "maintenance"
    path = f"/volume-snapshots/{snapshot.pk}/reset-state/"
    sent(admin, "/volume-snapshots/", path, state="error")
    snapshot.refresh_from_db()
    assert snapshot.state == "error"
    sent(admin, f"/volumes/{volume.pk}/", path, state="available")
    snapshot.refresh_from_db()
    assert snapshot.state == "available"
    assert "There is no state" in refused(admin, path, state="fine")
    assert "cannot be set by hand" in refused(admin, path, state="deleting")
    assert "No instance has volume" in refused(admin, f"/volumes/{volume.pk}/reset-state/", state="in-use")
    volume.refresh_from_db()
    assert volume.state == "maintenance"


def test_admin_deletes_by_force(people: People, admin: Client, member: Client, volume: Volume) -> None:
    snapshot = snapshot_made(people.member, volume)
    VolumeSnapshot.objects.update(state="creating")
    Volume.objects.update(state="maintenance")
    assert "it must be" in refused(member, f"/volumes/{volume.pk}/delete/", with_snapshots="1")
    for path in (f"/volumes/{volume.pk}/delete/", f"/volume-snapshots/{snapshot.pk}/delete/"):
        assert "needs the role admin" in refused(member, path, force="1", with_snapshots="1")
    volume.refresh_from_db()
    snapshot.refresh_from_db()
    assert (volume.state, snapshot.state) == ("maintenance", "creating")
    sent(admin, f"/volumes/{volume.pk}/", f"/volume-snapshots/{snapshot.pk}/delete/", force="1")
    snapshot.refresh_from_db()
    assert snapshot.state == "deleting"
    acted(admin, volume, "delete", with_snapshots="1", force="1")
    assert volume.state == "deleting"


def test_admin_puts_backups_right(people: People, admin: Client, member: Client, volume: Volume) -> None:
    backup = backup_row(volume, state=BackupState.CREATING)
    page = member.get("/volume-backups/").text
    assert "reset-state" not in page
    assert 'name="force"' not in page
    path = f"/volume-backups/{backup.pk}/reset-state/"
    sent(admin, "/volume-backups/", path, state="error")
    backup.refresh_from_db()
    assert backup.state == "error"
    assert "cannot be set by hand" in refused(admin, path, state="deleting")
    assert "There is no state" in refused(admin, path, state="fine")
    path = f"/volume-backups/{backup.pk}/delete/"
    assert "needs the role admin" in refused(member, path, force="1")
    sent(admin, "/volume-backups/", path, force="1")
    assert not VolumeBackup.objects.exists()
