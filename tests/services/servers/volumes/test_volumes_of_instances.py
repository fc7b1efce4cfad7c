"""Volumes of instances from the request to the end: promised, made on the chosen host, attached, released, removed."""

import uuid
from typing import Any

import pytest
from django.db.models import Sum

from computeagent.protocol.steps import FailureClass
from computeagent.protocol.volumes import PoolAbility, PoolKind, PoolReport, VolumeFacts, VolumeSourceKind
from computeagent.protocol.work import WorkKind
from controlplane.identity.models import Project
from controlplane.kernel.errors import InvalidFields, KilonovaError, NotFound, QuotaExceeded
from controlplane.work.models import Work
from placement.models import Allocation
from placement.selectors.allocations import allocations_by_consumer
from servers.agent_api import conductor_connect
from servers.instances.services.delete import instance_delete
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import (
    BlockDeviceMapping,
    Image,
    Instance,
    InstanceFault,
    StoragePool,
    Volume,
    VolumeAttachment,
)
from servers.repair.services.instance_allocations import compute_roots, mismatch_of
from servers.volumes.domain.states import AttachmentState, VolumeState
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

GIB = 2**30
VOLUME_GB, DISK_GB = "CUSTOM_VOLUME_GB", "DISK_GB"
FACTS = VolumeFacts(location={"file": "x"}, size_bytes=2 * GIB, used_bytes=1)


def pool(name: str = "local", *, gib: int = 10, is_shared: bool = False) -> PoolReport:
    return PoolReport(
        name,
        PoolKind.FILE,
        is_shared=is_shared,
        identity=name,
        total_bytes=gib * GIB,
        free_bytes=gib * GIB,
        abilities=tuple(PoolAbility),
    )


def volume(who: world.People, of: StoragePool, **fields: Any) -> Volume:
    said = {"size_gib": 1, "state": VolumeState.AVAILABLE.value, "is_bootable": True, "name": "data"}
    return Volume.objects.create(
        pool=of, project_id=who.member.project_id, user_id=who.member.user_id, **{**said, **fields}
    )


def boot_from(one: Volume, **more: Any) -> dict[str, Any]:
    said = {"source_type": "volume", "uuid": str(one.pk), "boot_index": 0}
    return {"image": "", "block_device_mapping_v2": [{**said, **more}]}


def boot_new(**more: Any) -> dict[str, Any]:
    made = {
        "source_type": "image",
        "destination_type": "volume",
        "uuid": str(Image.objects.get(name="demo").pk),
        "volume_size": 2,
        "boot_index": 0,
        **more,
    }
    return {"image": "", "block_device_mapping_v2": [made]}


def held(consumer: uuid.UUID, resource_class: str) -> int:
    rows = Allocation.objects.filter(consumer__uuid=consumer, resource_class__name=resource_class)
    return rows.aggregate(sum=Sum("used"))["sum"] or 0


def state(one: Volume) -> str:
    return Volume.objects.get(pk=one.pk).state


def create(who: world.People, **more: Any) -> Instance:
    return world.create(who.member, **more)[0]


def now(one: Instance) -> Instance:
    return Instance.objects.get(pk=one.pk)


def build(host: str, *, made: bool = True) -> None:
    """The host's agent makes the volumes and the guest."""
    taken = world.order(host, WorkKind.BUILD)
    for each in taken.guest.volumes:
        if each.make is not None and made:
            conductor_connect().volume_made(lease=taken.lease, volume_id=each.volume.id, facts=FACTS)
    conductor_connect().build_done(lease=taken.lease, facts=world.RUNNING)


def test_boot_from_a_volume_goes_where_its_pool_is() -> None:
    who = world.cloud("h1")
    for name in ("h2", "h3"):
        world.host(name, pools=(pool(),))
    root = volume(who, StoragePool.objects.get(host="h3"))
    made = create(who, **boot_from(root))
    assert state(root) == VolumeState.RESERVED
    world.pump()
    placed = now(made)
    assert (placed.host, placed.image_id, placed.root_gib, placed.has_block_devices) == ("h3", None, 0, True)
    assert held(made.pk, DISK_GB) == 0
    taken = world.order("h3", WorkKind.BUILD)
    assert not taken.guest.has_local_root
    (given,) = taken.guest.volumes
    assert (given.volume.id, given.boot_index, given.device, given.make) == (str(root.pk), 0, "vda", None)
    conductor_connect().build_done(lease=taken.lease, facts=world.RUNNING)
    assert state(root) == VolumeState.IN_USE
    assert VolumeAttachment.objects.get(volume=root).state == AttachmentState.ATTACHED
    assert mismatch_of(now(made), allocations_by_consumer([made.pk])[made.pk], compute_roots()) is None


