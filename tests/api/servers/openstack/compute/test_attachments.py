"""Interfaces, volumes and the topology of a server at the Compute API."""

from typing import Any

import pytest

from computeagent.protocol.topology import CpuPolicy, GuestTopology, InstanceNUMACell
from computeagent.protocol.topology_json import guest_to_dict
from computeagent.protocol.volumes import PoolKind
from scheduling.models import ComputeNode, TopologyClaim
from servers.models import BlockDeviceMapping, Instance, Volume, VolumeAttachment
from tests.worlds import cloud as world
from tests.worlds import networks
from tests.worlds.attachments import pool_row, volume_in
from tests.worlds.compute_door import ComputeClient, fault_of

pytestmark = pytest.mark.django_db

CARD = {"port_id", "net_id", "mac_addr", "port_state", "fixed_ips"}
DISK = {"serverId", "volumeId", "device"}
CHOICES: list[tuple[int, set[str]]] = [
    (1, DISK | {"id"}),
    (69, DISK | {"id"}),
    (70, DISK | {"id", "tag"}),
    (78, DISK | {"id", "tag"}),
    (79, DISK | {"id", "tag", "delete_on_termination"}),
    (88, DISK | {"id", "tag", "delete_on_termination"}),
    (89, DISK | {"tag", "delete_on_termination", "attachment_id", "bdm_uuid"}),
]


@pytest.fixture
def who() -> world.People:
    return networks.cloud_with_networks()


@pytest.fixture
def server(who: world.People) -> Instance:
    found = networks.network("private", is_shared=True)
    return world.active(who.member, networks=[{"network": str(found.pk)}])


@pytest.fixture
def volume(who: world.People, server: Instance) -> Volume:
    return volume_in(pool_row("shared", server.host, kind=PoolKind.FILE), who.member.project_id)


def _idle(server: Instance) -> None:
    Instance.objects.filter(pk=server.pk).update(task_state="")


@pytest.mark.parametrize(("minor", "keys"), [(1, CARD), (69, CARD), (70, CARD | {"tag"})])
def test_interfaces_are_shown(who: world.People, server: Instance, minor: int, keys: set[str]) -> None:
    reader, path = ComputeClient(who.reader, minor=minor), f"/servers/{server.pk}/os-interface"
    (shown,) = reader.get(path)["interfaceAttachments"]
    assert set(shown) == keys
    (fixed,) = shown["fixed_ips"]
    assert set(fixed) == {"ip_address", "subnet_id"}
    assert fixed["subnet_id"] is not None
    assert reader.get(f"{path}/{shown['port_id']}") == {"interfaceAttachment": shown}
    fault_of(reader.call("GET", f"{path}/{'0' * 32}"), 404, "itemNotFound")
    fault_of(ComputeClient(who.stranger).call("GET", path), 404, "itemNotFound")


def test_interfaces_come_and_go(who: world.People, server: Instance) -> None:
    member, path = ComputeClient(who.member), f"/servers/{server.pk}/os-interface"
    net = member.get(path)["interfaceAttachments"][0]["net_id"]
    tagged = {"interfaceAttachment": {"net_id": net, "tag": "second"}}
    fault_of(member.call("POST", path, tagged, minor=48), 400, "badRequest")
    made = member.call("POST", path, tagged, minor=70)
    assert made.status_code == 200
    card = made.json()["interfaceAttachment"]
    assert (card["net_id"], card["tag"]) == (net, "second")
    fault_of(member.call("POST", path, tagged, minor=70), 400, "badRequest")  # another one has the tag
    _idle(server)
    assert member.call("DELETE", f"{path}/{card['port_id']}").status_code == 202
    assert world.instance_of(server.pk).task_state == "networking"
    fault_of(member.call("DELETE", f"{path}/{'0' * 32}"), 404, "itemNotFound")
    for wrong in ({"port_id": net, "net_id": net}, {"fixed_ips": [{"ip_address": "10.20.0.9"}]}, {"colour": 1}):
        fault_of(member.call("POST", path, {"interfaceAttachment": wrong}), 400, "badRequest")
    fault_of(ComputeClient(who.reader).call("POST", path, {}), 403, "forbidden")


@pytest.mark.parametrize(("minor", "keys"), CHOICES)
def test_volumes_are_attached(who: world.People, server: Instance, volume: Volume, minor: int, keys: set[str]) -> None:
    member, path = ComputeClient(who.member, minor=minor), f"/servers/{server.pk}/os-volume_attachments"
    assert member.get(path) == {"volumeAttachments": []}
    made = member.call("POST", path, {"volumeAttachment": {"volumeId": str(volume.pk)}})
    assert made.status_code == 200, made.content
    assert set(made.json()["volumeAttachment"]) == keys - {"attachment_id", "bdm_uuid"} | {"id"}
    (shown,) = member.get(path)["volumeAttachments"]
    assert (set(shown), shown["volumeId"], shown["device"]) == (keys, str(volume.pk), "/dev/vdb")
    assert member.get(f"{path}?offset=1") == {"volumeAttachments": []}
    assert member.get(f"{path}/{volume.pk}") == {"volumeAttachment": shown}
    fault_of(member.call("GET", f"{path}/{'0' * 32}"), 404, "itemNotFound")
    fault_of(ComputeClient(who.stranger).call("GET", path), 404, "itemNotFound")


