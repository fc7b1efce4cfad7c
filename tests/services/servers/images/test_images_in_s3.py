"""Uploads, their ends and the clean-up, with the bytes in an S3-compatible store instead of the directory."""

import io
import os
import time
import uuid
from contextlib import closing
from typing import Any

import pytest

from controlplane.kernel.errors import Conflict, Invalid, QuotaExceeded, Unavailable
from servers.checks import image_store_problems
from servers.conf import server_options
from servers.images.downloads import user_downloads
from servers.images.services.image import image_create
from servers.images.services.image_store import image_chunks, image_delete, image_files_sweep, image_upload
from servers.images.stores.chosen import byte_store
from servers.images.stores.store import BytesName
from servers.models import Image
from tests.fixtures.disk_images import converted
from tests.fixtures.s3_server import S3Server
from tests.worlds.cloud import client_of, people

pytestmark = [pytest.mark.django_db, pytest.mark.processes, pytest.mark.long]


@pytest.fixture(autouse=True)
def in_s3(settings: Any, s3_server: S3Server) -> Any:
    """Images are kept in the S3 store, in a place of this test's own."""
    settings.KILONOVA = {**settings.KILONOVA, **s3_server.settings(f"{uuid.uuid4()}/")}
    return settings


def image(disk_format: str = "raw") -> Image:
    return image_create(caller=None, name="i", visibility="public", disk_format=disk_format)


def upload(made: Image, data: bytes, **more: Any) -> Image:
    return image_upload(caller=None, image_id=made.pk, stream=io.BytesIO(data), **more)


def stored() -> list[tuple[uuid.UUID, bool]]:
    return sorted((one.name.upload_id, one.is_part) for one in byte_store().stored())


def test_upload_is_active_and_is_deleted_with_its_bytes(django_capture_on_commit_callbacks: Any) -> None:
    data = os.urandom(20_000_000)
    done = upload(image(), data)
    assert (done.status, done.size_bytes, stored()) == ("active", len(data), [(done.upload_id, False)])
    assert b"".join(image_chunks(done.pk, offset=8_388_608)) == data[8_388_608:]
    with django_capture_on_commit_callbacks(execute=True):
        image_delete(caller=None, image_id=done.pk)
    assert stored() == []


def test_wrong_checksum_leaves_no_bytes_and_no_unfinished_upload() -> None:
    made = image()
    with pytest.raises(Invalid, match="The checksum is"):
        upload(made, b"x" * 9_000_000, expected_sha256="0" * 64)
    made.refresh_from_db()
    assert (made.status, stored()) == ("killed", [])


@pytest.mark.parametrize("part", [0.4, 0.6, 0.95])
def test_image_that_was_cut_off_is_killed_with_the_reason_and_leaves_no_bytes(part: float) -> None:
    data = converted(os.urandom(2**21), "qcow2")
    made = image(disk_format="qcow2")
    with pytest.raises(Invalid, match="Was it cut off"):
        upload(made, data[: int(len(data) * part)])
    made.refresh_from_db()
    assert (made.status, "damaged" in made.status_reason, stored()) == ("killed", True, [])
    assert upload(made, data).status == "active"


class Overtaken:
    """Gives its bytes, but while it does a second upload of the image begins and ends."""

    def __init__(self, made: Image, first: bytes) -> None:
        self.made, self.rest, self.is_overtaken = made, io.BytesIO(first), False

    def read(self, size: int, /) -> bytes:
        if self.rest.tell() and not self.is_overtaken:
            self.is_overtaken = True
            upload(self.made, b"second")
        return self.rest.read(size)


def test_of_two_uploads_the_one_that_began_last_wins() -> None:
    made = image()
    with pytest.raises(Conflict):
        image_upload(caller=None, image_id=made.pk, stream=Overtaken(made, b"first" * 4_000_000))
    made.refresh_from_db()
    assert (made.status, b"".join(image_chunks(made.pk))) == ("active", b"second")
    assert stored() == [(made.upload_id, False)]


