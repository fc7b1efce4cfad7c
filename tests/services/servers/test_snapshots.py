"""Snapshots and backups: the record of the image, what its host sends, rotation, and every way of not getting there."""

from pathlib import Path
from typing import Any

import pytest

from computeagent.agent.recovery import GUEST_STAYS, NEED_THEIR_GUEST, recover
from computeagent.drivers.base import DriverError
from computeagent.protocol.work import WorkKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import Conflict, Fenced, Forbidden, InvalidFields, NotFound, QuotaExceeded
from controlplane.work.models import Work
from servers.agent_api import conductor_connect
from servers.images.services.image_store import image_chunks, image_delete
from servers.images.stores.chosen import byte_store
from servers.instances.services.act import instance_act
from servers.instances.services.delete import instance_delete
from servers.models import Image, Instance, InstanceAction, InstanceActionEvent, InstanceFault
from servers.repair.services.task_heal import lost_tasks_heal
from servers.states import TaskState
from tests.worlds import cloud as world
from tests.worlds.agent_hands import Hands, built, people_and_image

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def store(settings: Any, tmp_path: Path) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 0}


@pytest.fixture
def who() -> world.People:
    return people_and_image()


@pytest.fixture
def hands(who: world.People, tmp_path: Path) -> Hands:
    return Hands("h1", tmp_path)


def snapshot(who: world.People, instance: Instance, name: str = "snap") -> Image:
    instance_act(caller=who.member, instance_id=instance.pk, action="snapshot", arguments={"name": name})
    return Image.objects.get(instance_uuid=instance.pk, name=name)


def backup(who: world.People, hands: Hands, instance: Instance, name: str, rotation: int, kind: str = "daily") -> None:
    arguments = {"name": name, "backup_type": kind, "rotation": str(rotation)}
    instance_act(caller=who.member, instance_id=instance.pk, action="backup", arguments=arguments)
    hands.do(WorkKind.BACKUP)


def states(instance: Instance) -> tuple[str, str, str]:
    instance.refresh_from_db()
    return instance.vm_state, instance.task_state, instance.power_state


def nothing_stored(image: Image) -> bool:
    return list(byte_store().stored(image.pk)) == []


def test_snapshot_becomes_an_image_that_a_new_instance_boots_from(who: world.People, hands: Hands) -> None:
    base = Image.objects.get()
    wanted = {"hw_disk_bus": "virtio", "img_signature": "x", "colour": "red"}
    Image.objects.filter(pk=base.pk).update(min_ram_mib=64, properties=wanted)
    instance = built(who.member, hands)
    image = snapshot(who, instance)
    assert (image.status, image.visibility, image.disk_format) == ("queued", "private", "qcow2")
    assert (image.project_id, image.min_disk_gib, image.min_ram_mib) == (who.member.project_id, 1, 64)
    assert image.properties == {
        "hw_disk_bus": "virtio",
        "colour": "red",
        "image_type": "snapshot",
        "instance_uuid": str(instance.pk),
        "base_image_ref": str(base.pk),
        "user_id": str(who.member.user_id),
    }
    assert states(instance) == ("active", "image_snapshot", "running")
    hands.do(WorkKind.SNAPSHOT)
    image.refresh_from_db()
    assert (image.status, image.virtual_size_bytes) == ("active", 2**30)
    assert states(instance) == ("active", "", "running")
    steps = InstanceActionEvent.objects.filter(action__action="snapshot").values_list("name", "result")
    assert dict(steps) == dict.fromkeys(
        ("image_snapshot_pending", "image_pending_upload", "image_uploading"), "success"
    )
    again = built(who.member, hands, name="again", image=str(image.pk))
    assert states(again) == ("active", "", "running")


def test_tasks_follow_the_steps(who: world.People, hands: Hands) -> None:
    instance = built(who.member, hands)
    snapshot(who, instance)
    lease = hands.take(WorkKind.SNAPSHOT).lease
    for step in ("image_snapshot_pending", "image_pending_upload", "image_uploading"):
        hands.conductor.record_steps(lease=lease, begins=step)
        assert states(instance)[1] == step
    hands.conductor.step_progress(lease=lease, step="image_uploading", done_bytes=5, total_bytes=9)
    event = InstanceActionEvent.objects.get(name="image_uploading")
    assert (event.done_bytes, event.total_bytes) == (5, 9)
    hands.conductor.action_failed(lease=lease, step="image_uploading", message="no")
    assert states(instance)[:2] == ("active", "")