def test_data_volume_beside_the_root_disk_of_an_image() -> None:
    who = world.cloud("h1", pools=(pool(),))
    data = volume(who, StoragePool.objects.get(), is_bootable=False)
    made = create(who, block_device_mapping_v2=[{"source_type": "volume", "uuid": str(data.pk), "tag": "d"}])
    world.pump()
    taken = world.order("h1", WorkKind.BUILD)
    assert taken.guest.has_local_root
    assert [(one.device, one.tag) for one in taken.guest.volumes] == [("vdb", "d")]
    rows = BlockDeviceMapping.objects.filter(instance_uuid=made.pk).order_by("position")
    assert [(row.device, row.destination_type) for row in rows] == [("vda", "local"), ("vdb", "volume")]
    assert held(made.pk, DISK_GB) == 1


def test_where_no_host_reaches_the_pool_the_volume_is_free_again_and_can_be_asked_for_again() -> None:
    who = world.cloud("h1")
    world.host("h2", pools=(pool(),))
    root = volume(who, StoragePool.objects.get())
    world.host("h2", pools=())
    made = create(who, **boot_from(root))
    world.pump()
    assert now(made).vm_state == "error"
    assert state(root) == VolumeState.AVAILABLE
    assert not VolumeAttachment.objects.exists()
    row = BlockDeviceMapping.objects.get(instance_uuid=made.pk)
    assert (row.source_id, row.volume_id) == (root.pk, None)
    world.host("h2", pools=(pool(),))
    instance_schedule_again(instance_id=made.pk, caller=who.admin)
    assert state(root) == VolumeState.RESERVED
    world.pump()
    build("h2")
    assert (now(made).vm_state, state(root)) == ("active", VolumeState.IN_USE)


def test_of_two_who_want_one_volume_one_is_refused() -> None:
    who = world.cloud("h1", pools=(pool(),))
    root = volume(who, StoragePool.objects.get())
    create(who, **boot_from(root))
    with pytest.raises(InvalidFields) as refused:
        create(who, name="other", **boot_from(root))
    assert "is reserved; it must be available. (InvalidVolume)" in refused.value.message
    assert refused.value.field == "block_device_mapping_v2.0.uuid"
    assert VolumeAttachment.objects.count() == 1


def test_a_request_that_is_deleted_before_it_has_a_host_frees_its_volumes() -> None:
    who = world.cloud("h1", pools=(pool(),))
    root = volume(who, StoragePool.objects.get())
    made = create(who, **boot_from(root, delete_on_termination=True))
    instance_delete(caller=who.member, instance_id=made.pk)
    assert state(root) == VolumeState.AVAILABLE
    world.pump()
    assert not Work.objects.filter(state="waiting").exists()


def test_volume_of_an_image_is_made_by_the_build() -> None:
    who = world.cloud("h1")
    world.host("h2", pools=(pool(),))
    made = create(who, **boot_new())
    world.pump()
    assert now(made).host == "h2"
    row = Volume.objects.get()
    assert (row.state, row.instance_uuid, row.size_gib, row.is_bootable) == ("creating", made.pk, 2, True)
    assert (row.source_kind, row.pool_id) == (VolumeSourceKind.IMAGE, StoragePool.objects.get().pk)
    assert held(row.pk, VOLUME_GB) == 2
    taken = world.order("h2", WorkKind.BUILD)
    (given,) = taken.guest.volumes
    assert given.make is not None
    assert (given.make.kind, given.make.id) == (VolumeSourceKind.IMAGE, str(row.source_id))
    conductor_connect().volume_made(lease=taken.lease, volume_id=given.volume.id, facts=FACTS)
    conductor_connect().build_done(lease=taken.lease, facts=world.RUNNING)
    row.refresh_from_db()
    assert (row.state, row.instance_uuid, row.location) == ("in-use", None, {"file": "x"})
    assert BlockDeviceMapping.objects.get().volume_id == row.pk


def test_a_host_without_room_in_its_pool_is_refused_with_numbers() -> None:
    who = world.cloud("h1", pools=(pool(gib=1),))
    made = create(who, **boot_new())
    world.pump()
    assert now(made).vm_state == "error"
    assert not Volume.objects.exists()
    shown = world.client_of(who.admin).get(f"/api/decisions/{now(made).decision_id}/why-not/?host=h1").json()
    assert "wants 2 GiB for a new volume, its pools have at most 1 GiB" in str(shown)


