"""What the door says of disks that a request cannot have: Nova's faults, each with its code at its field."""

import uuid
from typing import Any

import pytest

from controlplane.identity.models import Project
from servers.models import BuildRequest, Volume, VolumeType
from servers.volumes.domain.states import VolumeState
from tests.worlds import cloud as world
from tests.worlds.attachments import pool_row, volume_in

pytestmark = pytest.mark.django_db(transaction=True)

NOBODY = "00000000-0000-0000-0000-000000000001"
BDM = "block_device_mapping_v2"
NEW = {"source_type": "image", "destination_type": "volume", "uuid": "demo", "boot_index": 0, "volume_size": 2}
OLD = {"source_type": "volume", "uuid": "free", "boot_index": 0}

FAULTS: list[tuple[dict[str, Any], int, str, str]] = [
    ({}, 400, "image", "Name an image, or by block_device_mapping_v2 a volume to boot from."),
    ({BDM: [{**NEW, "uuid": NOBODY}]}, 400, f"{BDM}.0.uuid", "InvalidBDMImage"),
    ({BDM: [{**OLD, "uuid": NOBODY}]}, 400, f"{BDM}.0.uuid", "InvalidBDMVolume"),
    ({BDM: [{**OLD, "uuid": "foreign"}]}, 400, f"{BDM}.0.uuid", "InvalidBDMVolume"),
    ({BDM: [{**OLD, "uuid": "taken"}]}, 400, f"{BDM}.0.uuid", "is in-use; it must be available. (InvalidVolume)"),
    ({BDM: [{**OLD, "uuid": "data"}]}, 400, f"{BDM}.0.uuid", "InvalidBDMVolumeNotBootable"),
    ({BDM: [{**OLD, "source_type": "snapshot"}]}, 400, f"{BDM}.0.uuid", "SnapshotNotFound"),
    ({BDM: [{**NEW, "volume_type": "gold"}]}, 400, f"{BDM}.0.volume_type", "VolumeTypeNotFound"),
    ({BDM: [{**NEW, "volume_type": "kept back"}]}, 400, f"{BDM}.0.volume_type", "VolumeTypeNotFound"),
    ({BDM: [{**NEW, "volume_type": "big"}]}, 400, f"{BDM}.0.volume_size", "have at least 100. (InvalidBDM)"),
    ({BDM: [{**NEW, "uuid": "large"}]}, 400, f"{BDM}.0.volume_size", "needs 50. (VolumeSmallerThanMinDisk)"),
    ({BDM: [{**OLD, "boot_index": 1}]}, 400, BDM, "InvalidBDMBootSequence"),
    ({BDM: [OLD], "min_count": 2}, 400, f"{BDM}.0.uuid", "to one instance only"),
    ({BDM: [OLD], "trusted_image_certificates": [NOBODY]}, 400, "trusted_image_certificates", "nothing of a volume"),
    ({BDM: [NEW], "min_count": 4}, 403, "volumes", "volumes"),
    ({"image": "demo", "flavor": "zero"}, 403, "flavor", "Boot from a volume."),
]
TAKEN = [{"flavor": "zero", BDM: [OLD]}, {BDM: [NEW]}]


def installation() -> world.People:
    who = world.cloud()
    world.flavor("zero", root_gib=0)
    world.image("large", min_disk_gib=50)
    pool = pool_row("local", "h1", host="h1")
    mine = who.member.project_id
    for name, fields in {
        "free": {"is_bootable": True},
        "data": {},
        "taken": {"is_bootable": True, "state": VolumeState.IN_USE.value},
    }.items():
        volume_in(pool, mine, name=name, **fields)
    volume_in(pool, who.stranger.project_id, name="foreign", is_bootable=True)
    VolumeType.objects.create(name="kept back", is_public=False)
    VolumeType.objects.create(name="big", min_gib=100)
    Project.objects.filter(pk=mine).update(quota_volumes=6)
    return who


def body_of(says: dict[str, Any]) -> dict[str, Any]:
    ids = {one.name: str(one.pk) for one in Volume.objects.all()}
    devices = [{**one, "uuid": ids.get(one["uuid"], one["uuid"])} for one in says.get(BDM, ())]
    return {"name": "vm", "flavor": "m1.tiny", **says, BDM: devices}