def test_snapshot_that_failed_leaves_no_image(who: world.People, hands: Hands, monkeypatch: Any) -> None:
    instance = built(who.member, hands)
    image = snapshot(who, instance)

    def broken(*_: object) -> None:
        raise DriverError("the disk is full")

    monkeypatch.setattr(hands.fake, "snapshot", broken)
    hands.do(WorkKind.SNAPSHOT)
    image.refresh_from_db()
    assert (image.status, states(instance)[:2]) == ("deleted", ("active", ""))
    assert InstanceAction.objects.get(action="snapshot").result == "error"
    assert InstanceFault.objects.get(instance_uuid=instance.pk).step == "image_snapshot_pending"


def test_image_that_is_deleted_midway_ends_the_snapshot(who: world.People, hands: Hands) -> None:
    instance = built(who.member, hands)
    image = snapshot(who, instance)
    image_delete(caller=who.member, image_id=image.pk)
    hands.do(WorkKind.SNAPSHOT)
    assert states(instance)[:2] == ("active", "")
    assert "deleted" in InstanceFault.objects.get(instance_uuid=instance.pk).details
    assert nothing_stored(image)


def test_instance_that_is_deleted_midway_takes_the_image_with_it(who: world.People, hands: Hands) -> None:
    instance = built(who.member, hands)
    image = snapshot(who, instance)
    held = hands.take(WorkKind.SNAPSHOT)
    place = hands.conductor.upload_begin(lease=held.lease, size_bytes=1000, sha256="0" * 64)
    assert place.offset == 0
    instance_delete(caller=who.member, instance_id=instance.pk)
    image.refresh_from_db()
    assert (image.status, nothing_stored(image)) == ("deleted", True)
    with pytest.raises(Fenced):
        hands.conductor.upload_piece(lease=held.lease, offset=0, data=b"x" * 1000)
    hands.do(WorkKind.DELETE)
    assert hands.guests() == {}


def test_quota_of_images_is_asked_before_anything_is_written(who: world.People, hands: Hands) -> None:
    instance = built(who.member, hands)
    Project.objects.filter(pk=who.member.project_id).update(quota_images=0)
    with pytest.raises(QuotaExceeded):
        snapshot(who, instance)
    assert states(instance)[:2] == ("active", "")
    assert not Image.objects.filter(instance_uuid=instance.pk).exists()


def test_upload_over_quota_ends_the_snapshot(who: world.People, hands: Hands) -> None:
    instance = built(who.member, hands)
    image = snapshot(who, instance)
    Project.objects.filter(pk=who.member.project_id).update(quota_image_bytes=10)
    hands.do(WorkKind.SNAPSHOT)
    image.refresh_from_db()
    assert (image.status, states(instance)[:2]) == ("deleted", ("active", ""))
    assert "Over quota" in InstanceFault.objects.get(instance_uuid=instance.pk).details


def test_task_without_work_is_ended_and_its_image_goes(who: world.People, hands: Hands) -> None:
    instance = built(who.member, hands)
    image = snapshot(who, instance)
    Work.objects.filter(kind="snapshot").delete()
    assert lost_tasks_heal(host="h1") == 1
    image.refresh_from_db()
    assert (image.status, states(instance)[:2]) == ("deleted", ("active", ""))


def test_second_attempt_ends_what_the_first_began(who: world.People, hands: Hands) -> None:
    instance = built(who.member, hands)
    image = snapshot(who, instance)
    hands.take(WorkKind.SNAPSHOT)
    conductor_connect().void_leases(host="h1", owner_prefix="h1:")
    hands.do(WorkKind.SNAPSHOT)
    image.refresh_from_db()
    assert (image.status, states(instance)[:2]) == ("active", ("active", ""))
    assert b"".join(image_chunks(image.pk)).startswith(b"QFI")


@pytest.mark.parametrize("is_begun", [True, False])
def test_guest_that_was_lost_with_its_host_runs_again_before_it_is_copied(
    who: world.People, hands: Hands, is_begun: bool
) -> None:
    instance = built(who.member, hands)
    image = snapshot(who, instance)
    if is_begun:
        hands.take(WorkKind.SNAPSHOT)
    hands.fake.stop(str(instance.pk), grace_s=0)
    conductor_connect().void_leases(host="h1", owner_prefix="h1:")
    recover(hands.context)
    hands.do(WorkKind.SNAPSHOT)
    image.refresh_from_db()
    assert (image.status, states(instance)) == ("active", ("active", "", "running"))