def test_clean_up_aborts_what_a_crash_left_and_keeps_what_counts(in_s3: Any) -> None:
    done, gone, unknown = upload(image(), b"kept"), upload(image(), b"gone"), upload(image(), b"unknown")
    Image.objects.filter(pk=gone.pk).update(status="deleted")
    Image.objects.filter(pk=unknown.pk).delete()
    crashed = byte_store().begin(BytesName(uuid.uuid4(), uuid.uuid4()))
    crashed.write(b"x" * 9_000_000)
    assert len(stored()) == 4
    assert image_files_sweep() == 0  # all are young
    in_s3.KILONOVA = {**in_s3.KILONOVA, "UPLOAD_STALE_S": 1.0, "IMAGE_UNKNOWN_DAYS": 1e-5}
    time.sleep(2.5)  # the store tells whole seconds
    assert image_files_sweep() == 3
    assert stored() == [(done.upload_id, False)]
    assert b"".join(image_chunks(done.pk)) == b"kept"


def test_store_of_another_installation_is_not_swept(in_s3: Any, s3_server: S3Server) -> None:
    done = upload(image(), b"theirs")
    Image.objects.filter(pk=done.pk).update(status="deleted")
    client, prefix = s3_server.client(), in_s3.KILONOVA["IMAGE_S3_PREFIX"]
    client.put_object(Bucket=s3_server.bucket, Key=f"{prefix}.kilonova-image-store", Body=str(uuid.uuid4()).encode())
    in_s3.KILONOVA = {**in_s3.KILONOVA, "UPLOAD_STALE_S": 1.0}
    time.sleep(2.5)
    assert (image_files_sweep(), stored()) == (0, [(done.upload_id, False)])
    with pytest.raises(Unavailable, match="belongs to another installation"):
        upload(image(), b"mine")


def test_store_that_is_away_leaves_the_image_queued(in_s3: Any) -> None:
    in_s3.KILONOVA = {**in_s3.KILONOVA, "IMAGE_S3_ENDPOINT": "http://127.0.0.1:1"}
    made = image()
    with pytest.raises(Unavailable, match="The image store does not answer"):
        upload(made, b"data")
    made.refresh_from_db()
    assert (made.status, made.status_reason[:15]) == ("queued", "The image store")


def test_api_answers_503_with_a_sentence_while_the_store_is_away(in_s3: Any) -> None:
    who, done = people(), upload(image(), b"data")
    client, away = client_of(who.admin), {"IMAGE_S3_ENDPOINT": "http://127.0.0.1:1"}
    in_s3.KILONOVA = {**in_s3.KILONOVA, **away}
    made = image()
    answers = (
        client.get(f"/api/images/{done.pk}/file/"),
        client.put(f"/api/images/{made.pk}/file/", data=b"x", content_type="application/octet-stream"),
    )
    for answer in answers:
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (503, "unavailable")
        assert error["message"].startswith("The image store does not answer.")
    assert user_downloads().taken() == 0


def test_quota_counts_here_too(in_s3: Any) -> None:
    in_s3.KILONOVA = {**in_s3.KILONOVA, "DEFAULT_QUOTA_IMAGE_BYTES": 10}
    made = image_create(caller=people().member, name="mine", disk_format="raw")
    with pytest.raises(QuotaExceeded):
        upload(made, b"x" * 11)
    assert stored() == []


def test_part_of_a_long_upload_is_as_old_as_its_last_piece() -> None:
    with closing(byte_store().begin(BytesName(uuid.uuid4(), uuid.uuid4()))) as incoming:
        incoming.write(b"x" * 9_000_000)
        (first,) = byte_store().stored()
        time.sleep(1.5)
        incoming.write(b"x" * 9_000_000)
        (second,) = byte_store().stored()
    assert second.modified_at_s > first.modified_at_s


def test_check_names_what_is_missing(in_s3: Any) -> None:
    assert [problem.id for problem in image_store_problems(server_options())] == ["servers.W001"]
    missing = {"IMAGE_S3_BUCKET": "", "IMAGE_S3_ACCESS_KEY_ID": "", "IMAGE_S3_CA_FILE": "/nowhere.pem"}
    in_s3.KILONOVA = {**in_s3.KILONOVA, **missing, "IMAGE_S3_ENDPOINT": "s3.example.org"}
    texts = " ".join(problem.msg for problem in image_store_problems(server_options()))
    for name in ("IMAGE_S3_BUCKET", "IMAGE_S3_ACCESS_KEY_ID", "IMAGE_S3_ENDPOINT", "IMAGE_S3_CA_FILE"):
        assert name in texts
    in_s3.KILONOVA = {**in_s3.KILONOVA, "IMAGE_STORE": "directory"}
    assert image_store_problems(server_options()) == []
