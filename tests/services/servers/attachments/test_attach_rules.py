"""What an operator or a volume's owner said once counts at each attachment: read-only, zones, the number of disks."""

from typing import Any

import pytest

from computeagent.protocol.work import WorkKind
from controlplane.kernel.errors import Conflict
from servers.models import Instance, Volume, VolumeAttachment
from servers.volumes.domain.errors import InvalidVolume
from tests.services.servers.attachments.attached_cloud import ATTACH, Cloud

pytestmark = pytest.mark.django_db(transaction=True)


def test_volume_that_can_only_be_read_comes_read_only(cloud: Cloud) -> None:
    Volume.objects.update(is_read_only=True)
    cloud.attached()
    assert cloud.states() == ("in-use", "attached", "")
    assert VolumeAttachment.objects.get().is_read_only
    cloud.act("reboot")
    (volume,) = cloud.h1.take(WorkKind.REBOOT).guest.volumes
    assert volume.is_read_only


def test_volume_of_another_zone_is_refused_where_zones_are_not_crossed(cloud: Cloud, settings: Any) -> None:
    Volume.objects.update(availability_zone="az2")
    settings.KILONOVA = {**settings.KILONOVA, "CROSS_AZ_ATTACH": False}
    said = f"Volume {Volume.objects.get()} is in zone az2, and the instance in nova. (MismatchVolumeAZException)"
    with pytest.raises(InvalidVolume) as refused:
        cloud.act(ATTACH, volume="data")
    assert (refused.value.message, refused.value.field) == (said, "volume")
    assert cloud.states() == ("available", "", "")
    Volume.objects.update(availability_zone="nova")
    cloud.attached()
    assert cloud.states() == ("in-use", "attached", "")


@pytest.mark.parametrize(("zone", "is_allowed"), [("az2", True), ("", True), ("az1", False)])
def test_zone_of_an_instance_on_no_host_is_the_one_that_was_asked_for(
    cloud: Cloud, settings: Any, zone: str, is_allowed: bool
) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "CROSS_AZ_ATTACH": False}
    Volume.objects.update(availability_zone="az2")
    Instance.objects.update(vm_state="shelved_offloaded", host="", node="", availability_zone=zone)
    if is_allowed:
        cloud.act(ATTACH, volume="data")
    else:
        with pytest.raises(InvalidVolume, match="is in zone az2, and the instance in az1"):
            cloud.act(ATTACH, volume="data")
    assert cloud.states()[0] == ("in-use" if is_allowed else "available")


def test_zones_are_crossed_unless_the_operator_says_otherwise(cloud: Cloud) -> None:
    Volume.objects.update(availability_zone="az2")
    cloud.attached()
    assert cloud.states() == ("in-use", "attached", "")


def test_limits_of_disks(cloud: Cloud, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "MAX_DISK_DEVICES_TO_ATTACH": 1}
    with pytest.raises(Conflict, match="has 1 disks; it has at most 1"):
        cloud.act(ATTACH, volume="data")
    settings.KILONOVA = {**settings.KILONOVA, "MAX_DISK_DEVICES_TO_ATTACH": -1}
    Instance.objects.update(image={"properties": {"hw_disk_bus": "sata"}})
    with pytest.raises(Conflict, match="stop it first"):
        cloud.act(ATTACH, volume="data")
