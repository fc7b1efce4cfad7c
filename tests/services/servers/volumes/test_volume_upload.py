"""Volumes become images: by an agent, whole, and nothing of what did not end."""

from pathlib import Path
from typing import Any

import pytest

from computeagent.protocol.volumes import VolumeSourceKind
from controlplane.identity.models import Project
from controlplane.infra.db import now_plus
from controlplane.kernel.errors import Forbidden, InvalidFields, NotFound, QuotaExceeded, Unavailable
from controlplane.work.models import Work
from servers.images.services.image_store import image_chunks, image_delete
from servers.images.stores.chosen import byte_store
from servers.models import Image, Volume
from servers.volumes.domain.errors import InvalidVolume
from servers.volumes.domain.states import VolumeState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.services.uploads import volume_upload
from servers.volumes.services.volumes import volume_create, volume_reset_state
from tests.services.servers.volumes.test_backups_by_agents import FULL, Backed

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def backed(tmp_path: Path, settings: Any) -> Backed:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 0}
    return Backed(tmp_path)


def upload(backed: Backed, name: str = "golden", caller: Any = None) -> Image:
    return volume_upload(caller=caller or backed.who.member, volume_id=backed.volume.pk, name=name).image


def state(backed: Backed) -> tuple[str, str]:
    row = Volume.objects.get(pk=backed.volume.pk)
    return row.state, row.fault


def left(tmp_path: Path) -> list[Path]:
    return list(tmp_path.rglob("volume-uploads/*"))


def test_volume_becomes_an_image_of_which_others_are_made(backed: Backed, tmp_path: Path) -> None:
    backed.write(FULL)
    Volume.objects.update(image={"min_ram_mib": 64, "properties": {"hw_disk_bus": "sata", "img_signature": "x"}})
    image = upload(backed)
    assert (image.status, image.min_disk_gib, image.min_ram_mib) == ("queued", 1, 64)
    assert image.properties == {"hw_disk_bus": "sata"}
    assert state(backed) == ("uploading", "")
    backed.work()
    image.refresh_from_db()
    assert (image.status, image.disk_format, image.virtual_size_bytes) == ("active", "qcow2", 2**30)
    assert image.size_bytes < 2**22  # holes stay holes
    assert state(backed) == ("available", "")
    assert left(tmp_path) == []
    request = VolumeRequest(source_kind=VolumeSourceKind.IMAGE, source_id=image.pk)
    again = volume_create(caller=backed.who.member, request=request)
    backed.work()
    again.refresh_from_db()
    assert (again.state, again.size_gib, again.is_bootable) == ("available", 1, True)
    stored = b"".join(image_chunks(image.pk))
    assert FULL[0][1] in stored
    assert FULL[1][1] in stored


def test_image_that_is_deleted_meanwhile_ends_it(backed: Backed, tmp_path: Path) -> None:
    image = upload(backed)
    image_delete(caller=backed.who.member, image_id=image.pk)
    backed.work()
    assert state(backed)[0] == "available"
    assert "deleted, or another upload" in state(backed)[1] or "could not do it" in state(backed)[1]
    assert (left(tmp_path), list(byte_store().stored(image.pk))) == ([], [])


def test_pool_that_cannot_be_read_leaves_no_image(backed: Backed, tmp_path: Path) -> None:
    image = upload(backed)
    backed.pool.faults["read"] = "the disk is broken"
    backed.work()
    assert state(backed)[0] == "available"
    assert "could not do it" in state(backed)[1]
    assert (Image.objects.get(pk=image.pk).status, left(tmp_path)) == ("deleted", [])


@pytest.mark.long  # half a minute of patience with the control plane
def test_cut_off_at_its_end_it_is_whole_all_the_same(backed: Backed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The image has its bytes, and the host is killed before it says so."""
    image, conductor = upload(backed), type(backed.hands.conductor)
    said = conductor.volume_done

    def cut(*_: Any, **__: Any) -> None:
        raise Unavailable("cut off")

    monkeypatch.setattr(conductor, "volume_done", cut)
    backed.hands.do_volumes()
    assert (Image.objects.get(pk=image.pk).status, state(backed)) == ("active", ("uploading", ""))
    monkeypatch.setattr(conductor, "volume_done", said)
    Work.objects.filter(subject=backed.volume.pk).update(lease_until=now_plus(-1))
    backed.work()
    assert (Image.objects.get(pk=image.pk).status, state(backed)) == ("active", ("available", ""))


def test_given_up_by_an_administrator_no_image_stays(backed: Backed) -> None:
    image = upload(backed)
    volume_reset_state(volume_id=backed.volume.pk, state=VolumeState.AVAILABLE)
    assert Image.objects.get(pk=image.pk).status == "deleted"
    backed.work()
    assert state(backed) == ("available", "")


def test_what_cannot_be_is_refused_and_leaves_nothing(backed: Backed) -> None:
    for caller, refusal in ((backed.who.reader, Forbidden), (backed.who.stranger, NotFound)):
        with pytest.raises(refusal):
            upload(backed, caller=caller)
    with pytest.raises(InvalidFields):
        upload(backed, name="")
    for fields, words in (
        ({"state": "in-use"}, "make a snapshot of it"),
        ({"state": "error"}, "must be available"),
        ({"state": "available", "is_encrypted": True}, "is encrypted"),
    ):
        Volume.objects.update(**fields)
        with pytest.raises(InvalidVolume, match=words):
            upload(backed)
    Volume.objects.update(is_encrypted=False)
    Project.objects.filter(pk=backed.who.member.project_id).update(quota_images=0)
    with pytest.raises(QuotaExceeded):
        upload(backed)
    assert not Image.objects.filter(name="golden").exists()
