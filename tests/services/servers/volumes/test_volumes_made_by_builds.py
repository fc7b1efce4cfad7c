"""An agent's build makes the volumes of its instance: once, of the right bytes, and nothing of them when it fails."""

import io
from pathlib import Path
from typing import Any

import pytest

from computeagent.agent.dispatch import HANDLERS
from computeagent.protocol.volumes import PoolAbility, PoolKind, VolumeSpec
from computeagent.protocol.work import WorkKind
from computeagent.volumes.memory import MemoryBackend
from controlplane.work.models import Work
from scheduling.models import Service
from scheduling.policies.services.policies import policy_create
from servers.images.services.image import image_create
from servers.images.services.image_store import image_upload
from servers.instances.domain.rebuild_rules import InstanceRebuild
from servers.instances.services.delete import instance_delete
from servers.instances.services.rescue import instance_rebuild
from servers.models import Image, Instance, Volume, VolumeType
from servers.volumes.domain.errors import InvalidVolume
from tests.worlds import cloud as world
from tests.worlds.agent_hands import DISK, Hands, people_and_image

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def store(settings: Any, tmp_path: Path) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "IMAGE_DIR": tmp_path / "images", "IMAGE_RESERVE_BYTES": 0}


def boot_new(**more: Any) -> dict[str, Any]:
    image = str(Image.objects.get(name="demo").pk)
    made = {"source_type": "image", "destination_type": "volume", "uuid": image, "volume_size": 1, "boot_index": 0}
    return {"image": "", "block_device_mapping_v2": [{**made, **more}]}


def asked(who: world.People, **more: Any) -> Instance:
    (made,) = world.create(who.member, **more)
    world.pump()
    return Instance.objects.get(pk=made.pk)


def begins_with(pool: MemoryBackend, volume: Volume) -> bytes:
    spec = VolumeSpec(str(volume.pk), "local", PoolKind.FILE, volume.size_gib)
    pool.snapshot_create(spec, "now", lambda _done, _total: None)
    found = b"".join(data for _, data in pool.read(spec, "now"))
    pool.snapshot_delete(spec, "now")
    return found


def test_the_root_volume_has_the_images_bytes_and_the_guest_runs(tmp_path: Path) -> None:
    who, pool = people_and_image(), MemoryBackend("local")
    h1 = Hands("h1", tmp_path, pools=[pool])
    data = {"source_type": "blank", "destination_type": "volume", "volume_size": 3, "delete_on_termination": True}
    devices = [*boot_new()["block_device_mapping_v2"], data]
    made = asked(who, image="", block_device_mapping_v2=devices)
    h1.do(WorkKind.BUILD)
    made.refresh_from_db()
    assert made.vm_state == "active"
    root, blank = (Volume.objects.get(source_kind=kind) for kind in ("image", "blank"))
    assert (root.state, blank.state, root.instance_uuid) == ("in-use", "in-use", None)
    assert begins_with(pool, root) == DISK
    assert pool.connected == {str(root.pk), str(blank.pk)}
    instance_delete(caller=who.member, instance_id=made.pk)
    h1.do(WorkKind.DELETE)
    assert pool.connected == set()
    h1.do_volumes()
    assert list(Volume.objects.values_list("pk", "state")) == [(root.pk, "available")]
    assert pool.held()[0] == (str(root.pk),)


def test_the_volume_stays_and_boots_another_on_another_host(tmp_path: Path) -> None:
    who, state = people_and_image(), tmp_path / "net.json"
    hands = {
        name: Hands(name, tmp_path / name, pools=[MemoryBackend("net", state, is_shared=True)]) for name in ("h1", "h2")
    }
    made = asked(who, **boot_new())
    hands[made.host].do(WorkKind.BUILD)
    (root,) = Volume.objects.all()
    instance_delete(caller=who.member, instance_id=made.pk)
    hands[made.host].do(WorkKind.DELETE)
    other = next(name for name in hands if name != made.host)
    said = {"source_type": "volume", "uuid": str(root.pk), "boot_index": 0}
    Service.objects.filter(host=made.host).update(disabled=True)
    again = asked(who, name="again", image="", block_device_mapping_v2=[said])
    assert again.host == other
    hands[again.host].do(WorkKind.BUILD)
    again.refresh_from_db()
    root.refresh_from_db()
    assert (again.vm_state, root.state) == ("active", "in-use")


def test_a_host_that_cannot_make_it_leaves_nothing_and_the_next_one_does(tmp_path: Path) -> None:
    who = people_and_image()
    pools = {name: MemoryBackend("local", tmp_path / f"{name}.json") for name in ("h1", "h2")}
    hands = {name: Hands(name, tmp_path / name, pools=[pool]) for name, pool in pools.items()}
    made = asked(who, **boot_new())
    first = made.host
    pools[first].faults["connect"] = "no way to it"  # made, and then not to be had
    hands[first].do(WorkKind.BUILD)
    world.pump()
    made.refresh_from_db()
    assert made.host not in ("", first)
    hands[made.host].do(WorkKind.BUILD)
    made.refresh_from_db()
    assert made.vm_state == "active"
    assert len(pools[first].held()[0]) == 1
    hands[first].do_volumes()
    assert pools[first].held()[0] == ()
    assert list(Volume.objects.values_list("state", flat=True)) == ["in-use"]