def test_volume_of_several_instances_is_for_clients_that_know_of_such(
    who: world.People, server: Instance, volume: Volume
) -> None:
    Volume.objects.update(is_multiattach=True)
    member, path = ComputeClient(who.member), f"/servers/{server.pk}/os-volume_attachments"
    asked = {"volumeAttachment": {"volumeId": str(volume.pk)}}
    disk = {"source_type": "volume", "destination_type": "volume", "uuid": str(volume.pk), "boot_index": 0}
    made = {"server": {"name": "vm", "flavorRef": "m1.tiny", "networks": [], "block_device_mapping_v2": [disk]}}
    for answer in (member.call("POST", path, asked, minor=59), member.call("POST", "/servers", made, minor=59)):
        assert fault_of(answer, 400, "badRequest") == (
            "Multiattach volumes are only supported starting with compute API version 2.60."
        )
    assert member.call("POST", path, asked, minor=60).status_code == 200


def test_volume_that_can_only_be_read_is_attached_read_only(
    who: world.People, server: Instance, volume: Volume
) -> None:
    Volume.objects.update(is_read_only=True)
    member, path = ComputeClient(who.member), f"/servers/{server.pk}/os-volume_attachments"
    made = member.call("POST", path, {"volumeAttachment": {"volumeId": str(volume.pk)}})
    assert made.status_code == 200, made.content
    attachment = VolumeAttachment.objects.get(volume=volume)
    assert (attachment.instance_uuid, attachment.is_read_only) == (server.pk, True)


def test_volume_of_another_zone_is_a_bad_request_where_zones_are_not_crossed(
    who: world.People, server: Instance, volume: Volume, settings: Any
) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "CROSS_AZ_ATTACH": False}
    Volume.objects.update(availability_zone="az2")
    member, path = ComputeClient(who.member), f"/servers/{server.pk}/os-volume_attachments"
    answer = member.call("POST", path, {"volumeAttachment": {"volumeId": str(volume.pk)}})
    said = fault_of(answer, 400, "badRequest")
    assert "is in zone az2, and the instance in nova. (MismatchVolumeAZException)" in said
    assert not VolumeAttachment.objects.exists()


def test_attachments_change_and_end(who: world.People, server: Instance, volume: Volume) -> None:
    member, path = ComputeClient(who.member), f"/servers/{server.pk}/os-volume_attachments"

    def attach(minor: int, **more: Any) -> Any:
        return member.call("POST", path, {"volumeAttachment": {"volumeId": str(volume.pk), **more}}, minor=minor)

    fault_of(attach(48, tag="data"), 400, "badRequest")
    fault_of(attach(78, delete_on_termination=True), 400, "badRequest")
    fault_of(attach(79, device="colour"), 400, "badRequest")
    made = attach(79, device="/dev/vdd", tag="data", delete_on_termination=True).json()["volumeAttachment"]
    assert (made["device"], made["tag"], made["delete_on_termination"]) == ("/dev/vdd", "data", True)
    _idle(server)
    one = f"{path}/{volume.pk}"
    keep = {"volumeAttachment": {"volumeId": str(volume.pk), "delete_on_termination": False}}
    fault_of(member.call("PUT", one, keep, minor=84), 400, "badRequest")
    assert member.call("PUT", one, keep, minor=85).status_code == 202
    assert BlockDeviceMapping.objects.get(volume_id=volume.pk).delete_on_termination is False
    other = {"volumeAttachment": {"volumeId": str(server.pk)}}
    fault_of(member.call("PUT", one, other, minor=85), 400, "badRequest")
    renamed = {"volumeAttachment": {"volumeId": str(volume.pk), "device": "/dev/vdz"}}
    fault_of(member.call("PUT", one, renamed, minor=85), 400, "badRequest")
    fault_of(ComputeClient(who.reader).call("PUT", one, keep, minor=85), 403, "forbidden")
    fault_of(ComputeClient(who.stranger).call("PUT", one, keep, minor=85), 404, "itemNotFound")
    fault_of(attach(79), 400, "badRequest")
    fault_of(member.call("DELETE", f"{path}/{'0' * 32}"), 404, "itemNotFound")
    Instance.objects.filter(pk=server.pk).update(locked=True)
    fault_of(member.call("DELETE", one), 409, "conflictingRequest")


def test_topology(who: world.People, server: Instance) -> None:
    path = f"/servers/{server.pk}/topology"
    member = ComputeClient(who.member, minor=78)
    assert member.get(path) == {"nodes": [], "pagesize_kb": None}
    cell = InstanceNUMACell(
        0, frozenset(), frozenset({0, 1}), 512, 2048, CpuPolicy.DEDICATED, host_cell=1, pinning=((0, 4), (1, 5))
    )
    TopologyClaim.objects.create(
        consumer_uuid=server.pk, compute_node=ComputeNode.objects.get(), numa=guest_to_dict(GuestTopology((cell,)))
    )
    look = {"memory_mb": 512, "vcpu_set": [0, 1], "siblings": []}
    assert member.get(path) == {"nodes": [look], "pagesize_kb": 2048}
    place = {"host_node": 1, "cpu_pinning": {"0": 4, "1": 5}}
    assert ComputeClient(who.admin, minor=78).get(path)["nodes"] == [{**look, **place}]
    fault_of(ComputeClient(who.stranger, minor=78).call("GET", path), 404, "itemNotFound")
    fault_of(member.call("GET", path, minor=77), 404, "itemNotFound")
