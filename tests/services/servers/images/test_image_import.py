"""Imports from a real server on loopback, done as the conductor's long work."""

import hashlib
import io
import os
from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, Fenced, Forbidden, InvalidFields, NotFound, TooLarge
from controlplane.work.long_work import LONG_QUEUE, long_work_do_all, long_work_next
from controlplane.work.models import Work
from controlplane.work.reconcile import end_overdue
from controlplane.work.work import work_take
from servers.images.services import image_import as importing
from servers.images.services.image import image_create
from servers.images.services.image_import import image_create_by_import, image_import, import_run
from servers.images.services.image_store import image_chunks, image_delete, image_files_sweep, image_upload
from servers.images.services.image_tasks import TaskProgress, image_task_cancel
from servers.models import Image
from tests.fixtures.disk_images import converted, disk_image, raw_of
from tests.fixtures.file_server import file_server
from tests.worlds.cloud import people

pytestmark = pytest.mark.django_db


@pytest.fixture
def server():
    with file_server() as found:
        yield found


@pytest.fixture(autouse=True)
def store(settings, tmp_path, server, monkeypatch):
    settings.KILONOVA = {
        **settings.KILONOVA,
        "IMAGE_DIR": tmp_path / "images",
        "IMAGE_SCRATCH_DIR": tmp_path / "scratch",
        "IMAGE_IMPORT_NETWORKS": ("127.0.0.0/8",),
        "IMAGE_IMPORT_PORTS": (str(server.port),),
    }
    monkeypatch.setattr(importing, "WAITS_S", (0.0, 0.0))
    return tmp_path / "images"


def asked(url: str, caller=None, **more) -> Image:
    fields = {"name": "i", "disk_format": "raw", "visibility": "private", **more}
    return image_create_by_import(caller=caller, url=url, **fields)


def done(image: Image) -> Image:
    long_work_do_all()
    return Image.objects.get(pk=image.pk)


def test_image_is_fetched_checked_and_active(server):
    data = os.urandom(3_000_000)
    url = server.file("/a.raw", data)
    made = asked(f"{url}?signature=secret", checksum=hashlib.sha512(data).hexdigest())
    assert (made.status, made.task.state) == ("queued", "pending")
    after = done(made)
    assert (after.status, after.size_bytes) == ("active", len(data))
    assert b"".join(image_chunks(after.pk)) == data
    assert after.task.state == "success"
    assert after.task.source_url == url
    assert Work.objects.get().state == "done"


def test_checksum_may_stand_in_a_list(server):
    data = os.urandom(1000)
    lines = f"{'0' * 64}  other.raw\n{hashlib.sha256(data).hexdigest()}  a.raw\n"
    sums = server.file("/SHA256SUMS", lines.encode())
    assert done(asked(server.file("/a.raw", data), checksum_url=sums)).status == "active"
    missing = done(asked(server.file("/b.raw", data), checksum_url=sums))
    assert (missing.status, missing.status_reason) == ("killed", "The list of checksums does not name b.raw.")


def test_wrong_checksum_kills_the_image_and_leaves_no_bytes(server, store):
    url = server.file("/a", b"x" * 1000)
    after = done(asked(url, checksum="sha256:" + "0" * 64))
    assert after.status == "killed"
    assert "not 000" in after.status_reason
    assert after.task.state == "failure"
    assert [path.name for path in store.iterdir() if path.name.startswith(str(after.pk))] == []
    again = image_import(caller=None, image_id=after.pk, url=url)
    assert done(again).status == "active"


def test_refused_file_says_why(server):
    backed = done(asked(server.file("/a", b"<html>"), disk_format="qcow2"))
    assert (backed.status, backed.status_reason) == ("killed", "The file is raw, not qcow2 as the image says.")
    gone = done(asked(server.status("/b", 404)))
    assert gone.status == "killed"
    assert gone.status_reason.endswith("/b answers with status 404.")


def test_server_that_is_down_is_asked_again_and_then_given_up(server):
    down = done(asked(server.status("/a", 503)))
    assert (down.status, down.task.state) == ("queued", "failure")
    assert "status 503" in down.status_reason
    assert len(server.asked) == 3
    answers = [503, 200]

    def answer(request):
        code = answers.pop(0)
        request.send_response(code)
        request.send_header("Content-Length", "4" if code == 200 else "0")
        request.end_headers()
        if code == 200:
            request.wfile.write(b"data")

    server.answers["/b"] = answer
    assert done(asked(server.url("/b"))).status == "active"


