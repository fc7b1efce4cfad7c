"""Bytes of images at the Image API: upload, download, ranges, hashes."""

import hashlib
from typing import Any

import pytest

from servers.images.downloads import user_downloads
from servers.models import Image
from tests.worlds.image_api import OCTETS, ImagePeople, message

DATA = bytes(range(256)) * 20
MD5 = hashlib.md5(DATA, usedforsecurity=False).hexdigest()


@pytest.fixture
def sent(world: ImagePeople) -> str:
    """The id of an image that has DATA."""
    made: str = world.member.make()["id"]
    answer = world.member.send(made, DATA)
    assert (answer.status_code, answer.content) == (204, b"")
    return made


def body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content)


def test_image_is_active_with_its_hash_once_it_was_sent(world: ImagePeople, sent: str) -> None:
    shown = world.reader.get(f"/v2/images/{sent}").json()
    digest = hashlib.sha256(DATA).hexdigest()
    assert (shown["status"], shown["size"], shown["virtual_size"]) == ("active", len(DATA), len(DATA))
    assert (shown["checksum"], shown["os_hash_algo"], shown["os_hash_value"]) == (MD5, "sha256", digest)
    assert world.reader.names(f"?checksum={MD5}") == ["i"]
    assert "data already" in message(world.member.send(sent, DATA), 409)


def test_bytes_come_back_whole(world: ImagePeople, sent: str) -> None:
    answer = world.reader.get(f"/v2/images/{sent}/file", Accept="*/*")
    assert (answer.status_code, answer["Content-Type"], answer["Content-Length"]) == (200, OCTETS, str(len(DATA)))
    assert answer["Content-MD5"] == MD5
    assert body(answer) == DATA
    answer.close()
    assert user_downloads().taken() == 0


@pytest.mark.parametrize(
    ("asked", "first", "end"),
    [
        ("bytes=0-99", 0, 100),
        ("bytes=100-100", 100, 101),
        ("bytes=5000-", 5000, 5120),
        ("bytes=-20", 5100, 5120),
        ("bytes=-9999", 0, 5120),
        ("bytes=5000-99999", 5000, 5120),
        ("bytes=0-", 0, 5120),
    ],
)
def test_a_range_of_them(world: ImagePeople, sent: str, asked: str, first: int, end: int) -> None:
    answer = world.reader.get(f"/v2/images/{sent}/file", Range=asked)
    assert (answer.status_code, answer["Content-Length"]) == (206, str(end - first))
    assert answer["Content-Range"] == f"bytes {first}-{end - 1}/5120"
    assert body(answer) == DATA[first:end]
    answer.close()
    assert user_downloads().taken() == 0


@pytest.mark.parametrize(
    "asked", ["bytes=5120-", "bytes=9-3", "bytes=-0", "bytes=0-1,5-6", "lines=1-2", "bytes=-", "x"]
)
def test_a_range_that_is_none_is_refused(world: ImagePeople, sent: str, asked: str) -> None:
    message(world.reader.get(f"/v2/images/{sent}/file", Range=asked), 416)
    assert user_downloads().taken() == 0


def test_image_without_bytes_has_nothing_to_download(world: ImagePeople) -> None:
    made = world.member.make()["id"]
    answer = world.reader.get(f"/v2/images/{made}/file")
    assert (answer.status_code, answer.content) == (204, b"")


def test_bytes_of_others_are_not_there(world: ImagePeople, sent: str) -> None:
    message(world.stranger.get(f"/v2/images/{sent}/file"), 404)
    queued = world.member.make()["id"]
    message(world.stranger.send(queued, DATA), 404)
    message(world.reader.send(queued, DATA), 403)
    world.member.patch(sent, {"op": "replace", "path": "/visibility", "value": "community"})
    assert body(world.stranger.get(f"/v2/images/{sent}/file")) == DATA


def test_deactivated_image_is_read_by_administrators_only(world: ImagePeople, sent: str) -> None:
    world.admin.call("POST", f"/v2/images/{sent}/actions/deactivate")
    assert "deactivated" in message(world.member.get(f"/v2/images/{sent}/file"), 403)
    assert body(world.admin.get(f"/v2/images/{sent}/file")) == DATA


def test_what_is_no_image_is_refused_with_the_reason(world: ImagePeople, settings: Any) -> None:
    made = world.member.make(disk_format="qcow2")["id"]
    message(world.member.send(made, DATA), 400)
    assert world.member.get(f"/v2/images/{made}").json()["status"] == "killed"
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_MAX_BYTES": 10}
    raw = world.member.make()["id"]
    assert "10 are taken" in message(world.member.send(raw, DATA), 413)


def test_upload_wants_octets_and_the_only_store(world: ImagePeople) -> None:
    made = world.member.make()["id"]
    path = f"/v2/images/{made}/file"
    assert OCTETS in message(world.member.call("PUT", path, DATA, media_type="application/json"), 415)
    assert "no image store fast" in message(world.member.send(made, DATA, **{"X-Image-Meta-Store": "fast"}), 400)
    (store,) = world.reader.get("/v2/info/stores").json()["stores"]
    assert store["default"] == "true"
    assert world.member.send(made, DATA, **{"X-Image-Meta-Store": store["id"]}).status_code == 204


def test_announced_size_must_be_the_size(world: ImagePeople) -> None:
    made = world.member.make()["id"]
    assert "Content-Length" in message(world.member.send(made, DATA, **{"X-OpenStack-Image-Size": "1"}), 400)
    message(world.member.send(made, DATA, **{"X-OpenStack-Image-Size": "x"}), 400)
    assert Image.objects.get().status == "queued"
    assert world.member.send(made, DATA, **{"X-OpenStack-Image-Size": str(len(DATA))}).status_code == 204


def test_too_many_downloads_are_asked_to_come_again(world: ImagePeople, sent: str, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DOWNLOADS_EACH": 1}
    first = world.member.get(f"/v2/images/{sent}/file")
    assert "Ask again" in message(world.member.get(f"/v2/images/{sent}/file"), 429)
    first.close()
    assert body(world.member.get(f"/v2/images/{sent}/file")) == DATA


def test_store_that_cannot_be_used_is_a_503(world: ImagePeople, sent: str, store: Any) -> None:
    for file in store.glob(f"{sent}.*"):
        file.unlink()
    assert "cannot be read" in message(world.member.get(f"/v2/images/{sent}/file"), 503)
