"""What every place for image bytes does alike: a directory, and an S3-compatible store that runs here."""

import io
import logging
import os
import time
import uuid
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controlplane.kernel.errors import Conflict, Unavailable
from servers.images.stores.chosen import store_named
from servers.images.stores.directory import DirectoryStore
from servers.images.stores.s3 import S3Store
from servers.images.stores.s3_client import S3Place
from servers.images.stores.store import MARKER, TRASH, BytesName, ByteStore, beginning_of
from servers.models import ImageStore
from tests.fixtures.s3_server import S3Server

pytestmark = pytest.mark.django_db
SECRET = S3Server.secret_access_key


def s3_store(server: S3Server, prefix: str) -> S3Store:
    place = S3Place(
        bucket=server.bucket, endpoint=server.url(), region="tests", prefix=prefix,
        access_key_id=server.access_key_id, secret_access_key=server.secret_access_key,
    )  # fmt: skip
    return S3Store(place, 2**30)


@pytest.fixture(params=["directory", pytest.param("s3", marks=[pytest.mark.processes, pytest.mark.long])])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ByteStore:
    if request.param == "directory":
        made: ByteStore = DirectoryStore(tmp_path / "images")
    else:
        made = s3_store(request.getfixturevalue("s3_server"), f"{uuid.uuid4()}/")
    made.claim()
    return made


def a_name() -> BytesName:
    return BytesName(uuid.uuid4(), uuid.uuid4())


def put(store: ByteStore, name: BytesName, data: bytes) -> None:
    with closing(store.begin(name)) as incoming:
        for at in range(0, len(data), 1_000_003):
            incoming.write(data[at : at + 1_000_003])
        incoming.publish()


def listed(store: ByteStore) -> list[tuple[BytesName, bool]]:
    return sorted(((one.name, one.is_part) for one in store.stored()), key=str)


def test_bytes_come_back_whole_and_from_every_offset(store: ByteStore) -> None:
    # Two pieces of a multipart upload, and a bit.
    name, data = a_name(), os.urandom(17_000_001)
    put(store, name, data)
    for offset in (0, 1, 1_048_576, 16_777_216, len(data) - 1, len(data), len(data) + 5):
        with store.open(name, offset=offset) as found:
            assert found.size_bytes == max(0, len(data) - offset)
            assert b"".join(found) == data[offset:]
    for offset, size in ((0, 104), (16_777_215, 2), (len(data) - 1, 5), (len(data), 5)):
        assert store.read_at(name, offset, size) == data[offset : offset + size]
    assert store.size(name) == len(data)
    assert listed(store) == [(name, False)]


def test_beginning_of_bytes_is_not_sent_by_the_kernel_which_would_send_them_all(store: ByteStore) -> None:
    name, data = a_name(), os.urandom(3_000_000)
    put(store, name, data)
    closed: list[int] = []
    whole = store.open(name, offset=10)
    whole.when_closed(lambda: closed.append(1))
    begun = beginning_of(whole, 2_000_000)
    with pytest.raises(io.UnsupportedOperation):
        begun.fileno()
    assert (begun.size_bytes, b"".join(begun)) == (2_000_000, data[10:2_000_010])
    assert closed == [1]
    with store.open(name, offset=2_999_990) as end:
        assert beginning_of(end, 11) is end


def test_bytes_are_seen_when_they_are_published_and_not_before(store: ByteStore) -> None:
    name = a_name()
    with closing(store.begin(name)) as incoming:
        incoming.write(b"x" * 9_000_000)
        assert store.size(name) is None
        with pytest.raises(Unavailable):
            store.open(name)
        assert listed(store) == [(name, True)]
        incoming.publish()
    assert listed(store) == [(name, False)]


def test_what_is_not_published_leaves_nothing(store: ByteStore) -> None:
    with closing(store.begin(a_name())) as incoming:
        incoming.write(b"x" * 9_000_000)
    incoming.close()
    assert listed(store) == []


def test_part_that_somebody_removed_is_a_conflict(store: ByteStore) -> None:
    name = a_name()
    with closing(store.begin(name)) as incoming:
        incoming.write(b"x")
        for part in store.stored(name.image_id):
            store.remove(part)
        with pytest.raises(Conflict, match="was removed"):
            incoming.publish()
    assert store.size(name) is None


def test_two_writers_of_one_name_do_not_mix(store: ByteStore) -> None:
    name = a_name()
    with closing(store.begin(name)) as first, closing(store.begin(name)) as second:
        first.write(b"first" * 2_000_000)
        second.write(b"second" * 2_000_000)
        second.publish()
        first.publish()
    with store.open(name) as found:
        assert b"".join(found) == b"first" * 2_000_000
    assert listed(store) == [(name, False)]