def test_a_build_that_failed_leaves_no_volume_and_the_next_host_makes_another() -> None:
    who = world.cloud("h1", "h2", pools=(pool(),))
    made = create(who, **boot_new())
    world.pump()
    first, tried = Volume.objects.get(), now(made).host
    world.fail_build(tried)
    world.pump()
    second = Volume.objects.get(instance_uuid=made.pk, state="creating")
    other = now(made).host
    assert {tried, other} == {"h1", "h2"}
    assert state(first) == VolumeState.DELETING
    assert Work.objects.filter(kind="volume_delete", subject=first.pk, queue=f"compute.{tried}").exists()
    assert second.pool is not None
    assert second.pool.host == other
    build(other)
    assert state(second) == VolumeState.IN_USE
    assert VolumeAttachment.objects.get(instance_uuid=made.pk).volume_id == second.pk


def test_a_build_that_cannot_be_done_anywhere_frees_all() -> None:
    who = world.cloud("h1", pools=(pool(),))
    data = volume(who, StoragePool.objects.get())
    said = boot_new()["block_device_mapping_v2"]
    made = create(who, image="", block_device_mapping_v2=[*said, {"source_type": "volume", "uuid": str(data.pk)}])
    world.pump()
    world.fail_build("h1", FailureClass.USER, "no such disk")
    assert now(made).vm_state == "error"
    assert state(data) == VolumeState.AVAILABLE
    assert not VolumeAttachment.objects.exists()
    assert not Volume.objects.filter(state="creating").exists()


@pytest.mark.parametrize("goes", [True, False])
def test_what_goes_with_its_instance_goes_and_the_rest_stays(goes: bool) -> None:
    who = world.cloud("h1", pools=(pool(),))
    root = volume(who, StoragePool.objects.get())
    made = create(who, **boot_from(root, delete_on_termination=goes))
    world.pump()
    build("h1")
    instance_delete(caller=who.member, instance_id=made.pk)
    assert state(root) == VolumeState.IN_USE
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    assert state(root) == (VolumeState.DELETING if goes else VolumeState.AVAILABLE)
    assert not BlockDeviceMapping.objects.exists()


def test_volume_that_cannot_go_stays_with_the_reason() -> None:
    who = world.cloud("h1", pools=(pool(),))
    root = volume(who, StoragePool.objects.get())
    root.snapshots.create(project_id=root.project_id, user_id=root.user_id, size_gib=1, state="available")
    made = create(who, **boot_from(root, delete_on_termination=True))
    world.pump()
    build("h1")
    instance_delete(caller=who.member, instance_id=made.pk)
    conductor_connect().deleted(lease=world.order("h1", WorkKind.DELETE).lease)
    assert now(made).vm_state == "deleted"
    root.refresh_from_db()
    assert root.state == VolumeState.AVAILABLE
    assert "was to be deleted with instance" in root.fault


def test_quota_counts_the_volumes_that_builds_will_make() -> None:
    who = world.cloud("h1", pools=(pool(),))
    Project.objects.filter(pk=who.member.project_id).update(quota_volumes=1)
    with pytest.raises(QuotaExceeded, match="volumes"):
        create(who, min_count=2, **boot_new())
    create(who, **boot_new())
    late = create(who, name="late", **boot_new())
    world.pump()
    assert now(late).vm_state == "error"
    assert "volumes" in InstanceFault.objects.get(instance_uuid=late.pk).message
    assert Volume.objects.count() == 1


def test_room_that_is_gone_by_the_claim_sends_the_build_to_the_next_host() -> None:
    who = world.cloud("h1", "h2", pools=(pool(gib=3),))
    made = [create(who, name=name, **boot_new()) for name in ("a", "b", "c")]
    world.pump()
    hosts = sorted(now(one).host for one in made)
    assert hosts == ["", "h1", "h2"]
    (left,) = (one for one in made if not now(one).host)
    assert now(left).vm_state == "error"
    assert Volume.objects.count() == 2