def test_tasks_by_which_agents_bring_guests_back_are_those_of_the_control_plane() -> None:
    assert {*GUEST_STAYS, *NEED_THEIR_GUEST} <= {task.value for task in TaskState}


def test_guest_that_was_off_stays_off(who: world.People, hands: Hands) -> None:
    instance = built(who.member, hands)
    instance_act(caller=who.member, instance_id=instance.pk, action="stop")
    hands.do(WorkKind.STOP)
    snapshot(who, instance)
    hands.take(WorkKind.SNAPSHOT)
    conductor_connect().void_leases(host="h1", owner_prefix="h1:")
    recover(hands.context)
    hands.do(WorkKind.SNAPSHOT)
    assert states(instance) == ("stopped", "", "shutdown")


def test_only_the_image_of_the_work_can_be_sent(who: world.People, hands: Hands) -> None:
    instance = built(who.member, hands)
    instance_act(caller=who.member, instance_id=instance.pk, action="stop")
    lease = hands.take(WorkKind.STOP).lease
    for call in (
        lambda: hands.conductor.upload_begin(lease=lease, size_bytes=1, sha256="0" * 64),
        lambda: hands.conductor.upload_piece(lease=lease, offset=0, data=b"x"),
        lambda: hands.conductor.upload_end(lease=lease),
    ):
        with pytest.raises(Fenced, match="makes no image"):
            call()


@pytest.mark.parametrize("name", ["", " ", "x" * 256, "\0"])
def test_name_is_required_and_judged(who: world.People, hands: Hands, name: str) -> None:
    instance = built(who.member, hands)
    with pytest.raises(InvalidFields) as refused:
        instance_act(caller=who.member, instance_id=instance.pk, action="snapshot", arguments={"name": name})
    assert refused.value.field == "name"
    assert states(instance)[:2] == ("active", "")


def test_readers_and_strangers_may_not_and_another_task_waits(who: world.People, hands: Hands) -> None:
    instance = built(who.member, hands)
    ask = {"instance_id": instance.pk, "action": "snapshot", "arguments": {"name": "n"}}
    with pytest.raises(Forbidden):
        instance_act(caller=who.reader, **ask)
    with pytest.raises(NotFound):
        instance_act(caller=who.stranger, **ask)
    snapshot(who, instance)
    with pytest.raises(Conflict, match="busy with image_snapshot"):
        instance_act(caller=who.member, **ask)
    assert Image.objects.filter(instance_uuid=instance.pk).count() == 1


def names(instance: Instance) -> list[str]:
    rows = Image.objects.filter(instance_uuid=instance.pk, status="active").order_by("created_at")
    return list(rows.values_list("name", flat=True))


def test_backups_beyond_the_rotation_go_oldest_first(who: world.People, hands: Hands) -> None:
    instance = built(who.member, hands)
    for number in range(3):
        backup(who, hands, instance, f"d{number}", 2)
    backup(who, hands, instance, "w0", 1, kind="weekly")
    snapshot(who, instance)
    hands.do(WorkKind.SNAPSHOT)
    assert names(instance) == ["d1", "d2", "w0", "snap"]
    gone = Image.objects.get(name="d0")
    assert (gone.status, nothing_stored(gone)) == ("deleted", True)
    assert Image.objects.get(name="d2").properties["backup_type"] == "daily"
    Image.objects.filter(name="d1").update(protected=True)
    backup(who, hands, instance, "d3", 0)
    assert names(instance) == ["d1", "w0", "snap"]


@pytest.mark.parametrize(
    ("field", "value"), [("rotation", "-1"), ("rotation", "many"), ("rotation", "1001"), ("backup_type", "")]
)
def test_backup_is_judged_before_anything_is_written(who: world.People, hands: Hands, field: str, value: str) -> None:
    instance = built(who.member, hands)
    arguments = {"name": "b", "backup_type": "daily", "rotation": "1", field: value}
    with pytest.raises(InvalidFields) as refused:
        instance_act(caller=who.member, instance_id=instance.pk, action="backup", arguments=arguments)
    assert refused.value.field == field
    assert not Image.objects.filter(instance_uuid=instance.pk).exists()
