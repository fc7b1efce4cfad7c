import hashlib
import io
import os
import struct
import subprocess
import time
import uuid
from contextlib import suppress
from pathlib import Path

import pytest
from django.db import transaction

from controlplane.kernel.errors import Conflict, Forbidden, Invalid, InvalidFields, NotFound, TooLarge, Unavailable
from servers.conf import server_options
from servers.images.selectors import image_for_instance, image_get, images_visible
from servers.images.services.image import image_create, image_deactivate, image_reactivate, image_update
from servers.images.services.image_store import image_chunks, image_delete, image_files_sweep, image_upload
from servers.images.stores.store import MARKER, TRASH
from servers.models import Image
from tests.fixtures.disk_images import disk_image
from tests.worlds.cloud import people

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def store(settings, tmp_path):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    return tmp_path / "images"


def stored(directory: Path) -> list[Path]:
    """Files of uploads, without the marker."""
    return [path for path in directory.glob("*") if path.name != MARKER]


def qcow2(backing_at: int = 0, size: int = 2**30) -> bytes:
    if not backing_at:
        return disk_image("qcow2", size=size)
    return struct.pack(">4sIQIIQI", b"QFI\xfb", 3, backing_at, 0, 16, size, 0).ljust(2000, b"\0")


def image(**more) -> Image:
    return image_create(caller=None, **{"name": "demo", "visibility": "public", **more})


def upload(made: Image, data: bytes, **more) -> Image:
    return image_upload(caller=None, image_id=made.pk, stream=io.BytesIO(data), **more)


def test_uploaded_image_is_active_with_its_facts(store):
    data = qcow2(size=3 * 2**30)
    done = upload(image(), data, declared_bytes=len(data))
    assert (done.status, done.size_bytes, done.virtual_size_bytes) == ("active", len(data), 3 * 2**30)
    assert done.checksum_sha256 == hashlib.sha256(data).hexdigest()
    assert b"".join(image_chunks(done.pk)) == data
    assert [path.name for path in stored(store)] == [f"{done.pk}.{done.upload_id}"]


def test_raw_image_larger_than_a_chunk_comes_back_whole():
    data = os.urandom(3_000_001)
    done = upload(image(disk_format="raw"), data)
    assert b"".join(image_chunks(done.pk)) == data


def test_properties_are_refused_key_by_key_and_nothing_is_written():
    with pytest.raises(InvalidFields) as refused:
        image(properties={"hw_disk_bus": "pata", "hw_video_ram": "much", "os_version": "13", "hypervisor_type": "kmv"})
    assert set(refused.value.errors) == {
        "properties.hw_disk_bus",
        "properties.hw_video_ram",
        "properties.hypervisor_type",
    }
    assert not Image.objects.exists()


def test_changed_property_is_judged_and_one_from_before_the_rules_is_not():
    made = image()
    Image.objects.filter(pk=made.pk).update(properties={"hw_disk_bus": "pata"})
    kept = image_update(caller=None, image_id=made.pk, changes={"properties": {"hw_disk_bus": "pata", "mine": "1"}})
    assert kept.properties == {"hw_disk_bus": "pata", "mine": "1"}
    with pytest.raises(InvalidFields) as refused:
        image_update(caller=None, image_id=made.pk, changes={"properties": {"hw_disk_bus": "mfm"}})
    assert refused.value.field == "properties.hw_disk_bus"


def test_expected_checksum_that_matches_is_accepted():
    data = qcow2()
    digest = hashlib.sha256(data).hexdigest()
    assert upload(image(expected_sha256=digest), data, expected_sha256=digest).status == "active"


@pytest.mark.parametrize("said_in", ["record", "upload"])
def test_wrong_checksum_kills_the_image_and_keeps_no_file(store, said_in):
    made = image(expected_sha256="0" * 64 if said_in == "record" else "")
    with pytest.raises(Invalid, match="The checksum is") as refused:
        upload(made, qcow2(), expected_sha256="0" * 64 if said_in == "upload" else "")
    made.refresh_from_db()
    assert refused.value.field == "checksum_sha256"
    assert (made.status, made.status_reason[:15]) == ("killed", "The checksum is")
    assert list(stored(store)) == []


def test_malformed_expected_checksum_is_refused_before_anything():
    made = image()
    with pytest.raises(InvalidFields):
        upload(made, qcow2(), expected_sha256="xyz")
    made.refresh_from_db()
    assert made.status == "queued"


@pytest.mark.parametrize(
    ("data", "disk_format", "part"),
    [
        (qcow2(backing_at=100), "qcow2", "backing file"),
        (qcow2(), "raw", "is qcow2, not raw"),
        (b"\0" * 1000, "qcow2", "is raw, not qcow2"),
        (b"", "raw", "empty"),
    ],
)
def test_wrong_content_kills_the_image(data, disk_format, part):
    made = image(disk_format=disk_format)
    with pytest.raises(Invalid, match=part):
        upload(made, data)
    made.refresh_from_db()
    assert made.status == "killed"
    assert part in made.status_reason