def test_only_the_build_that_makes_it_reads_the_image_of_a_volume() -> None:
    who = world.cloud("h1", pools=(pool(),))
    create(who, **boot_new())
    world.pump()
    taken = world.order("h1", WorkKind.BUILD)
    other = world.image("secret", visibility="private", project_id=who.stranger.project_id)
    with pytest.raises(NotFound):
        conductor_connect().image_chunks(lease=taken.lease, image_id=str(other.pk))
    with pytest.raises(KilonovaError) as without_bytes:  # it is the right one: there are just no bytes in this world
        list(conductor_connect().image_chunks(lease=taken.lease, image_id=str(Image.objects.get(name="demo").pk)))
    assert "made without this image" not in without_bytes.value.message


def act(who: world.People, one: Instance, verb: str) -> Any:
    return world.client_of(who.member).post(f"/api/instances/{one.pk}/actions/", {"action": verb}, format="json")


def done(host: str, kind: WorkKind, facts: Any = world.OFF) -> None:
    conductor_connect().action_done(lease=world.order(host, kind).lease, facts=facts)


def test_boot_from_a_volume_is_shelved_without_an_image_and_comes_back_where_its_pool_is() -> None:
    who = world.cloud("h1", "h2", pools=(pool("net", is_shared=True),))
    world.host("h3")
    root = volume(who, StoragePool.objects.get())
    made = create(who, **boot_from(root))
    world.pump()
    first = now(made).host
    build(first)
    assert act(who, made, "shelve").status_code == 202
    done(first, WorkKind.SHELVE_OFFLOAD)
    shelved = now(made)
    assert (shelved.vm_state, shelved.host, shelved.shelved_image_id) == ("shelved_offloaded", "", None)
    assert state(root) == VolumeState.RESERVED
    world.host(first, pools=())
    assert act(who, made, "unshelve").status_code == 202
    world.pump()
    other = now(made).host
    assert other in {"h1", "h2"} - {first}
    taken = world.order(other, WorkKind.UNSHELVE)
    assert not taken.guest.has_local_root
    assert taken.guest.volumes[0].make is None
    conductor_connect().action_done(lease=taken.lease, facts=world.RUNNING)
    assert (now(made).vm_state, state(root)) == ("active", VolumeState.IN_USE)


def test_what_makes_an_image_or_a_new_root_disk_is_refused_with_the_way_that_there_is() -> None:
    who = world.cloud("h1", pools=(pool(),))
    root = volume(who, StoragePool.objects.get())
    made = create(who, **boot_from(root))
    world.pump()
    build("h1")
    client = world.client_of(who.admin)
    for path, body, said in (
        ("actions", {"action": "backup", "name": "s", "backup_type": "d", "rotation": 1}, "backups of its volumes"),
        ("rebuild", {"image": "demo"}, "say reimage_boot_volume, and all on it is lost"),
        ("rebuild", {"reimage_boot_volume": True}, "name an image"),
        ("rescue", {}, "name one"),
    ):
        answer = client.post(f"/api/instances/{made.pk}/{path}/", body, format="json")
        assert answer.status_code == 409, answer.json()
        assert said in answer.json()["error"]["message"]


def test_trial_tells_what_a_volume_would_do_and_reserves_nothing() -> None:
    who = world.cloud("h1", pools=(pool(gib=1),))
    body = {"flavor": "m1.tiny", **boot_new()}
    run = world.client_of(who.member).post("/api/schedule/simulate/", body, format="json").json()
    assert (run["outcome"], run["reasons"][0]["reason"]) == ("no_valid_host", "volume_pool_short")
    assert "DISK_GB" not in run["resources"]
    told = world.client_of(who.member).post("/api/schedule/explain/", body, format="json").json()
    assert "ask for 1 GiB instead of 2 GiB" in str(told)
    assert not Volume.objects.exists()


def test_instance_shows_its_disks() -> None:
    who = world.cloud("h1", pools=(pool(),))
    root = volume(who, StoragePool.objects.get(), size_gib=3)
    made = create(who, **boot_from(root, disk_bus="sata"))
    client = world.client_of(who.reader)
    (waiting,) = client.get(f"/api/instances/{made.pk}/").json()["block_devices"]
    assert (waiting["volume_id"], waiting["source_id"], waiting["state"]) == (None, str(root.pk), "")
    world.pump()
    build("h1")
    shown = client.get(f"/api/instances/{made.pk}/").json()
    (disk,) = shown["block_devices"]
    assert (disk["volume_id"], disk["state"], disk["size_gib"], disk["device_name"]) == (
        str(root.pk),
        "attached",
        3,
        "sda",
    )
    assert shown["root_device_name"] == "/dev/sda"
    assert shown["image"] == {"id": None, "name": None}