def test_listing_can_be_of_one_image_and_removing_twice_is_nothing(store: ByteStore) -> None:
    one, other = a_name(), a_name()
    for name in (one, other):
        put(store, name, b"data")
    (found,) = store.stored(one.image_id)
    assert found.name == one
    assert abs(found.modified_at_s - time.time()) < 60
    store.remove(found)
    store.remove(found)
    assert listed(store) == [(other, False)]


def test_removed_part_may_be_removed_again(store: ByteStore) -> None:
    with closing(store.begin(a_name())) as incoming:
        incoming.write(b"x" * 9_000_000)
        (part,) = store.stored()
        assert part.is_part
        store.remove(part)
        store.remove(part)
        assert listed(store) == []


def test_trash_is_not_listed_and_keeps_the_bytes(store: ByteStore) -> None:
    name, data = a_name(), os.urandom(6_000_000)
    put(store, name, data)
    (found,) = store.stored()
    store.to_trash(found)
    store.to_trash(found)
    assert listed(store) == []
    assert store.size(name) is None
    assert _trashed(store, name) == data


def _trashed(store: ByteStore, name: BytesName) -> bytes:
    if isinstance(store, DirectoryStore):
        return (store.directory / TRASH / str(name)).read_bytes()
    assert isinstance(store, S3Store)
    below = replace(store, where=replace(store.where, prefix=f"{store.where.prefix}{TRASH}/"))
    with below.open(name) as found:
        return b"".join(found)


def test_place_is_claimed_once_and_belongs_to_one_installation(store: ByteStore) -> None:
    store.claim()
    assert store.is_ours()
    ImageStore.objects.update(marker=uuid.uuid4())
    assert not store.is_ours()
    with pytest.raises(Unavailable, match="belongs to another installation"):
        store.claim()
    assert listed(store) == []


def test_place_that_nobody_claimed_is_not_ours(store: ByteStore, tmp_path: Path) -> None:
    other: ByteStore = DirectoryStore(tmp_path / "other")
    if isinstance(store, S3Store):
        other = replace(store, where=replace(store.where, prefix=f"{uuid.uuid4()}/"))
    assert not other.is_ours()
    assert list(other.stored()) == []


def test_closing_is_told_once(store: ByteStore) -> None:
    name, told = a_name(), []
    put(store, name, b"data")
    found = store.open(name)
    found.when_closed(lambda: told.append("closed"))
    assert (b"".join(found), told) == (b"data", ["closed"])
    found.close()
    assert told == ["closed"]


@pytest.mark.processes
@pytest.mark.long
def test_objects_of_others_are_not_listed(s3_server: S3Server) -> None:
    store = s3_store(s3_server, f"{uuid.uuid4()}/")
    store.claim()
    client = s3_server.client()
    for key in ("golden.qcow2", f"{uuid.uuid4()}", f"deeper/{a_name()}", MARKER):
        client.put_object(Bucket=s3_server.bucket, Key=f"{store.where.prefix}{key}", Body=b"theirs")
    assert listed(store) == []


def _refused(s3_server: S3Server, what: str) -> S3Store:
    place = s3_store(s3_server, "x/").where
    changes = {
        "nobody there": {"endpoint": "http://127.0.0.1:1"},
        "no bucket": {"bucket": "no-such-bucket"},
        "wrong key": {"access_key_id": "nobody"},
        "wrong secret": {"secret_access_key": "not " + SECRET},
    }
    return S3Store(replace(place, **changes[what]), 2**30)


@pytest.mark.processes
@pytest.mark.parametrize("what", ["nobody there", "no bucket", "wrong key", "wrong secret"])
def test_store_that_refuses_or_is_away_is_unavailable_and_no_secret_is_logged(
    s3_server: S3Server, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    store, name = _refused(s3_server, what), a_name()
    caplog.set_level(logging.DEBUG, "servers")
    for act in (store.claim, store.is_ours, lambda: store.begin(name), lambda: store.open(name), store_listed(store)):
        with pytest.raises(Unavailable, match=r"The image store (refused|does not answer)") as refused:
            act()
        assert SECRET not in str(refused.value)
    warnings = [record.getMessage() for record in caplog.records if record.name == "servers.images.stores.s3_client"]
    assert len(warnings) == 5
    assert not [text for text in warnings if SECRET in text or s3_server.access_key_id in text]
    assert SECRET not in repr(store)


def store_listed(store: ByteStore) -> Any:
    return lambda: list(store.stored())


@pytest.mark.processes
def test_settings_name_the_store(s3_server: S3Server, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, **s3_server.settings(f"{uuid.uuid4()}/")}
    store, name = store_named("s3"), a_name()
    store.claim()
    put(store, name, b"data")
    assert store.size(name) == 4