def test_killed_image_takes_a_better_upload():
    made = image()
    with pytest.raises(Invalid):
        upload(made, b"nonsense")
    assert upload(made, qcow2()).status == "active"


@pytest.mark.parametrize("declared", [True, False])
def test_too_many_bytes_are_refused_declared_or_not(settings, store, declared):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_MAX_BYTES": 100}
    made, data = image(disk_format="raw"), b"x" * 101
    with pytest.raises(TooLarge) as refused:
        upload(made, data, declared_bytes=len(data) if declared else None)
    assert refused.value.extra == {"limit": 100}
    assert list(stored(store)) == []


def test_body_that_ends_early_leaves_the_image_queued(store):
    made = image(disk_format="raw")
    with pytest.raises(Invalid, match="ended after 10 of 20"):
        upload(made, b"x" * 10, declared_bytes=20)
    made.refresh_from_db()
    assert made.status == "queued"
    assert list(stored(store)) == []


class Broken:
    def read(self, _size: int, /) -> bytes:
        raise ConnectionResetError("gone")


def test_sender_that_goes_away_leaves_the_image_queued():
    made = image()
    with pytest.raises(Invalid, match="could not be read"):
        image_upload(caller=None, image_id=made.pk, stream=Broken())
    made.refresh_from_db()
    assert made.status == "queued"


def test_store_that_cannot_be_written_is_unavailable(settings, tmp_path):
    (tmp_path / "file").write_text("in the way")
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "file"}
    made = image()
    with pytest.raises(Unavailable, match="cannot take the file"):
        upload(made, qcow2())
    made.refresh_from_db()
    assert made.status == "queued"


def test_second_upload_of_an_active_image_is_a_conflict():
    made = image()
    upload(made, qcow2())
    with pytest.raises(Conflict, match="has its data already"):
        upload(made, qcow2())


class Overtaken:
    """Gives its bytes, but while it does a second upload of the image begins and ends."""

    def __init__(self, made: Image, first: bytes, second: bytes) -> None:
        self.made, self.rest, self.second = made, io.BytesIO(first), second

    def read(self, size: int, /) -> bytes:
        if self.second:
            second, self.second = self.second, b""
            upload(self.made, second)
        return self.rest.read(size)


def test_of_two_uploads_the_one_that_began_last_wins(store):
    made, second = image(disk_format="raw"), b"second" * 100
    with pytest.raises(Conflict, match="another upload"):
        image_upload(caller=None, image_id=made.pk, stream=Overtaken(made, b"first" * 100, second))
    made.refresh_from_db()
    assert made.status == "active"
    assert b"".join(image_chunks(made.pk)) == second
    assert len(list(stored(store))) == 1


def test_upload_cut_off_by_a_crash_can_be_sent_again(store):
    made = image()
    store.mkdir()
    lost = uuid.uuid4()
    (store / f"{made.pk}.{lost}.part").write_bytes(b"half")
    Image.objects.filter(pk=made.pk).update(status="saving", upload_id=lost)
    assert upload(made, qcow2()).status == "active"
    assert len(list(stored(store))) == 1


def aged(path: Path, days: float) -> Path:
    path.write_bytes(path.read_bytes() if path.exists() else b"x")
    os.utime(path, (time.time() - days * 86400, time.time() - days * 86400))
    return path


def test_sweep_removes_old_parts_and_files_of_deleted_images_and_no_others(store):
    done, gone = upload(image(), qcow2()), upload(image(), qcow2())
    Image.objects.filter(pk=gone.pk).update(status="deleted")  # and a crash kept its file
    old = aged(store / f"{uuid.uuid4()}.{uuid.uuid4()}.part", 1)
    superseded = aged(store / f"{done.pk}.{uuid.uuid4()}", 1)
    left = aged(store / f"{gone.pk}.{gone.upload_id}", 1)
    aged(store / f"{done.pk}.{done.upload_id}", 400)
    (fresh := store / f"{uuid.uuid4()}.{uuid.uuid4()}.part").write_bytes(b"x")
    assert image_files_sweep() == 3
    assert not any(path.exists() for path in (old, superseded, left))
    assert fresh.exists()
    assert b"".join(image_chunks(done.pk)) == qcow2()


@pytest.mark.parametrize(
    "name", ["golden-windows.qcow2", "vm.part", str(uuid.UUID(int=5)), f"{uuid.UUID(int=5)}.qcow2", "A.B.part"]
)
def test_sweep_leaves_files_of_other_names_alone(store, name):
    upload(image(), qcow2())
    foreign = aged(store / name, 1000)
    assert image_files_sweep() == 0
    assert foreign.exists()