def test_private_address_is_refused_unless_it_is_configured(settings, server):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_IMPORT_NETWORKS": ()}
    after = done(asked(server.file("/a", b"x")))
    assert (after.status, after.status_reason) == ("killed", "The host 127.0.0.1 has no public address.")
    assert server.asked == []


def test_url_that_settings_do_not_allow_is_refused_at_once_and_nothing_is_made():
    with pytest.raises(InvalidFields) as refused:
        asked("file:///etc/passwd", checksum="abc")
    assert set(refused.value.errors) == {"url", "checksum"}
    assert not Image.objects.exists()
    assert not Work.objects.exists()


def test_larger_than_allowed_is_refused_before_it_is_fetched(settings, server):
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_MAX_BYTES": 100}
    after = done(asked(server.file("/a", b"x" * 101)))
    assert after.status == "killed"
    assert "at least 101 bytes; at most 100" in after.status_reason


def test_quota_in_bytes_holds_for_imports(server):
    who = people().member
    Project.objects.filter(pk=who.project_id).update(quota_image_bytes=100)
    after = done(asked(server.file("/a", b"x" * 101), caller=who))
    assert (after.status, after.size_bytes) == ("queued", 0)
    assert "image_bytes: 101 asked for, 0 of 100 in use" in after.status_reason


def test_only_owners_import_and_not_over_what_is_there(server):
    who = people()
    url = server.file("/a", b"x")
    mine = image_create(caller=who.member, name="mine", disk_format="raw")
    with pytest.raises(NotFound):
        image_import(caller=who.stranger, image_id=mine.pk, url=url)
    public = image_create(caller=None, name="public", visibility="public")
    with pytest.raises(Forbidden):
        image_import(caller=who.member, image_id=public.pk, url=url)
    image_import(caller=who.member, image_id=mine.pk, url=url)
    with pytest.raises(Conflict, match="under way"):
        image_import(caller=who.member, image_id=mine.pk, url=url)
    with pytest.raises(Conflict, match="being imported"):
        image_upload(caller=who.member, image_id=mine.pk, stream=io.BytesIO(b"x"))
    assert done(mine).status == "active"
    with pytest.raises(Conflict, match="has its data already"):
        image_import(caller=who.member, image_id=mine.pk, url=url)


def lapse() -> None:
    """Every lease ran out: whoever held one was killed."""
    Work.objects.filter(state="running").update(lease_until=timezone.now() - timedelta(seconds=1))


def test_killed_while_it_fetches_it_begins_again_and_the_dead_one_changes_nothing(server, monkeypatch):
    data = os.urandom(2_000_000)
    made = asked(server.file("/a", data))
    work, lease = work_take(work_id=Work.objects.get().pk, owner="dead:1")
    killed_at, real = {}, TaskProgress.reached

    def reached(self, done_bytes, total_bytes):
        if done_bytes and not killed_at:
            killed_at["begun"] = True
            lapse()
            killed_at["done"] = done(made)
            self._next_at_s = 0.0
        return real(self, done_bytes, total_bytes)

    monkeypatch.setattr(TaskProgress, "reached", reached)
    with pytest.raises(Fenced):
        import_run(work, lease)
    assert killed_at["done"].status == "active"
    after = Image.objects.get(pk=made.pk)
    assert (after.status, after.upload_id) == ("active", killed_at["done"].upload_id)
    assert b"".join(image_chunks(made.pk)) == data
    assert Work.objects.get().attempt == 2


def test_killed_between_its_last_two_writes_it_ends_as_done(server):
    data = b"x" * 1000
    made = asked(server.file("/a", data))
    _, lease = work_take(work_id=Work.objects.get().pk, owner="dead:1")
    image_upload(caller=None, image_id=made.pk, stream=io.BytesIO(data), task=lease)
    lapse()
    assert done(made).task.state == "success"
    assert server.asked == []


