"""Images in an S3-compatible store that several ask for at once: the store is read once, at everyone's own pace."""

import os
import resource
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from controlplane.kernel.errors import Unavailable
from servers.images.services.image_store import image_chunks
from servers.images.stores.chosen import byte_store
from servers.images.stores.shared_reads import AHEAD_BYTES, shared_reads
from servers.images.stores.store import BytesName, ImageBytes
from servers.models import Image
from tests.fixtures.s3_relay import S3Relay, s3_relay
from tests.fixtures.s3_server import S3Server

pytestmark = [pytest.mark.django_db, pytest.mark.processes]

MIB = 2**20
DATA = os.urandom(MIB) * 80
"""More than is read ahead."""
AGENTS = 4
NAMES = [BytesName(uuid.uuid4(), uuid.uuid4()) for _ in range(2)]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"


@pytest.fixture(scope="module")
def prefix(s3_server: S3Server) -> str:
    """Where the bytes of these images lie."""
    made = f"{uuid.uuid4()}/"
    for name in NAMES:
        s3_server.client().put_object(Bucket=s3_server.bucket, Key=f"{made}{name}", Body=DATA)
    return made


@pytest.fixture
def relay(settings: Any, s3_server: S3Server, prefix: str, scratch: Path) -> Iterator[S3Relay]:
    with s3_relay(s3_server) as made:
        more = {"IMAGE_S3_ENDPOINT": made.url, "IMAGE_SCRATCH_DIR": scratch}
        settings.KILONOVA = {**settings.KILONOVA, **s3_server.settings(prefix), **more}
        yield made


@pytest.fixture
def images(relay: S3Relay) -> list[Image]:
    facts = {"status": "active", "disk_format": "raw", "size_bytes": len(DATA)}
    return [Image.objects.create(pk=name.image_id, upload_id=name.upload_id, name=str(name), **facts) for name in NAMES]


@pytest.fixture
def image(images: list[Image]) -> Image:
    return images[0]


def rest(data: ImageBytes) -> bytes:
    with data:
        return b"".join(data)


def some(data: ImageBytes, size: int) -> bytes:
    """So many of its next bytes."""
    came = b""
    while len(came) < size:
        piece = data.read(min(MIB, size - len(came)))
        assert piece, "the bytes end here"
        came += piece
    return came


def at_once(data: list[ImageBytes]) -> list[bytes]:
    """What each gets, all at the same time."""
    with ThreadPoolExecutor(len(data)) as threads:
        return list(threads.map(rest, data))


def left_in(scratch: Path) -> list[str]:
    """Names; none of them outlives a process that is killed, since there are none."""
    return sorted(path.name for path in scratch.iterdir()) if scratch.exists() else []


def test_store_is_read_once_for_all_that_ask_at_once(image: Image, relay: S3Relay, scratch: Path) -> None:
    readers = [image_chunks(image.pk) for _ in range(AGENTS)]
    assert at_once(readers) == [DATA] * AGENTS
    assert relay.gets == [""]
    assert left_in(scratch) == []
    assert rest(image_chunks(image.pk, offset=len(DATA) - 5)) == DATA[-5:]
    assert len(relay.gets) == 2, "nothing is kept once nobody reads"


def test_slow_reader_holds_up_nobody_and_gets_all(image: Image, relay: S3Relay, scratch: Path) -> None:
    with closing(image_chunks(image.pk)) as slow:
        began = some(slow, MIB)
        assert rest(image_chunks(image.pk)) == DATA
        assert at_once([image_chunks(image.pk, offset=offset) for offset in (0, 7, 70 * MIB)]) == [
            DATA, DATA[7:], DATA[70 * MIB :]
        ]  # fmt: skip
        assert left_in(scratch) == []
        assert began + rest(slow) == DATA
    assert relay.gets == [""]


def test_what_nobody_takes_is_not_fetched(image: Image, relay: S3Relay) -> None:
    with closing(image_chunks(image.pk)) as slow:
        assert some(slow, MIB) == DATA[:MIB]
        # Whoever goes on from where the reading ahead ends is the one that moves it.
        with closing(image_chunks(image.pk, offset=AHEAD_BYTES)) as other:
            assert some(other, 1) == DATA[AHEAD_BYTES : AHEAD_BYTES + 1]
    assert relay.gets == [""]
    assert relay.sent_bytes < len(DATA)


def test_reader_that_goes_away_takes_nothing_with_it(image: Image, relay: S3Relay) -> None:
    first, second = image_chunks(image.pk), image_chunks(image.pk)
    some(first, 3 * MIB)
    began = some(second, MIB)
    first.close()
    assert began + rest(second) == DATA
    assert relay.gets == [""]