def test_each_fault_speaks_at_its_field() -> None:
    client = world.client_of(installation().member)
    for says, status, field, sentence in FAULTS:
        answer = client.post("/api/instances/", body_of(says), format="json")
        assert answer.status_code == status, (says, answer.json())
        error = answer.json()["error"]
        said = " ".join([error["message"], *(reason for reasons in error["reasons"].values() for reason in reasons)])
        assert sentence in said, says
        assert field in (error["field"] or "", *error["reasons"]), says
    assert not BuildRequest.objects.exists()
    assert Volume.objects.get(name="free").state == VolumeState.AVAILABLE
    for says in TAKEN:
        assert client.post("/api/instances/", body_of(says), format="json").status_code == 202, says


def test_disks_of_a_request_are_no_more_than_the_operator_allows(settings: Any) -> None:
    """MAX_DISK_DEVICES_TO_ATTACH counts the disks of the flavor, whether the request names others or none."""
    client = world.client_of(installation().member)
    world.flavor("swapping", swap_mib=64)
    settings.KILONOVA = {**settings.KILONOVA, "MAX_DISK_DEVICES_TO_ATTACH": 2}
    said = "The instance would have 3 disks, those of its flavor among them; it has at most 2."
    plain = {"name": "vm", "image": "demo", "networks": []}
    for body, field, reason in (
        (body_of({BDM: [OLD, NEW | {"boot_index": 1}], "flavor": "swapping"}), BDM, f"{said} (InvalidBDMFormat)"),
        ({**plain, "flavor": "swapping", BDM: [{**NEW, "boot_index": -1}]}, BDM, f"{said} (InvalidBDMFormat)"),
    ):
        answer = client.post("/api/instances/", body, format="json")
        assert (answer.status_code, answer.json()["error"]["reasons"]) == (400, {field: [reason]})
    taken = client.post("/api/instances/", {**plain, "flavor": "swapping"}, format="json")
    assert taken.status_code == 202, taken.json()
    settings.KILONOVA = {**settings.KILONOVA, "MAX_DISK_DEVICES_TO_ATTACH": 1}
    refused = client.post("/api/instances/", {**plain, "flavor": "swapping"}, format="json")
    reason = "The instance would have 2 disks, those of its flavor among them; it has at most 1."
    assert (refused.status_code, refused.json()["error"]["reasons"]) == (400, {"flavor": [reason]})
    assert client.post("/api/instances/", {**plain, "flavor": "m1.tiny"}, format="json").status_code == 202


def test_volume_of_another_zone_is_refused_where_zones_are_not_crossed(settings: Any) -> None:
    client = world.client_of(installation().member)
    settings.KILONOVA = {**settings.KILONOVA, "CROSS_AZ_ATTACH": False}
    Volume.objects.filter(name="free").update(availability_zone="az2")
    body = body_of({BDM: [OLD], "availability_zone": "nova"})
    free = Volume.objects.get(name="free")
    refused = client.post("/api/instances/", body, format="json")
    reason = f"Volume {free} is in zone az2, and the instance in nova. (MismatchVolumeAZException)"
    assert (refused.status_code, refused.json()["error"]["reasons"]) == (400, {f"{BDM}.0.uuid": [reason]})
    settings.KILONOVA = {**settings.KILONOVA, "CROSS_AZ_ATTACH": True}
    assert client.post("/api/instances/", body, format="json").status_code == 202


def test_reader_and_stranger_get_no_instance_of_a_volume() -> None:
    who = installation()
    free = Volume.objects.get(name="free")
    body = {"name": "vm", "flavor": "m1.tiny", BDM: [{**OLD, "uuid": str(free.pk)}]}
    assert world.client_of(who.reader).post("/api/instances/", body, format="json").status_code == 403
    refused = world.client_of(who.stranger).post("/api/instances/", body, format="json")
    assert refused.status_code == 400
    assert "There is no volume" in refused.json()["error"]["message"]
    assert uuid.UUID(body[BDM][0]["uuid"]) == free.pk
