"""Images that come in pieces, in a directory and in an S3-compatible store that runs here: cuts, lies, clean-up."""

import hashlib
import os
import subprocess
import tempfile
import threading
import time
import uuid
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from controlplane.identity.models import Project
from controlplane.kernel.errors import Invalid, QuotaExceeded, Throttled, TooLarge
from servers.images.services import pieces
from servers.images.services.image_store import image_chunks, image_delete, image_files_sweep
from servers.images.services.uploads_in_pieces import upload_begin, upload_end, upload_piece
from servers.images.stores.chosen import byte_store
from servers.images.stores.parts import PIECE_BYTES
from servers.images.stores.store import BytesName
from servers.models import Image
from tests.fixtures.disk_images import converted
from tests.fixtures.patience import PATIENCE_S
from tests.fixtures.s3_server import S3Server

pytestmark = pytest.mark.django_db


@pytest.fixture(params=["directory", pytest.param("s3", marks=[pytest.mark.processes, pytest.mark.long])], autouse=True)
def store(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> str:
    changes: dict[str, Any] = {"IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 0}
    if request.param == "s3":
        server: S3Server = request.getfixturevalue("s3_server")
        changes |= server.settings(f"{uuid.uuid4()}/")
    settings.KILONOVA = {**settings.KILONOVA, **changes}
    return str(request.param)


@cache
def empty_disk(virtual: int) -> bytes:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "disk"
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", path, str(virtual)], check=True)
        return path.read_bytes()


def disk(size: int = 2 * PIECE_BYTES + 1000, virtual: int = 2**30) -> bytes:
    """An empty qcow2 disk, and noise behind it."""
    begin = empty_disk(virtual)
    return begin + os.urandom(max(0, size - len(begin)))


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def a_record(**fields: Any) -> Image:
    return Image.objects.create(name="snap", **fields)


def begin(image: Image, data: bytes) -> int:
    place = upload_begin(image_id=image.pk, size_bytes=len(data), sha256=digest(data))
    assert place.piece_bytes == PIECE_BYTES
    assert place.is_done == (Image.objects.get(pk=image.pk).status == "active")
    return place.offset


def send(image: Image, data: bytes, offset: int = 0, until: int | None = None) -> int:
    while offset < min(len(data), until or len(data)):
        offset = upload_piece(image_id=image.pk, offset=offset, data=data[offset : offset + PIECE_BYTES])
    return offset


def stored(image: Image) -> list[bool]:
    """Of each thing that lies in the store for the image: whether it is a part."""
    return [one.is_part for one in byte_store().stored(image.pk)]


def test_pieces_become_an_image_that_can_be_read() -> None:
    image, data = a_record(), disk()
    assert begin(image, data) == 0
    image.refresh_from_db()
    assert (image.status, image.size_bytes) == ("saving", len(data))
    assert send(image, data) == len(data)
    assert stored(image) == [True]
    upload_end(image_id=image.pk)
    image.refresh_from_db()
    facts = (image.status, image.checksum_sha256, image.size_bytes, image.virtual_size_bytes)
    assert facts == ("active", digest(data), len(data), 2**30)
    assert b"".join(image_chunks(image.pk)) == data
    assert stored(image) == [False]
    upload_end(image_id=image.pk)  # whose answer was lost
    assert begin(image, data) == len(data)


def test_upload_goes_on_where_it_was_cut() -> None:
    image, data = a_record(), disk()
    begin(image, data)
    send(image, data, until=PIECE_BYTES)
    assert begin(image, data) == PIECE_BYTES
    send(image, data, 0, until=PIECE_BYTES)  # the same piece once more
    assert begin(image, data) == PIECE_BYTES
    send(image, data, PIECE_BYTES)
    row = _now(image)
    assert row.upload_id is not None
    byte_store().part_open(BytesName(image.pk, row.upload_id), row.upload_part).publish(len(data))
    assert begin(image, data) == len(data)  # cut after it was published, before the row says so
    upload_end(image_id=image.pk)
    assert b"".join(image_chunks(image.pk)) == data


def _now(image: Image) -> Image:
    return Image.objects.get(pk=image.pk)


def test_other_bytes_begin_anew_and_leave_nothing_of_the_first() -> None:
    image, first, second = a_record(), disk(), disk()
    begin(image, first)
    send(image, first, until=PIECE_BYTES)
    assert begin(image, second) == 0
    assert len(stored(image)) == 1
    send(image, second)
    upload_end(image_id=image.pk)
    assert b"".join(image_chunks(image.pk)) == second
    with pytest.raises(Invalid, match="has its data already"):
        begin(image, first)


def test_what_is_not_what_was_announced_is_refused_and_can_be_sent_again() -> None:
    image, data = a_record(), disk(PIECE_BYTES + 10)
    begin(image, data)
    send(image, data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(Invalid, match="not those that were announced"):
        upload_end(image_id=image.pk)
    assert (_now(image).status, stored(image)) == ("queued", [])
    assert begin(image, data) == 0
    send(image, data)
    upload_end(image_id=image.pk)
    assert _now(image).status == "active"


def test_bytes_that_are_no_disk_of_the_format_kill_the_image() -> None:
    image, data = a_record(), b"no disk" * 100
    begin(image, data)
    send(image, data)
    with pytest.raises(Invalid, match="not qcow2"):
        upload_end(image_id=image.pk)
    assert (_now(image).status, stored(image)) == ("killed", [])


def test_disk_that_was_cut_off_before_it_was_sent_kills_the_image() -> None:
    image, whole = a_record(), converted(os.urandom(2**21), "qcow2")
    cut = whole[: len(whole) // 2]
    begin(image, cut)
    send(image, cut)
    with pytest.raises(Invalid, match="Was it cut off"):
        upload_end(image_id=image.pk)
    assert (_now(image).status, stored(image)) == ("killed", [])


def test_disk_that_is_larger_than_any_may_be_kills_the_image(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_MAX_VIRTUAL_BYTES": 2**31}
    image, data = a_record(), disk(PIECE_BYTES, virtual=2**40)
    send(image, data, begin(image, data))
    with pytest.raises(Invalid, match="holds a disk of 1099511627776 bytes"):
        upload_end(image_id=image.pk)
    image.refresh_from_db()
    assert (image.status, image.size_bytes) == ("killed", 0)


def test_pieces_that_do_not_fit_are_refused() -> None:
    image, data = a_record(), disk()
    begin(image, data)
    piece = data[:PIECE_BYTES]
    for offset, sent in ((1, piece), (0, b""), (0, piece[:-1]), (2 * PIECE_BYTES, data[:1001])):
        with pytest.raises(Invalid, match="are no piece"):
            upload_piece(image_id=image.pk, offset=offset, data=sent)
    with pytest.raises(Invalid, match="bytes have come"):
        upload_end(image_id=image.pk)
    assert begin(image, data) == 0


def test_a_gap_is_never_taken_for_data() -> None:
    image, data = a_record(), disk()
    begin(image, data)
    with suppress(Invalid):  # S3 takes pieces in any order, and shows what is missing at the end
        upload_piece(image_id=image.pk, offset=PIECE_BYTES, data=data[PIECE_BYTES : 2 * PIECE_BYTES])
    with pytest.raises(Invalid, match="bytes have come"):
        upload_end(image_id=image.pk)
    assert begin(image, data) == 0


def test_image_that_is_deleted_takes_no_piece_and_leaves_none(
    django_capture_on_commit_callbacks: Any,
) -> None:
    image, data = a_record(), disk()
    begin(image, data)
    send(image, data, until=PIECE_BYTES)
    with django_capture_on_commit_callbacks(execute=True):
        image_delete(caller=None, image_id=image.pk)
    assert stored(image) == []
    for call in (lambda: send(image, data), lambda: upload_end(image_id=image.pk), lambda: begin(image, data)):
        with pytest.raises(Invalid, match="was deleted"):
            call()


def test_what_is_too_large_for_store_or_quota_is_refused_before_a_byte_came(settings: Any) -> None:
    project = Project.objects.create(name="p", quota_image_bytes=1000)
    image, data = a_record(project=project), disk()
    with pytest.raises(QuotaExceeded):
        begin(image, data)
    assert (_now(image).status, stored(image)) == ("queued", [])
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_MAX_BYTES": 1000}
    with pytest.raises(TooLarge):
        begin(image, data)
    with pytest.raises(TooLarge):
        upload_begin(image_id=image.pk, size_bytes=0, sha256="0" * 64)
    with pytest.raises(Invalid, match="SHA-256"):
        upload_begin(image_id=image.pk, size_bytes=1, sha256="x")


def test_abandoned_pieces_are_removed_after_a_while(settings: Any) -> None:
    image, data = a_record(), disk()
    begin(image, data)
    send(image, data, until=PIECE_BYTES)
    assert image_files_sweep() == 0
    settings.KILONOVA = {**settings.KILONOVA, "UPLOAD_STALE_S": 1.0}
    time.sleep(2.1)
    assert image_files_sweep() == 1
    assert (_now(image).status, stored(image)) == ("queued", [])
    assert begin(image, data) == 0


def test_who_asks_again_while_it_is_read_waits_for_that(store: str) -> None:
    image, data = a_record(), disk(1000)
    begin(image, data)
    send(image, data)
    upload_id = _now(image).upload_id
    assert upload_id is not None
    is_read, may_end = threading.Event(), threading.Event()

    def reader() -> None:
        with pieces._alone(upload_id):
            is_read.set()
            may_end.wait(PATIENCE_S)

    thread = threading.Thread(target=reader)
    thread.start()
    assert is_read.wait(PATIENCE_S)
    with pytest.raises(Throttled) as refused:
        upload_end(image_id=image.pk)
    assert refused.value.extra["wait_s"] > 0
    may_end.set()
    thread.join()
    upload_end(image_id=image.pk)
    assert _now(image).status == "active"
