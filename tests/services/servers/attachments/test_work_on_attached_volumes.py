"""What hosts are told of work on a volume that one of their guests has."""

from pathlib import Path
from typing import Any

import pytest

from computeagent.protocol.volumes import VolumeQos, VolumeWorkKind
from controlplane.work.models import Work, WorkState
from servers.models import Volume, VolumeAttachment, VolumeType
from servers.volumes.services.volumes import volume_extend
from tests.services.servers.attachments.attached_cloud import Cloud
from tests.worlds.agent_hands import built

pytestmark = pytest.mark.django_db(transaction=True)


def test_volume_of_a_guest_grows_with_the_limits_of_its_new_size(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    cloud = Cloud(tmp_path)
    fast = VolumeType.objects.create(name="fast", qos={"total_iops": 100}, qos_per_gib={"total_iops": 10})
    Volume.objects.update(volume_type=fast, qos={"total_iops": 110})
    cloud.attached()
    volume_extend(caller=cloud.who.member, volume_id=cloud.volume.pk, size_gib=5)
    (work_id,) = cloud.h1.conductor.volume_work(host="h1")
    order = cloud.h1.conductor.volume_take(host="h1", work_id=work_id, owner="h1:1", token="t")
    assert (order.kind, order.volume.size_gib) == (VolumeWorkKind.VOLUME_EXTEND, 5)
    (volume,) = order.guest.volumes
    assert volume.qos == VolumeQos(total_iops=150)


def test_each_of_several_guests_is_told_how_large_their_volume_is_now(tmp_path: Path, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images"}
    cloud = Cloud(tmp_path)
    Volume.objects.update(is_multiattach=True)
    other = built(cloud.who.member, cloud.h1)
    for guest in (cloud.vm, other):
        cloud.vm = guest
        cloud.attached()
    volume_extend(caller=cloud.who.member, volume_id=cloud.volume.pk, size_gib=5)
    assert cloud.h1.do_volumes() > 0
    while cloud.h1.do_volumes():
        pass
    assert not VolumeAttachment.objects.filter(limits_due=True).exists()
    told = Work.objects.filter(kind=VolumeWorkKind.VOLUME_LIMIT.value, state=WorkState.DONE)
    assert set(told.values_list("subject", flat=True)) == {one.pk for one in VolumeAttachment.objects.all()}
    assert VolumeAttachment.objects.count() == 2
