"""Images between the two stores: copied once, verified, removed only when asked for. Both are real."""

import hashlib
import io
import os
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, Unavailable
from servers.images.services.image import image_create, image_deactivate
from servers.images.services.image_move import MoveStep, images_move
from servers.images.services.image_store import image_chunks, image_upload
from servers.images.services.pieces import pieces_begin, pieces_end, pieces_take
from servers.images.stores.chosen import byte_store, store_named
from servers.images.stores.store import MARKER
from servers.models import Image
from servers.volumes.backups.incoming import IncomingBackup
from servers.volumes.backups.reading import backup_chunks
from servers.volumes.domain.states import BackupState
from tests.fixtures.s3_server import S3Server
from tests.worlds.volumes import backup_row, volume_row

pytestmark = [pytest.mark.django_db, pytest.mark.processes, pytest.mark.long]


@pytest.fixture(autouse=True)
def two_stores(settings: Any, tmp_path: Path, s3_server: S3Server) -> Any:
    """Images are in the directory; the S3 store is set up and empty."""
    names = {**s3_server.settings(f"{uuid.uuid4()}/"), "IMAGE_STORE": "directory", "IMAGE_DIR": tmp_path / "images"}
    settings.KILONOVA = {**settings.KILONOVA, **names}
    return settings


def use(settings: Any, store: str) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_STORE": store}


def uploaded(data: bytes) -> Image:
    made = image_create(caller=None, name="i", visibility="public", disk_format="raw")
    return image_upload(caller=None, image_id=made.pk, stream=io.BytesIO(data))


def steps(**options: Any) -> list[MoveStep]:
    return [moved.step for moved in images_move(source="directory", target="s3", **options)]


def test_images_are_copied_once_and_served_from_there(two_stores: Any) -> None:
    first, second = os.urandom(9_000_000), os.urandom(10)
    images = [uploaded(first), uploaded(second)]
    image_deactivate(image_id=images[1].pk)
    image_create(caller=None, name="without data")
    assert steps() == [MoveStep.COPIED, MoveStep.COPIED]
    use(two_stores, "s3")
    assert [b"".join(image_chunks(image.pk)) for image in images] == [first, second]
    third = uploaded(b"third")
    assert b"".join(image_chunks(third.pk)) == b"third"
    assert [moved.step for moved in images_move(source="s3", target="directory")] == [
        MoveStep.THERE,
        MoveStep.THERE,
        MoveStep.COPIED,
    ]
    assert steps(verify=True) == [MoveStep.VERIFIED] * 3


def test_bytes_that_rotted_are_not_taken_over_and_the_others_are(two_stores: Any, tmp_path: Path) -> None:
    bad, good = uploaded(b"bad" * 1000), uploaded(b"good" * 1000)
    (tmp_path / "images" / f"{bad.pk}.{bad.upload_id}").write_bytes(b"rot" * 1000)
    moved = list(images_move(source="directory", target="s3"))
    assert [one.step for one in moved] == [MoveStep.FAILED, MoveStep.COPIED]
    assert "as it was read from where it is" in moved[0].reason
    assert [one.name.image_id for one in store_named("s3").stored()] == [good.pk]


def test_bytes_that_rotted_on_the_other_side_are_found_and_nothing_is_removed(two_stores: Any, tmp_path: Path) -> None:
    image = uploaded(b"good" * 1000)
    list(images_move(source="directory", target="s3"))
    use(two_stores, "s3")
    (tmp_path / "images" / f"{image.pk}.{image.upload_id}").write_bytes(b"rots" * 1000)
    use(two_stores, "directory")
    (moved,) = images_move(source="s3", target="directory", remove=True)
    assert (moved.step, "as it was read back" in moved.reason) == (MoveStep.FAILED, True)
    assert store_named("s3").size(next(iter(store_named("s3").stored())).name) == 4000


def test_source_is_emptied_when_asked_and_only_after_the_switch(two_stores: Any, tmp_path: Path) -> None:
    image = uploaded(b"data")
    with pytest.raises(Conflict, match="images are served from there"):
        steps(remove=True)
    use(two_stores, "s3")
    assert steps(remove=True) == [MoveStep.REMOVED]
    assert [path.name for path in (tmp_path / "images").iterdir()] == [MARKER]
    assert b"".join(image_chunks(image.pk)) == b"data"
    (moved,) = images_move(source="directory", target="s3", remove=True)
    assert moved.step is MoveStep.REMOVED  # once more is nothing more


def test_command_tells_each_image_and_fails_when_one_does(two_stores: Any, tmp_path: Path) -> None:
    image, out = uploaded(b"data"), io.StringIO()
    call_command("images_move", "--to", "s3", stdout=out)
    assert f"{image.pk} i (0.0 MiB): copied\n1 images are in the store s3." in out.getvalue()
    lost = uploaded(b"lost")
    (tmp_path / "images" / f"{lost.pk}.{lost.upload_id}").unlink()
    with pytest.raises(CommandError, match="1 of 2 images failed"):
        call_command("images_move", "--to", "s3", stdout=out)
    assert f"{lost.pk} i (0.0 MiB): failed: The file of image" in out.getvalue()


def test_store_that_is_not_set_up_is_named(two_stores: Any) -> None:
    two_stores.KILONOVA = {**two_stores.KILONOVA, "IMAGE_S3_BUCKET": ""}
    with pytest.raises(Unavailable, match="IMAGE_S3_BUCKET is not set"):
        steps()
    with pytest.raises(CommandError, match="IMAGE_S3_BUCKET is not set"):
        call_command("images_move", "--to", "s3")


def test_backups_of_volumes_move_too(two_stores: Any) -> None:
    data = os.urandom(100_000)
    volume = volume_row(Project.objects.create(name="p"))
    backup = backup_row(volume, state=BackupState.CREATING, has_bytes=False)
    incoming, sha256 = IncomingBackup(backup.pk), hashlib.sha256(data).hexdigest()
    pieces_begin(byte_store(), incoming, size_bytes=len(data), sha256=sha256)
    pieces_take(byte_store(), incoming, offset=0, data=data)
    assert steps() == []
    pieces_end(byte_store(), incoming)
    assert steps(verify=True) == [MoveStep.VERIFIED]
    use(two_stores, "s3")
    assert b"".join(backup_chunks(backup.pk)) == data