def test_who_goes_on_after_a_cut_shares_with_others_that_were_cut_near_to_it(image: Image, relay: S3Relay) -> None:
    offsets = [AHEAD_BYTES + 5 * MIB, AHEAD_BYTES + 1, AHEAD_BYTES + 31 * MIB]
    readers = [image_chunks(image.pk, offset=offset) for offset in offsets]
    assert [reader.size_bytes for reader in readers] == [len(DATA) - offset for offset in offsets]
    assert at_once(readers) == [DATA[offset:] for offset in offsets]
    assert relay.gets == [f"bytes={AHEAD_BYTES}-"]


def test_cut_between_here_and_the_store_is_gone_on_after_for_all(image: Image, relay: S3Relay) -> None:
    relay.cut_after = 30 * MIB
    assert at_once([image_chunks(image.pk) for _ in range(AGENTS)]) == [DATA] * AGENTS
    assert (len(relay.gets), relay.cuts) == (3, 2)
    assert relay.gets[0] == ""


def test_store_that_goes_away_ends_all_with_the_reason_and_lets_them_go_on_later(image: Image, relay: S3Relay) -> None:
    readers = [image_chunks(image.pk) for _ in range(2)]
    came = [some(reader, (2 + number) * MIB) for number, reader in enumerate(readers)]
    relay.cut_after = 0
    with ThreadPoolExecutor(2) as threads:
        came = [before + after for before, after in zip(came, threads.map(until_cut, readers), strict=True)]
    assert came == [DATA[: len(each)] for each in came]
    assert {len(each) < len(DATA) for each in came} == {True}
    with pytest.raises(Unavailable, match="The image store does not answer"):
        image_chunks(image.pk)
    relay.cut_after = -1
    relay.gets.clear()
    assert at_once([image_chunks(image.pk, offset=len(each)) for each in came]) == [DATA[len(each) :] for each in came]
    assert len(relay.gets) == 1


def until_cut(data: ImageBytes) -> bytes:
    """What comes before the store fails it."""
    came = b""
    with pytest.raises(Unavailable, match="The image store does not answer"), data:
        while piece := data.read(MIB):
            came += piece
    return came


@contextmanager
def files_end_at(size: int) -> Iterator[None]:
    """The kernel refuses to let any file of this process grow beyond it, as it refuses what a full disk cannot take."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_disk_that_is_full_in_the_middle_lets_each_read_on_alone(
    image: Image, relay: S3Relay, caplog: pytest.LogCaptureFixture
) -> None:
    with files_end_at(20 * MIB + 12345):
        assert at_once([image_chunks(image.pk) for _ in range(2)]) == [DATA] * 2
    assert (relay.gets[0], len(relay.gets)) == ("", 3)
    assert [each for each in caplog.messages if "keeps no more of an image" in each]


@pytest.mark.parametrize(
    "setting",
    [{"IMAGE_SHARED_BYTES": len(DATA) - 1}, {"IMAGE_SHARED_BYTES": 0}, {"IMAGE_RESERVE_BYTES": 2**60}],
    ids=["larger than may be kept", "nothing may be kept", "the reserve of free space"],
)
def test_image_without_room_is_read_by_each_alone(
    image: Image, relay: S3Relay, settings: Any, setting: dict[str, int]
) -> None:
    settings.KILONOVA = {**settings.KILONOVA, **setting}
    assert at_once([image_chunks(image.pk) for _ in range(2)]) == [DATA] * 2
    assert relay.gets == ["", ""]


def test_directory_that_cannot_be_made_is_no_reason_to_send_nothing(
    image: Image, relay: S3Relay, scratch: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scratch.write_text("in the way")
    assert rest(image_chunks(image.pk)) == DATA
    assert "IMAGE_SCRATCH_DIR keeps no image of S3: File exists" in caplog.messages


def test_room_is_given_back_and_what_is_kept_counts(images: list[Image], relay: S3Relay, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_SHARED_BYTES": len(DATA) + 1}
    image, other = images
    with closing(image_chunks(image.pk)), closing(image_chunks(other.pk)), closing(image_chunks(other.pk)):
        assert relay.gets == ["", "", ""]
    with closing(image_chunks(other.pk)), closing(image_chunks(other.pk)):
        assert relay.gets == ["", "", "", ""]


def test_bytes_that_are_not_there_are_missed_by_all_at_once(relay: S3Relay) -> None:
    with ThreadPoolExecutor(3) as threads:
        refusals = list(threads.map(refusal_of, [BytesName(uuid.uuid4(), uuid.uuid4())] * 3))
    assert [refusal.startswith("The image store refused (NoSuchKey)") for refusal in refusals] == [True] * 3


def refusal_of(name: BytesName) -> str:
    with pytest.raises(Unavailable) as refused:
        shared_reads().open(byte_store(), name, offset=0, size_bytes=len(DATA))
    return refused.value.message
