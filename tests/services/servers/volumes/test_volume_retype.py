"""Volumes get another type: limits that count at once, and copies into another pool, cut off anywhere."""

from pathlib import Path
from typing import Any

import pytest

from computeagent.drivers.base import DriverError
from computeagent.protocol.volumes import VolumeWorkKind
from computeagent.volumes.memory import MemoryBackend
from controlplane.kernel.errors import Conflict, Invalid, NotFound
from controlplane.work.models import Work, WorkState
from controlplane.work.work import compute_queue
from placement.selectors.allocations import allocations_by_consumer
from servers.models import StoragePool, Volume, VolumeAttachment, VolumeSnapshot, VolumeType
from servers.repair.services.audit import audit_findings
from servers.volumes.domain.errors import InvalidVolume, NoValidBackend
from servers.volumes.domain.states import VolumeState
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.selectors.volume_specs import volume_spec, volume_spec_elsewhere
from servers.volumes.services.limits import limits_round
from servers.volumes.services.pool_edits import pool_delete
from servers.volumes.services.retype import volume_retype, volumes_leave_round
from servers.volumes.services.snapshots import SnapshotRequest, snapshot_create
from servers.volumes.services.types import volume_type_update
from servers.volumes.services.volumes import volume_create, volume_delete, volume_reset_state
from tests.services.servers.attachments.attached_cloud import Cloud
from tests.worlds.agent_hands import Hands, people_and_image
from tests.worlds.volumes import small_cloud, storage_pool, volume_made, work_of

pytestmark = pytest.mark.django_db(transaction=True)
BYTES = [(0, b"first" * 1000), (70_000, b"second" * 100)]


def type_of(name: str, **fields: Any) -> VolumeType:
    return VolumeType.objects.create(name=name, **fields)


class Pools:
    """A host with two pools, and a volume with data in the one called slow."""

    def __init__(self, path: Path) -> None:
        self.who = people_and_image()
        self.slow, self.fast = MemoryBackend("slow", path / "slow.json"), MemoryBackend("fast", path / "fast.json")
        self.hands = Hands("h1", path, pools=[self.slow, self.fast])
        type_of("slow", pools=["slow"])
        self.type = type_of("fast", pools=["fast"], qos={"total_iops": 500})
        self.volume = volume_create(caller=self.who.member, request=VolumeRequest(1, "data", volume_type="slow"))
        self.work()
        self.slow.write(volume_spec(self.row()), iter(BYTES))

    def work(self) -> None:
        while self.hands.do_volumes():
            pass

    def row(self) -> Volume:
        rows = Volume.objects.select_related("pool", "left_pool", "volume_type")
        return rows.get(pk=self.volume.pk)

    def retype(self, volume_type: str = "fast", caller: Any = None, **more: Any) -> Volume:
        return volume_retype(
            caller=caller or self.who.member, volume_id=self.volume.pk, volume_type=volume_type, **more
        )

    def claims(self) -> set[str]:
        held = allocations_by_consumer([self.volume.pk]).get(self.volume.pk, ())
        return {StoragePool.objects.get(pk=one.provider_uuid).name for one in held}

    def there(self) -> tuple[bool, bool]:
        """Whether slow and fast have it."""
        name = str(self.volume.pk)
        return name in self.slow.held()[0], name in self.fast.held()[0]

    def bytes_in_fast(self) -> list[tuple[int, bytes]]:
        pool = StoragePool.objects.get(name="fast")
        return sorted(self.fast.read(volume_spec_elsewhere(self.row(), pool), ""))


@pytest.fixture(autouse=True)
def images(tmp_path: Path, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}


@pytest.fixture
def pools(tmp_path: Path) -> Pools:
    return Pools(tmp_path)


def test_volume_is_copied_into_a_pool_of_its_new_type_and_leaves_its_own(pools: Pools) -> None:
    assert pools.retype(may_move=True).state == VolumeState.RETYPING
    assert pools.claims() == {"slow", "fast"}
    with pytest.raises(Conflict, match="retyping"):
        snapshot_create(caller=pools.who.member, request=SnapshotRequest(pools.volume.pk))
    assert pools.hands.do_volumes() == 1
    row = pools.row()
    assert (row.state, row.pool.name, row.left_pool.name, row.volume_type.name) == ("available", "fast", "slow", "fast")
    assert (row.qos, row.wanted_pool, row.wanted_type, row.fault) == ({"total_iops": 500}, None, None, "")
    assert pools.claims() == {"fast"}
    assert pools.bytes_in_fast() == BYTES
    with pytest.raises(InvalidVolume, match="bytes are being removed"):
        pools.retype("slow", may_move=True)
    with pytest.raises(Conflict, match="1 volumes"):
        pool_delete(pool_id=row.left_pool.pk)
    pools.work()
    assert (pools.row().left_pool, pools.there()) == (None, (False, True))
    assert [one.message for one in audit_findings()] == []
    pools.retype("slow", may_move=True)
    pools.work()
    assert pools.there() == (True, False)