def test_cancelled_deleted_and_overdue_imports_end_with_a_reason(server):
    who = people().member
    made = asked(server.file("/a", b"x"), caller=who)
    image_task_cancel(caller=who, image_id=made.pk)
    after = done(made)
    assert (after.status, after.status_reason, after.task.state) == ("queued", "Cancelled by mary.", "failure")
    with pytest.raises(Conflict, match="No import"):
        image_task_cancel(caller=who, image_id=made.pk)

    late = image_import(caller=who, image_id=made.pk, url=server.url("/a"))
    Work.objects.filter(state="waiting").update(deadline_at=F("created_at"))
    assert end_overdue() == 1
    late = Image.objects.get(pk=late.pk)
    assert (late.status, late.task.reason) == ("queued", "image_import passed its deadline.")

    image_import(caller=who, image_id=made.pk, url=server.url("/a"))
    image_delete(caller=who, image_id=made.pk)
    assert long_work_do_all() == []
    assert server.asked == []


def test_image_that_waits_for_its_import_is_not_taken_for_a_cut_off_upload(server):
    made = asked(server.file("/a", b"x"))
    Image.objects.filter(pk=made.pk).update(status="saving", updated_at=timezone.now() - timedelta(days=1))
    image_files_sweep()
    assert Image.objects.get(pk=made.pk).status == "saving"


def test_one_project_takes_not_all_the_threads(server):
    who = people()
    for number in range(3):
        asked(server.url("/a"), caller=who.member, name=f"m{number}")
    other = asked(server.url("/a"), caller=who.stranger)
    chosen = long_work_next(free_threads=4, each=2)
    subjects = [Work.objects.get(pk=pk).subject for _, pk in chosen]
    assert len(chosen) == 3
    assert subjects[-1] == other.pk
    work_take(work_id=chosen[0][1], owner="x", queue=LONG_QUEUE)
    assert len(long_work_next(free_threads=4, each=2)) == 2
    assert len(long_work_next(free_threads=1, each=2)) == 1


@pytest.mark.parametrize("disk_format", ["vmdk", "vdi", "vhd", "vhdx"])
def test_foreign_image_is_converted_once_and_has_the_same_disk(server, store, disk_format):
    disk = os.urandom(200_704) + bytes(1_000_448)
    data = converted(disk, disk_format)
    made = asked(server.file("/a", data), disk_format=disk_format)
    after = done(made)
    assert (after.status, after.disk_format, after.task.kind) == ("active", "qcow2", "convert")
    assert after.task.state == "success"
    result = b"".join(image_chunks(after.pk))
    assert hashlib.sha256(result).hexdigest() == after.checksum_sha256
    seen = raw_of(result, "qcow2")
    assert seen[: len(disk)] == disk
    assert len(seen) == after.virtual_size_bytes
    assert len([path for path in store.iterdir() if path.name.startswith(str(after.pk))]) == 1
    assert sorted(Work.objects.values_list("kind", "state")) == [("image_convert", "done"), ("image_import", "done")]


def test_uploaded_foreign_image_waits_as_saving_and_is_converted(store):
    made = image_create(caller=None, name="i", disk_format="vmdk")
    stream = io.BytesIO(disk_image("vmdk", options="subformat=streamOptimized"))
    assert image_upload(caller=None, image_id=made.pk, stream=stream).status == "saving"
    work = Work.objects.get()
    work_take(work_id=work.pk, owner="dead:1")  # and it dies
    lapse()
    assert done(made).status == "active"


def test_bomb_is_refused_by_the_size_of_its_disk(settings, store):
    made = image_create(caller=None, name="i")
    with pytest.raises(TooLarge, match="holds a disk of 4398046511104 bytes; at most"):
        image_upload(caller=None, image_id=made.pk, stream=io.BytesIO(disk_image("qcow2", size=2**42)))
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_MAX_BYTES": 300_000}
    growing = converted(bytes(range(256)) * 4096, "vmdk", options="subformat=streamOptimized")
    assert len(growing) < 300_000
    made = image_create(caller=None, name="i", disk_format="vmdk")
    image_upload(caller=None, image_id=made.pk, stream=io.BytesIO(growing))
    after = done(made)
    assert (after.status, after.size_bytes) == ("killed", 0)
    assert "Converted to qcow2 the image has more than 300000 bytes" in after.status_reason
    assert [path for path in store.iterdir() if path.name.startswith(str(after.pk))] == []
