"""Metadata of volumes and snapshots is written key by key."""

import pytest

from controlplane.identity.models import Project
from controlplane.kernel.errors import InvalidFields, NotFound
from servers.volumes.domain.errors import SnapshotNotFound, VolumeNotFound
from servers.volumes.services.metadata import snapshot_metadata_change, volume_metadata_change
from tests.worlds.cloud import People
from tests.worlds.volumes import small_cloud, snapshot_row, volume_row

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> People:
    return small_cloud()


def test_keys_of_a_volume_are_put_and_removed_and_others_stay(world: People) -> None:
    volume = volume_row(_project(world), metadata={"a": "1", "b": "2"})
    after = volume_metadata_change(caller=world.member, volume_id=volume.pk, put={"c": "3"}, removed=["a"])
    volume.refresh_from_db()
    assert after == volume.metadata == {"b": "2", "c": "3"}
    with pytest.raises(NotFound, match="'a'"):
        volume_metadata_change(caller=world.member, volume_id=volume.pk, removed=["a"])
    with pytest.raises(InvalidFields):
        volume_metadata_change(caller=world.member, volume_id=volume.pk, put={"": "x"})
    with pytest.raises(VolumeNotFound):
        volume_metadata_change(caller=world.stranger, volume_id=volume.pk, put={"c": "4"})
    volume.refresh_from_db()
    assert volume.metadata == {"b": "2", "c": "3"}


def test_keys_of_a_snapshot_are_put_and_removed_and_others_stay(world: People) -> None:
    snapshot = snapshot_row(volume_row(_project(world)))
    snapshot_metadata_change(caller=world.member, snapshot_id=snapshot.pk, put={"a": "1", "b": "2"})
    after = snapshot_metadata_change(caller=world.member, snapshot_id=snapshot.pk, removed=["a"])
    snapshot.refresh_from_db()
    assert after == snapshot.metadata == {"b": "2"}
    with pytest.raises(SnapshotNotFound):
        snapshot_metadata_change(caller=world.stranger, snapshot_id=snapshot.pk, put={"c": "4"})


def _project(world: People) -> Project:
    return Project.objects.get(pk=world.member.project_id)