def test_sweep_leaves_a_directory_alone_that_no_upload_claimed(store):
    store.mkdir()
    part = aged(store / f"{uuid.uuid4()}.{uuid.uuid4()}.part", 1000)
    assert image_files_sweep() == 0
    assert part.exists()


def test_directory_of_another_installation_takes_no_upload_and_is_not_swept(store):
    store.mkdir()
    (store / MARKER).write_text(f"{uuid.uuid4()}\n")
    theirs, made = aged(store / f"{uuid.uuid4()}.{uuid.uuid4()}", 1000), image()
    with pytest.raises(Unavailable, match="belongs to another installation"):
        upload(made, qcow2())
    made.refresh_from_db()
    assert (made.status, image_files_sweep()) == ("queued", 0)
    assert stored(store) == [theirs]


@pytest.mark.parametrize("row", ["no row", "queued", "saving"])
def test_file_of_an_image_that_a_restored_database_does_not_know_moves_to_the_trash_after_days(store, row, caplog):
    done = upload(image(), qcow2())
    upload(image(), qcow2())
    known = {"no row": "deleted", "queued": "queued", "saving": "saving"}[row]
    Image.objects.filter(pk=done.pk).update(status=known)
    if row == "no row":
        Image.objects.filter(pk=done.pk).delete()
    path = aged(store / f"{done.pk}.{done.upload_id}", 6)
    assert (image_files_sweep(), path.exists()) == (0, True)
    aged(path, 8)
    assert (image_files_sweep(), path.exists()) == (1, False)
    assert (store / TRASH / path.name).read_bytes() == qcow2()
    assert [record.levelname for record in caplog.records if path.name in record.getMessage()] == ["WARNING"]
    assert image_files_sweep() == 0


def test_unknown_files_stay_for_ever_where_the_setting_says_so(settings, store):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_UNKNOWN_DAYS": 0.0}
    upload(image(), qcow2())
    path = aged(store / f"{uuid.uuid4()}.{uuid.uuid4()}", 1000)
    assert (image_files_sweep(), path.exists()) == (0, True)


def test_chunks_of_an_image_without_data_are_a_conflict_at_once():
    with pytest.raises(Conflict, match="queued"):
        image_chunks(image().pk)


def test_chunks_of_no_image_are_not_found_at_once():
    with pytest.raises(NotFound):
        image_chunks(uuid.uuid4())


def test_lost_file_is_unavailable(store):
    done = upload(image(), qcow2())
    for path in stored(store):
        path.unlink()
    with pytest.raises(Unavailable):
        image_chunks(done.pk)


def test_deactivated_image_is_read_by_admins_and_agents_only():
    who, done = people(), upload(image(), qcow2())
    image_deactivate(image_id=done.pk)
    for caller in (who.member, who.reader, who.stranger):
        with pytest.raises(Forbidden, match="deactivated"):
            image_chunks(done.pk, caller=caller)
    assert b"".join(image_chunks(done.pk, caller=who.admin)) == qcow2()
    assert b"".join(image_chunks(done.pk)) == qcow2()


def test_deleted_image_is_gone_with_its_file(store, django_capture_on_commit_callbacks):
    done = upload(image(), qcow2())
    with django_capture_on_commit_callbacks(execute=True):
        image_delete(caller=None, image_id=done.pk)
    assert list(stored(store)) == []
    assert Image.objects.get().status == "deleted"
    with pytest.raises(NotFound):
        image_delete(caller=None, image_id=done.pk)


def test_deletion_that_is_rolled_back_keeps_the_file(django_capture_on_commit_callbacks):
    done = upload(image(), qcow2())
    with django_capture_on_commit_callbacks(execute=True), suppress(ZeroDivisionError), transaction.atomic():
        image_delete(caller=None, image_id=done.pk)
        raise ZeroDivisionError
    assert b"".join(image_chunks(done.pk)) == qcow2()


def test_protected_image_is_not_deleted(store):
    done = upload(image(protected=True), qcow2())
    with pytest.raises(Conflict, match="protected"):
        image_delete(caller=None, image_id=done.pk)
    assert list(stored(store))


def test_private_image_is_seen_by_its_project_and_admins():
    who = people()
    made = image_create(caller=who.member, name="mine")
    assert image_get(caller=who.reader, image_id=made.pk) == made
    assert image_get(caller=who.admin, image_id=made.pk) == made
    with pytest.raises(NotFound):
        image_get(caller=who.stranger, image_id=made.pk)
    assert not images_visible(caller=who.stranger).exists()


