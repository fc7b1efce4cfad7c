"""Backups and restores as agents do them: bytes go into the store and come out of it as they were."""

import errno
import hashlib
import os
import uuid
from pathlib import Path
from typing import Any

import pytest

from computeagent.protocol.volumes import PoolKind, VolumeSourceKind, VolumeSpec
from computeagent.volumes.file.backend import FileBackend
from computeagent.volumes.file.directory import PoolDirectory
from computeagent.volumes.memory import MemoryBackend
from servers.images.stores.chosen import byte_store
from servers.models import Volume, VolumeBackup, VolumeSnapshot
from servers.volumes.backups.removal import backups_round
from servers.volumes.domain.states import BackupState, VolumeState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.services.backups import BackupRequest, backup_create, backup_delete, backup_restore
from servers.volumes.services.volumes import volume_create
from tests.fixtures.s3_server import S3Server
from tests.worlds.agent_hands import Hands, people_and_image

pytestmark = pytest.mark.django_db(transaction=True)
FULL = [(0, b"first" * 1000), (70_000, b"second" * 100)]
CHANGE = [(0, b"third" * 1000), (90_000, b"fourth" * 10)]


@pytest.fixture(params=["directory", pytest.param("s3", marks=[pytest.mark.processes, pytest.mark.long])], autouse=True)
def store(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> None:
    # Nobody renews what is worked on here or says that the host lives, and a slow machine takes a while for 1 GiB.
    patient = {"LEASE_S": 900, "SERVICE_DOWN_TIME_S": 900}
    changes: dict[str, Any] = {"IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 0, **patient}
    if request.param == "s3":
        server: S3Server = request.getfixturevalue("s3_server")
        changes |= server.settings(f"{uuid.uuid4()}/")
    settings.KILONOVA = {**settings.KILONOVA, **changes}


class Backed:
    """A host with a pool, and a member of a project with a volume in it."""

    def __init__(self, tmp_path: Path) -> None:
        self.who = people_and_image()
        self.pool = MemoryBackend("local", tmp_path / "pool.json")
        self.hands = Hands("h1", tmp_path, pools=[self.pool])
        self.volume = volume_create(caller=self.who.member, request=VolumeRequest(size_gib=1, name="data"))
        self.work()

    def work(self) -> None:
        while self.hands.do_volumes():
            pass

    def write(self, parts: list[tuple[int, bytes]]) -> None:
        self.pool.write(self.spec(self.volume), iter(parts))

    def back_up(self, **fields: Any) -> VolumeBackup:
        row = backup_create(caller=self.who.member, request=BackupRequest(self.volume.pk, **fields))
        self.work()
        row.refresh_from_db()
        return row

    def restore(self, backup: VolumeBackup) -> Volume:
        request = VolumeRequest(source_kind=VolumeSourceKind.BACKUP, source_id=backup.pk)
        volume = volume_create(caller=self.who.member, request=request)
        self.work()
        volume.refresh_from_db()
        return volume

    def bytes_of(self, volume: Volume) -> list[tuple[int, bytes]]:
        moment = str(uuid.uuid4())
        self.pool.snapshot_create(self.spec(volume), moment, lambda *_: None)
        parts = sorted(self.pool.read(self.spec(volume), moment))
        self.pool.snapshot_delete(self.spec(volume), moment)
        return parts

    @staticmethod
    def spec(volume: Volume) -> VolumeSpec:
        return VolumeSpec(str(volume.pk), "local", PoolKind.FILE, volume.size_gib)


@pytest.fixture
def backed(tmp_path: Path) -> Backed:
    return Backed(tmp_path)


def test_a_chain_is_made_restored_and_removed(backed: Backed) -> None:
    backed.write(FULL)
    full = backed.back_up(keeps_snapshot=True)
    assert (full.state, full.fault) == (BackupState.AVAILABLE, "")
    before = backed.bytes_of(backed.volume)
    backed.write(CHANGE)
    increment = backed.back_up(is_incremental=True)
    assert increment.state == BackupState.AVAILABLE
    assert increment.parent_id == full.pk
    restored = backed.restore(increment)
    assert (restored.state, restored.fault) == (VolumeState.AVAILABLE, "")
    assert backed.bytes_of(restored) == backed.bytes_of(backed.volume)
    assert backed.bytes_of(backed.restore(full)) == before
    backup_restore(caller=backed.who.member, backup_id=full.pk, volume_id=restored.pk)
    backed.work()
    restored.refresh_from_db()
    assert restored.state == VolumeState.AVAILABLE
    assert backed.bytes_of(restored) == before  # nothing of what it had
    for row in (increment, full):
        backup_delete(caller=backed.who.member, backup_id=row.pk)
        backups_round()
        assert list(byte_store().stored(row.pk)) == []
    backed.work()
    assert not VolumeSnapshot.objects.exists()
    assert backed.pool.held()[1] == ()


class OnFiles(Backed):
    """The same with a pool of files, of which one reads what is in it and not what was written."""

    def __init__(self, tmp_path: Path) -> None:
        (tmp_path / "pool").mkdir()
        self.who = people_and_image()
        self.files = FileBackend("local", PoolDirectory(tmp_path / "pool", tmp_path / "marker"), is_shared=False)
        self.hands = Hands("h1", tmp_path, pools=[self.files])
        self.volume = volume_create(caller=self.who.member, request=VolumeRequest(size_gib=1, name="data"))
        self.work()

    def write(self, parts: list[tuple[int, bytes]]) -> None:
        self.files.write(self.spec(self.volume), iter(parts))

    def checksum(self, volume: Volume) -> str:
        """Of its bytes that are not zero, and where they are. Holes are not read: most of it is one."""
        found, block = hashlib.sha256(), 64 * 1024
        with Path(self.files.connect(self.spec(volume)).path).open("rb") as file:
            place = 0
            while (place := next_data(file.fileno(), place)) is not None:
                place -= place % block
                file.seek(place)
                if (data := file.read(block)) != bytes(len(data)):
                    found.update(f"{place}:".encode() + data)
                place += block
        return found.hexdigest()


def next_data(file: int, place: int) -> int | None:
    """Where the file has data from this place on."""
    try:
        return os.lseek(file, place, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return None


@pytest.mark.parametrize("store", ["directory"], indirect=True)
def test_increments_right_after_a_full_one_have_what_changed_and_no_more(tmp_path: Path) -> None:
    """As `backup create` and then `backup create --incremental` do: no snapshot is left between them."""
    backed, mib = OnFiles(tmp_path), 2**20
    backed.write([(0, b"a" * mib), (40 * mib + 5, b"b" * mib), (900 * mib, b"c" * mib)])
    full = backed.back_up()
    assert (full.state, full.fault) == (BackupState.AVAILABLE, "")
    assert not VolumeSnapshot.objects.exists()
    before = backed.checksum(backed.volume)
    backed.write([(10, b"new"), (40 * mib + 5, bytes(mib)), (500 * mib, b"d")])
    increment = backed.back_up(is_incremental=True)
    assert (increment.state, increment.fault, increment.parent_id) == (BackupState.AVAILABLE, "", full.pk)
    assert 2 * 256 * 1024 < increment.size_bytes < 5 * 256 * 1024
    moment = backed.checksum(backed.volume)
    backed.write([(2 * mib, b"last")])
    last = backed.back_up(is_incremental=True)
    assert last.size_bytes < 2 * 256 * 1024
    assert backed.checksum(backed.restore(full)) == before
    assert backed.checksum(backed.restore(increment)) == moment
    assert backed.checksum(backed.restore(last)) == backed.checksum(backed.volume)
    unchanged = backed.back_up(is_incremental=True)
    assert unchanged.size_bytes < 200


@pytest.mark.parametrize("store", ["directory"], indirect=True)
def test_a_damaged_base_is_named_and_nothing_rests_on_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    backed = OnFiles(tmp_path)
    backed.write(FULL)
    full = backed.back_up()
    (stored,) = list((tmp_path / "images").rglob(f"*{full.pk}*"))
    file = next(one for one in (stored, *stored.rglob("*")) if one.is_file())
    data = bytearray(file.read_bytes())
    data[100] ^= 1
    file.write_bytes(data)
    increment = backed.back_up(is_incremental=True)
    assert (increment.state, increment.has_bytes) == (BackupState.ERROR, False)
    assert "failed: record 0 of the backup does not match its checksum" in caplog.text


def test_killed_at_any_verb_it_is_made_whole_by_who_comes_next(backed: Backed) -> None:
    """Each verb of sending ends once as if its host had been killed there; another attempt finishes."""
    backed.write(FULL)
    verbs = ("upload_begin", "upload_piece", "upload_end", "volume_done")
    left = list(verbs)
    real = backed.hands.context.conductor

    class Killed(BaseException):
        pass

    class Cut:
        def __getattr__(self, name: str) -> Any:
            def call(**kwargs: Any) -> Any:
                answer = getattr(real, name)(**kwargs)
                if name in left and backup.pk and kwargs["lease"].work_context.kind == "volume_backup_create":
                    left.remove(name)
                    real.give_back(lease=kwargs["lease"], reason="a test") if name != "volume_done" else None
                    raise Killed
                return answer

            return call if name in {*verbs} else getattr(real, name)

    backup = backup_create(caller=backed.who.member, request=BackupRequest(backed.volume.pk))
    object.__setattr__(backed.hands.context, "conductor", Cut())
    for _ in range(12):
        try:
            backed.work()
            break
        except Killed:
            continue
    assert left == []
    backup.refresh_from_db()
    assert backup.state == BackupState.AVAILABLE
    assert len(list(byte_store().stored(backup.pk))) == 1
    assert backed.bytes_of(backed.restore(backup)) == backed.bytes_of(backed.volume)


def test_what_the_store_does_not_take_is_said(backed: Backed, settings: Any, tmp_path: Path) -> None:
    no_room = {"IMAGE_STORE": "directory", "IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 2**62}
    settings.KILONOVA = {**settings.KILONOVA, **no_room}
    backed.write(FULL)
    row = backed.back_up()
    assert row.state == BackupState.ERROR
    assert "no room" in row.fault