def test_copy_that_fails_leaves_the_volume_as_it_was_and_nothing_in_the_other_pool(pools: Pools) -> None:
    pools.fast.faults["write"] = "the disk is full"
    pools.retype(may_move=True)
    assert pools.hands.do_volumes() == 1
    row = pools.row()
    assert (row.state, row.pool.name, row.volume_type.name, pools.claims()) == ("available", "slow", "slow", {"slow"})
    assert "could not do it" in row.fault
    assert pools.there() == (True, True)  # what was begun
    pools.work()
    assert (pools.there(), pools.row().left_pool) == ((True, False), None)
    pools.fast.faults.clear()
    pools.retype(may_move=True)
    pools.work()
    assert pools.bytes_in_fast() == BYTES


def test_cut_off_after_the_copy_it_is_made_again(pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    pools.retype(may_move=True)
    work = Work.objects.get(kind=VolumeWorkKind.VOLUME_RETYPE)
    order = pools.hands.conductor.volume_take(host="h1", work_id=str(work.pk), owner="h1:1", token="t")
    assert (order.volume.pool, order.target.pool, order.target.id) == ("slow", "fast", str(pools.volume.pk))
    Work.objects.filter(pk=work.pk).update(state=WorkState.WAITING, lease_until=None)  # that agent was killed
    pools.work()
    assert (pools.row().pool.name, pools.bytes_in_fast()) == ("fast", BYTES)


def test_given_up_by_an_administrator_it_is_where_it_was(pools: Pools) -> None:
    pools.retype(may_move=True)
    volume_reset_state(volume_id=pools.volume.pk, state=VolumeState.AVAILABLE)
    row = pools.row()
    assert (row.pool.name, row.left_pool.name, row.wanted_pool, pools.claims()) == ("slow", "fast", None, {"slow"})
    assert volumes_leave_round() == 1
    assert volumes_leave_round() == 0
    pools.work()
    assert pools.row().left_pool is None


def test_deleted_while_something_of_it_is_left_it_goes(pools: Pools) -> None:
    pools.retype(may_move=True)
    pools.hands.do_volumes()
    volume_delete(caller=pools.who.member, volume_id=pools.volume.pk)
    pools.work()
    assert not Volume.objects.exists()
    assert not Work.objects.filter(state__in=["waiting", "running"]).exists()


@pytest.mark.parametrize(
    ("given", "named", "more", "refusal", "words"),
    [
        ({}, "slow", {}, Invalid, "is of type slow already"),
        ({}, "fast", {}, Invalid, "say that it may be moved"),
        ({"state": "in-use"}, "fast", {"may_move": True}, InvalidVolume, "must be available to be copied"),
        ({"state": "error"}, "fast", {"may_move": True}, InvalidVolume, "is error"),
        ({"snapshots": 1}, "fast", {"may_move": True}, InvalidVolume, "1 snapshots, which stay"),
        ({}, "secret", {"may_move": True}, Invalid, "is not encrypted, and volumes of type secret are encrypted"),
        ({"state": "in-use"}, "several", {}, InvalidVolume, "must be available to be given to several"),
        ({}, "large", {}, Invalid, "at least 9"),
        ({}, "nowhere", {"may_move": True}, NoValidBackend, "is for volumes of other types"),
        ({}, "none", {}, NotFound, "none does not exist"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(
    pools: Pools, given: dict[str, Any], named: str, more: dict[str, Any], refusal: type[Exception], words: str
) -> None:
    type_of("secret", is_encrypted=True)
    type_of("several", is_multiattach=True)
    type_of("large", min_gib=9)
    type_of("nowhere", pools=["nowhere"])
    if "state" in given:
        Volume.objects.update(state=given["state"])
    for _ in range(given.get("snapshots", 0)):
        owner = pools.who.member
        VolumeSnapshot.objects.create(
            volume=pools.volume, project_id=owner.project_id, user_id=owner.user_id, size_gib=1, state="available"
        )
    with pytest.raises(refusal) as refused:
        pools.retype(named, **more)
    assert words in str(refused.value)
    assert pools.row().volume_type.name == "slow"


def test_readers_and_strangers_may_not(pools: Pools) -> None:
    with pytest.raises(NotFound):
        pools.retype(caller=pools.who.stranger)
    private = type_of("private", is_public=False)
    with pytest.raises(NotFound):
        pools.retype("private")
    assert pools.retype("private", caller=pools.who.admin).volume_type == private


@pytest.fixture
def cloud(tmp_path: Path) -> Cloud:
    return Cloud(tmp_path)


def limits_told(cloud: Cloud) -> list[int]:
    """What the host is told now of each guest whose limits changed."""
    told = []
    for work_id in cloud.h1.conductor.volume_work(host="h1"):
        order = cloud.h1.conductor.volume_take(host="h1", work_id=work_id, owner="h1:1", token="t")
        assert (order.kind, order.guest.uuid) == (VolumeWorkKind.VOLUME_LIMIT, str(cloud.vm.pk))
        told += [one.qos.total_iops for one in order.guest.volumes]
        Work.objects.filter(pk=work_id).update(state=WorkState.WAITING, lease_until=None)
    return told


def test_limits_of_a_new_type_count_for_a_guest_that_runs(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    type_of("fast", qos={"total_iops": 100}, qos_per_gib={"total_iops": 10})
    cloud.attached()
    volume_retype(caller=cloud.who.member, volume_id=cloud.volume.pk, volume_type="fast")
    assert cloud.states() == ("in-use", "attached", "")
    assert limits_told(cloud) == [110]
    asked: list[str] = []
    driver = type(cloud.h1.fake)
    monkeypatch.setattr(driver, "limit_volume", lambda _self, _guest, volume_id: asked.append(volume_id))
    assert cloud.h1.do_volumes() == 1
    assert asked == [str(cloud.volume.pk)]
    assert (limits_round(), VolumeAttachment.objects.get().limits_due) == (0, False)


def test_limits_of_a_type_that_changes_count_and_a_change_meanwhile_is_told_after_it(cloud: Cloud) -> None:
    fast = type_of("fast", qos={"total_iops": 100})
    Volume.objects.update(volume_type=fast, qos={"total_iops": 100})
    cloud.attached()
    volume_type_update(type_id=fast.pk, changes={"qos": {"total_iops": 200}})
    assert Volume.objects.get().qos == {"total_iops": 200}
    assert limits_told(cloud) == [200]
    volume_type_update(type_id=fast.pk, changes={"qos": {"total_iops": 300}})
    assert VolumeAttachment.objects.get().limits_due  # the host is at the change before
    assert limits_round() == 0
    cloud.h1.do_volumes()
    assert limits_round() == 1
    assert limits_told(cloud) == [300]
    volume_type_update(type_id=fast.pk, changes={"description": "quick"})
    assert not VolumeAttachment.objects.get().limits_due


def test_limits_that_a_host_could_not_set_are_tried_again_after_a_while(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_of("fast", qos={"total_iops": 100})
    cloud.attached()

    def refuse(*_: Any) -> None:
        raise DriverError("QEMU does not answer")

    monkeypatch.setattr(type(cloud.h1.fake), "limit_volume", refuse)
    volume_retype(caller=cloud.who.member, volume_id=cloud.volume.pk, volume_type="fast")
    cloud.h1.do_volumes()
    assert VolumeAttachment.objects.get().limits_due
    assert limits_round() == 0
    Work.objects.filter(kind=VolumeWorkKind.VOLUME_LIMIT).delete()  # as if the minute were over
    assert limits_round() == 1


def test_copy_is_made_by_the_host_with_the_least_work() -> None:
    people = small_cloud("h1", "h2", "h3")
    storage_pool("slow", "h1", "h2")
    storage_pool("fast", "h1", "h2", "h3")
    type_of("slow", pools=["slow"])
    type_of("fast", pools=["fast"])
    volume = volume_made(people.member, volume_type="slow")
    busy = volume_create(caller=people.member, request=VolumeRequest(1, "other", volume_type="slow"))
    assert work_of(busy.pk).queue == compute_queue("h1")
    volume_retype(caller=people.member, volume_id=volume.pk, volume_type="fast", may_move=True)
    assert work_of(volume.pk).queue == compute_queue("h2")