def test_only_admins_publish():
    who = people()
    with pytest.raises(Forbidden):
        image_create(caller=who.member, name="x", visibility="public")
    made = image_create(caller=who.member, name="x")
    with pytest.raises(Forbidden):
        image_update(caller=who.member, image_id=made.pk, changes={"visibility": "public"})
    assert image_update(caller=who.admin, image_id=made.pk, changes={"visibility": "public"}).visibility == "public"


def test_public_image_of_others_is_not_changed_by_a_member():
    made = image()
    with pytest.raises(Forbidden, match="another project"):
        image_update(caller=people().member, image_id=made.pk, changes={"name": "mine"})


def test_format_cannot_change_once_there_is_data():
    done = upload(image(), qcow2())
    with pytest.raises(Conflict, match="disk_format cannot change"):
        image_update(caller=None, image_id=done.pk, changes={"disk_format": "raw"})


def test_taken_image_id_is_a_conflict():
    made = image()
    with pytest.raises(Conflict):
        image(image_id=made.pk)


def test_deactivated_image_makes_no_instances_until_it_is_active_again():
    caller, done = people().member, upload(image(), qcow2())
    image_deactivate(image_id=done.pk)
    with pytest.raises(Invalid, match="is deactivated, not active") as refused:
        image_for_instance(caller=caller, reference="demo")
    assert refused.value.field == "image"
    image_reactivate(image_id=done.pk)
    assert image_for_instance(caller=caller, reference="demo").pk == done.pk


def test_deactivating_an_image_without_data_is_a_conflict():
    with pytest.raises(Conflict, match="queued"):
        image_deactivate(image_id=image().pk)


def test_reactivating_an_image_that_is_being_sent_is_a_conflict():
    made = image()
    Image.objects.update(status="saving")
    with pytest.raises(Conflict, match="saving"):
        image_reactivate(image_id=made.pk)


def test_image_name_that_several_share_is_refused():
    caller = people().member
    for _ in range(2):
        upload(image(), qcow2())
    with pytest.raises(Invalid, match="2 images are named demo; use an id"):
        image_for_instance(caller=caller, reference="demo")


def test_image_without_data_does_not_hide_the_active_one_of_its_name():
    caller = people().member
    image()
    done = upload(image(), qcow2())
    assert image_for_instance(caller=caller, reference="demo").pk == done.pk


@pytest.mark.parametrize("reference", ["nope", "", str(uuid.UUID(int=2))])
def test_unknown_image_is_refused_at_its_field(reference):
    with pytest.raises(Invalid, match="does not exist") as refused:
        image_for_instance(caller=people().member, reference=reference)
    assert refused.value.field == "image"


def test_options_follow_the_settings(settings):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_MAX_BYTES": 7}
    assert server_options().image_max_bytes == 7


def test_properties_that_somebody_else_changed_meanwhile_are_not_written_over():
    made = image(properties={"hw_disk_bus": "virtio"})
    seen = made.properties
    image_update(caller=None, image_id=made.pk, changes={"properties": {**seen, "os_type": "linux"}})
    with pytest.raises(Conflict, match="Somebody else") as refused:
        image_update(caller=None, image_id=made.pk, changes={"properties": {}, "name": "other"}, properties_seen=seen)
    assert refused.value.field == "properties"
    now = Image.objects.get(pk=made.pk)
    assert (now.name, now.properties) == ("demo", {"hw_disk_bus": "virtio", "os_type": "linux"})
    image_update(caller=None, image_id=made.pk, changes={"properties": {}}, properties_seen=now.properties)
    assert Image.objects.get(pk=made.pk).properties == {}


@pytest.mark.parametrize("said_in", ["record", "change", "upload"])
def test_checksum_in_capitals_is_the_same_checksum(said_in: str) -> None:
    data = qcow2()
    said = hashlib.sha256(data).hexdigest().upper()
    made = image(expected_sha256=said if said_in == "record" else "")
    if said_in == "change":
        image_update(caller=None, image_id=made.pk, changes={"expected_sha256": said})
    done = upload(made, data, expected_sha256=said if said_in == "upload" else "")
    assert (done.status, done.checksum_sha256) == ("active", said.lower())


@pytest.mark.parametrize("part", [0.4, 0.6, 0.95])
def test_image_that_was_cut_off_is_killed_with_the_reason(tmp_path: Path, part: float) -> None:
    raw, whole = tmp_path / "disk", tmp_path / "disk.qcow2"
    raw.write_bytes(os.urandom(2**21))
    subprocess.run(["qemu-img", "convert", "-f", "raw", "-O", "qcow2", raw, whole], check=True)
    data = whole.read_bytes()
    made = image()
    with pytest.raises(Invalid, match="Was it cut off"):
        upload(made, data[: int(len(data) * part)])
    made.refresh_from_db()
    assert (made.status, "damaged" in made.status_reason) == ("killed", True)
    assert upload(image(), data).status == "active"
