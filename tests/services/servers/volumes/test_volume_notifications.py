"""Volumes tell what happens to them, under Cinder's names, in the transaction in which it happens; pages look again."""

from typing import Any

import pytest
from django.db import connection

from controlplane.kernel.errors import QuotaExceeded
from controlplane.notifications.models import Notification
from controlplane.work.hints import VOLUMES, project_volumes_topic, volume_topic
from servers.volumes.domain.volumes import VolumeRequest
from servers.volumes.services.snapshots import SnapshotRequest, snapshot_create, snapshot_delete
from servers.volumes.services.transfers import transfer_accept, transfer_create
from servers.volumes.services.volumes import volume_create, volume_delete, volume_extend, volume_revert, volume_update
from tests.worlds.volumes import volume_made, work_done, work_failed

pytestmark = pytest.mark.django_db


@pytest.fixture
def emitted(notifying: Any) -> None:
    notifying(EVENTS=("volume.*", "snapshot.*"))


def names() -> list[str]:
    return list(Notification.objects.order_by("happened_at", "created_at").values_list("event_type", flat=True))


def only(event_type: str) -> Notification:
    return Notification.objects.get(event_type=event_type)


@pytest.mark.usefixtures("emitted")
def test_each_step_of_a_life_is_told_once(people, pool):
    volume = volume_made(people.member, size_gib=2, name="data", metadata={"a": "b"})
    volume_update(caller=people.member, volume_id=volume.pk, changes={"name": "more"})
    snapshot = snapshot_create(caller=people.member, request=SnapshotRequest(volume.pk))
    work_done(snapshot.pk)
    volume_revert(caller=people.member, volume_id=volume.pk, snapshot_id=snapshot.pk)
    work_done(volume.pk)
    snapshot_delete(caller=people.member, snapshot_id=snapshot.pk)
    work_done(snapshot.pk)
    volume_extend(caller=people.member, volume_id=volume.pk, size_gib=3)
    work_failed(volume.pk, "The disk is full.")
    volume_delete(caller=people.member, volume_id=volume.pk)
    work_done(volume.pk)
    assert names() == [
        "volume.create.start",
        "volume.create.end",
        "volume.update.end",
        "snapshot.create.start",
        "snapshot.create.end",
        "volume.revert.start",
        "volume.revert.end",
        "snapshot.delete.start",
        "snapshot.delete.end",
        "volume.resize.start",
        "volume.resize.error",
        "volume.delete.start",
        "volume.delete.end",
    ]
    made = only("volume.create.end")
    assert made.project_id == people.member.project_id
    told = {name: made.payload[name] for name in ("volume_id", "display_name", "size", "status", "host", "metadata")}
    assert told == {
        "volume_id": str(volume.pk),
        "display_name": "data",
        "size": 2,
        "status": "available",
        "host": "shared",
        "metadata": {"a": "b"},
    }
    failed = only("volume.resize.error")
    assert (failed.payload["error"], failed.payload["size"], failed.priority) == ("The disk is full.", 2, "ERROR")
    assert only("snapshot.create.end").payload["volume_size"] == 2


@pytest.mark.usefixtures("emitted")
def test_transfer_is_told_without_its_word_and_what_is_refused_is_not_told(people, pool):
    volume = volume_made(people.member)
    offer = transfer_create(caller=people.member, volume_id=volume.pk)
    transfer_accept(caller=people.stranger, transfer_id=offer.transfer.pk, word=offer.word)
    assert names()[-2:] == ["volume.transfer.create.end", "volume.transfer.accept.end"]
    assert only("volume.transfer.accept.end").payload["tenant_id"] == str(people.stranger.project_id)
    assert offer.word not in str(list(Notification.objects.values_list("payload", flat=True)))
    before = len(names())
    with pytest.raises(QuotaExceeded):
        volume_create(caller=people.member, request=VolumeRequest(size_gib=5000))
    assert len(names()) == before


def test_nothing_is_written_where_nobody_wants_it(people, pool):
    volume_made(people.member)
    assert not Notification.objects.exists()


def test_pages_of_the_volume_its_project_and_all_look_again(people, pool):
    volume = volume_create(caller=people.member, request=VolumeRequest(size_gib=1))
    on_commit = [hook for _, hook, *_ in connection.run_on_commit]
    topics = {topic for hook in on_commit for topic in getattr(hook, "topics", ())}
    assert topics >= {VOLUMES, volume_topic(volume.pk), project_volumes_topic(volume.project_id)}