def test_a_build_that_is_cut_off_after_it_made_the_volume_goes_on_with_it(tmp_path: Path) -> None:
    who, pool = people_and_image(), MemoryBackend("local")
    h1 = Hands("h1", tmp_path, pools=[pool])
    made = asked(who, **boot_new())
    taken = h1.take(WorkKind.BUILD)
    h1.conductor.build_done, whole = _cut_off, h1.conductor.build_done
    with pytest.raises(KeyboardInterrupt):
        HANDLERS[WorkKind.BUILD](h1.context, taken)
    h1.conductor.build_done = whole
    assert len(pool.held()[0]) == 1
    Work.objects.filter(subject=made.pk).update(lease_until="2001-01-01T00:00:00Z")
    h1.do(WorkKind.BUILD)
    made.refresh_from_db()
    assert made.vm_state == "active"
    (root,) = Volume.objects.all()
    assert (root.state, pool.held()[0]) == ("in-use", (str(root.pk),))


def _cut_off(**_said: Any) -> None:
    raise KeyboardInterrupt


def test_a_rebuild_makes_the_root_volume_anew_where_that_is_asked_for(tmp_path: Path) -> None:
    who, pool = people_and_image(), MemoryBackend("local")
    other = b"another disk" * 50
    image = image_create(caller=None, name="other", visibility="public", disk_format="raw")
    image_upload(caller=None, image_id=image.pk, stream=io.BytesIO(other))
    h1 = Hands("h1", tmp_path, pools=[pool])
    made = asked(who, **boot_new())
    h1.do(WorkKind.BUILD)
    root = Volume.objects.get()
    snapshot = root.snapshots.create(project_id=root.project_id, user_id=root.user_id, size_gib=1, state="available")
    wanted = InstanceRebuild(image="other", reimage_boot_volume=True)
    with pytest.raises(InvalidVolume, match="has snapshots"):
        instance_rebuild(caller=who.member, instance_id=made.pk, wanted=wanted)
    snapshot.delete()

    instance_rebuild(caller=who.member, instance_id=made.pk, wanted=wanted)
    pool.faults["create"] = "no room"
    h1.do(WorkKind.REBUILD)
    made.refresh_from_db()
    root.refresh_from_db()
    assert (made.vm_state, root.state, root.instance_uuid, pool.held()[0]) == ("error", "in-use", None, ())
    assert "half-made" in root.fault

    del pool.faults["create"]
    instance_rebuild(caller=who.member, instance_id=made.pk, wanted=wanted)
    h1.do(WorkKind.REBUILD)
    made.refresh_from_db()
    root.refresh_from_db()
    assert (made.vm_state, made.image["name"], made.image_id) == ("active", "other", None)
    assert (root.state, root.fault, root.instance_uuid, root.image["name"]) == ("in-use", "", None, "other")
    assert begins_with(pool, root) == other


def test_pool_that_cannot_encrypt_gets_no_encrypted_volume(tmp_path: Path) -> None:
    who = people_and_image()
    VolumeType.objects.create(name="sealed", is_encrypted=True)
    plain = tuple(one for one in PoolAbility if one is not PoolAbility.ENCRYPT)
    Hands("h1", tmp_path / "h1", pools=[MemoryBackend("local", abilities=plain)])
    h2 = Hands("h2", tmp_path / "h2", pools=[MemoryBackend("local")])
    made = asked(who, **boot_new(volume_type="sealed"))
    assert made.host == "h2"
    h2.do(WorkKind.BUILD)
    root = Volume.objects.get()
    assert (root.is_encrypted, root.state) == (True, "in-use")


def test_owner_is_told_that_no_pool_has_room_and_operators_of_which_and_how_much(tmp_path: Path) -> None:
    """The first volume is made where most is free, and leaves too little for the second; what says that the host was
    tried is a filter, which a forced host skips.
    """
    who = people_and_image()
    policy_create(body={"filters": ["RetryFilter"]}, activate=True)
    sizes = {"a-secret": 4, "b-secret": 10}
    Hands("h1", tmp_path, pools=[MemoryBackend(name, total_gib=gib) for name, gib in sizes.items()])
    data = {"source_type": "blank", "destination_type": "volume", "volume_size": 10}
    devices = [*boot_new(volume_size=4)["block_device_mapping_v2"], data]
    (made,) = world.create(who.admin, image="", block_device_mapping_v2=devices, availability_zone="nova:h1")
    world.pump()
    clients = [world.client_of(caller) for caller in (who.member, who.admin)]

    member, admin = (one.get(f"/api/instances/{made.pk}/").json() for one in clients)

    begins = "No host is left after 1 of 3 attempts: No storage pool can have the volume."
    assert member["vm_state"] == "error"
    assert member["fault"]["message"] == admin["fault"]["message"] == f"{begins} 2 pools: has less than 10 GiB free."
    assert admin["fault"]["details"] == (
        "No pool can have the volume. "
        "a-secret: wants 10 GiB, has 4 of 4 GiB free; b-secret: wants 10 GiB, has 6 of 10 GiB free."
    )
    told, known = (one.get(f"/api/instances/{made.pk}/journey/").text for one in clients)
    for text in ("-secret", "6 of 10"):
        assert (text in str(member), text in told, text in known) == (False, False, True)
