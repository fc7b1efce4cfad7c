"""Each act of a volume's page does what it says: the page's own form is sent, and rows and work are looked at."""

import re
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from servers.models import (
    BlockDeviceMapping,
    BuildRequest,
    Image,
    Instance,
    RequestSpec,
    StoragePool,
    Volume,
    VolumeAttachment,
    VolumeBackup,
    VolumeSnapshot,
    VolumeTransfer,
    VolumeType,
)
from servers.volumes.services.backups import BackupRequest, backup_create
from tests.pages.test_instance_pages import form
from tests.worlds.cloud import RUNNING, People, active, conductor_connect, order
from tests.worlds.volumes import backup_row, snapshot_made, storage_pool, volume_made, work_done, work_of

pytestmark = pytest.mark.django_db(transaction=True)
AsPerson = Callable[[Caller], Client]


@pytest.fixture
def pool(people: People) -> StoragePool:
    return storage_pool("shared", "h1", "h2")


@pytest.fixture
def volume(people: People, pool: StoragePool) -> Volume:
    return volume_made(people.member, size_gib=2, name="data")


@pytest.fixture
def member(people: People, as_person: AsPerson) -> Client:
    return as_person(people.member)


def form_on(client: Client, page: str, action: str) -> dict[str, str]:
    """{name: value} of the fields of a form of a page, by where it is sent. A box is not ticked."""
    found = re.search(rf'<form [^>]*action="{re.escape(action)}".*?</form>', client.get(page).text, re.DOTALL)
    assert found is not None, f"{page} has no form for {action}"
    fields = {}
    for tag, name in re.findall(r'(<(?:input|select)[^>]*? name="([^"]+)"[^>]*>)', found[0]):
        value = re.search(r' value="([^"]*)"', tag)
        fields[name] = value[1] if value and "checkbox" not in tag else ""
    del fields["csrfmiddlewaretoken"]
    return fields


def sent(client: Client, page: str, action: str, **filled: str) -> str:
    """Fill in that form, send it, and be led on: the page that comes, which says that it was begun."""
    fields = form_on(client, page, action)
    assert set(filled) <= set(fields)
    answer = client.post(action, {name: text for name, text in {**fields, **filled}.items() if text}, follow=True)
    assert answer.status_code == 200
    said = [(one.message, one.extra_tags) for one in answer.context["messages"]]
    assert [tag for _text, tag in said] == ["good"], said
    return answer.text


def acted(client: Client, volume: Volume, act: str, **filled: str) -> str:
    page = sent(client, f"/volumes/{volume.pk}/", f"/volumes/{volume.pk}/{act}/", **filled)
    Volume.objects.filter(pk=volume.pk).exists() and volume.refresh_from_db()
    return page


def kind_of_work(subject: UUID) -> str:
    return str(work_of(subject).kind)


def test_attach_and_detach(people: People, member: Client, volume: Volume) -> None:
    instance = active(people.member)
    acted(member, volume, "attach", instance=str(instance.pk), device="vdc")
    attachment = VolumeAttachment.objects.get(volume=volume)
    assert (volume.state, attachment.instance_uuid, attachment.device) == ("attaching", instance.pk, "vdc")
    assert work_of(instance.pk).arguments["volume_id"] == str(volume.pk)
    conductor_connect().action_done(lease=order(instance.host, WorkKind.ATTACH_VOLUME).lease, facts=RUNNING)
    page = acted(member, volume, "detach")
    assert "The guest is asked to let go of the volume." in page
    attachment.refresh_from_db()
    assert (volume.state, attachment.state) == ("detaching", "detaching")
    assert kind_of_work(instance.pk) == WorkKind.DETACH_VOLUME
    conductor_connect().action_done(lease=order(instance.host, WorkKind.DETACH_VOLUME).lease, facts=RUNNING)
    volume.refresh_from_db()
    assert (volume.state, VolumeAttachment.objects.count()) == ("available", 0)


def test_attach_says_how_the_guest_has_it(people: People, member: Client, volume: Volume) -> None:
    instance = active(people.member, "web-1")
    acted(member, volume, "attach", instance=str(instance.pk), tag="db", read_only="1", delete_on_termination="1")
    attachment = VolumeAttachment.objects.get(volume=volume)
    mapping = BlockDeviceMapping.objects.get(volume_id=volume.pk)
    assert (attachment.is_read_only, mapping.tag, mapping.delete_on_termination) == (True, "db", True)
    page = re.sub(r"<[^>]*>", "", member.get(f"/volumes/{volume.pk}/").text)
    assert "vdb read only, tag db, deleted with the instance" in page
    conductor_connect().action_done(lease=order(instance.host, WorkKind.ATTACH_VOLUME).lease, facts=RUNNING)
    other = volume_made(people.member, name="logs")
    said = {"instance": str(instance.pk), "tag": "db"}
    refused = member.post(f"/volumes/{other.pk}/attach/", said, follow=True)
    assert "Another disk of the instance has the tag db." in refused.text
    assert not VolumeAttachment.objects.filter(volume=other).exists()


def test_shared_volume_is_offered_to_instances_that_lack_it(people: People, member: Client, volume: Volume) -> None:
    one, other = active(people.member, "one"), active(people.member, "other")
    Volume.objects.update(is_multiattach=True, state="in-use")
    VolumeAttachment.objects.create(volume=volume, instance_uuid=one.pk, state="attached", is_shared=True)
    assert list(member.get(f"/volumes/{volume.pk}/").context["choices"]) == [other]


def test_attach_of_a_volume_that_can_only_be_read(people: People, member: Client, volume: Volume) -> None:
    Volume.objects.update(is_read_only=True)
    instance = active(people.member)
    assert "read_only" not in form_on(member, f"/volumes/{volume.pk}/", f"/volumes/{volume.pk}/attach/")
    acted(member, volume, "attach", instance=str(instance.pk))
    attachment = VolumeAttachment.objects.get(volume=volume)
    assert (attachment.instance_uuid, attachment.is_read_only) == (instance.pk, True)


def test_attach_from_the_instances_page(people: People, member: Client, volume: Volume) -> None:
    instance = active(people.member)
    said = {"volume": str(volume.pk), "device": "vdd", "tag": "db", "read_only": "on", "delete_on_termination": "on"}
    answer = member.post(f"/instances/{instance.pk}/volumes/", said)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/instances/{instance.pk}/")
    attachment = VolumeAttachment.objects.get(volume=volume)
    assert (attachment.instance_uuid, attachment.device, attachment.is_read_only) == (instance.pk, "vdd", True)
    assert kind_of_work(instance.pk) == WorkKind.ATTACH_VOLUME


def test_extend(member: Client, volume: Volume) -> None:
    acted(member, volume, "extend", size_gib="5")
    assert (volume.state, volume.size_gib, volume.wanted_gib) == ("extending", 2, 5)
    assert kind_of_work(volume.pk) == "volume_extend"
    work_done(volume.pk)
    volume.refresh_from_db()
    assert (volume.state, volume.size_gib) == ("available", 5)


def test_snapshot_and_its_end(member: Client, volume: Volume) -> None:
    acted(member, volume, "snapshot", name="before")
    snapshot = VolumeSnapshot.objects.get()
    assert (snapshot.volume_id, snapshot.name, snapshot.state) == (volume.pk, "before", "creating")
    work_done(snapshot.pk)
    sent(member, f"/volumes/{volume.pk}/", f"/volume-snapshots/{snapshot.pk}/delete/")
    snapshot.refresh_from_db()
    assert (snapshot.state, kind_of_work(snapshot.pk)) == ("deleting", "volume_snapshot_delete")


def test_revert(people: People, member: Client, volume: Volume) -> None:
    snapshot_made(people.member, volume)
    newest = snapshot_made(people.member, volume)
    acted(member, volume, "revert")
    work = work_of(volume.pk)
    assert (volume.state, work.kind) == ("reverting", "volume_revert")
    assert work.arguments["snapshot_id"] == str(newest.pk)


def test_retype_in_place_and_by_a_copy(people: People, member: Client, volume: Volume) -> None:
    fast = VolumeType.objects.create(name="fast", qos={"total_iops": 500})
    acted(member, volume, "retype", volume_type=str(fast.pk))
    assert (volume.state, volume.volume_type, volume.qos) == ("available", fast, {"total_iops": 500})
    other = storage_pool("other", "h1")
    far = VolumeType.objects.create(name="far", pools=["other"])
    acted(member, volume, "retype", volume_type=str(far.pk), may_move="1")
    assert (volume.state, volume.wanted_type, volume.wanted_pool) == ("retyping", far, other)
    assert kind_of_work(volume.pk) == "volume_retype"


def test_upload_to_an_image(people: People, member: Client, volume: Volume) -> None:
    acted(member, volume, "upload-image", name="golden")
    image = Image.objects.get(name="golden")
    assert (volume.state, kind_of_work(volume.pk)) == ("uploading", "volume_upload")
    assert (image.project_id, image.status) == (people.member.project_id, "queued")


def test_transfer_is_offered_taken_back_and_taken(
    people: People, as_person: AsPerson, member: Client, volume: Volume
) -> None:
    acted(member, volume, "transfer")
    assert (volume.state, VolumeTransfer.objects.get().volume_id) == ("awaiting-transfer", volume.pk)
    acted(member, volume, "transfer/end")
    assert (volume.state, VolumeTransfer.objects.count()) == ("available", 0)
    page = acted(member, volume, "transfer")
    told = re.search(r"Transfer (\S+), word (\S+): hand both", page)
    assert told is not None
    stranger = as_person(people.stranger)
    refused = stranger.post("/volumes/take/", {"transfer": told[1], "word": "guess"}, follow=True)
    assert "The word of the transfer is another one." in refused.text
    volume.refresh_from_db()
    assert volume.project_id == people.member.project_id
    sent(stranger, "/volumes/", "/volumes/take/", transfer=told[1], word=told[2])
    volume.refresh_from_db()
    assert (volume.state, volume.project_id) == ("available", people.stranger.project_id)


def test_backup_and_its_end(people: People, member: Client, volume: Volume) -> None:
    acted(member, volume, "backup", name="monday", keep_snapshot="1")
    backup = VolumeBackup.objects.get()
    assert (backup.volume_id, backup.name, backup.state) == (volume.pk, "monday", "creating")
    assert (backup.parent_id, backup.keeps_snapshot, backup.owns_snapshot) == (None, True, True)
    assert backup.snapshot_id is not None
    work_done(backup.snapshot_id)
    assert kind_of_work(backup.pk) == "volume_backup_create"
    VolumeBackup.objects.update(has_bytes=True)
    work_done(backup.pk)
    acted(member, volume, "backup", incremental="1")
    assert VolumeBackup.objects.exclude(pk=backup.pk).get().parent_id == backup.pk
    other = backup_create(caller=people.member, request=BackupRequest(volume.pk))
    sent(member, "/volume-backups/", f"/volume-backups/{other.pk}/delete/")
    other.refresh_from_db()
    assert other.state == "deleting"


def test_backup_is_restored_into_a_new_volume(member: Client, volume: Volume) -> None:
    backup = backup_row(volume, name="monday")
    listed = member.get("/volume-backups/").text
    link = re.search(r'href="(/volumes/new/\?source=backup:[^"]+)"', listed)
    assert link is not None
    said = member.get(link[1].replace("&amp;", "&")).context["form"].initial
    answer = member.post("/volumes/new/", {"name": "again", **said})
    made = Volume.objects.exclude(pk=volume.pk).get()
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/volumes/{made.pk}/")
    assert (made.name, made.size_gib, made.state) == ("again", 2, "creating")
    assert (made.source_kind, made.source_id, kind_of_work(made.pk)) == ("backup", backup.pk, "volume_create")


def test_delete(member: Client, volume: Volume) -> None:
    acted(member, volume, "delete")
    assert (volume.state, kind_of_work(volume.pk)) == ("deleting", "volume_delete")


@pytest.mark.parametrize(
    ("act", "filled", "reason"),
    [
        ("attach", {"instance": "x"}, "There is no instance"),
        ("detach", {}, "There is no instance"),
        ("extend", {"size_gib": "1"}, "Is 1 GiB; the volume has 2, and it only grows."),
        ("extend", {"size_gib": "-1"}, "The new size is a whole number of GiB."),
        ("revert", {}, "Name the snapshot."),
        ("retype", {"volume_type": "none such"}, "Volume type none such does not exist."),
        ("upload-image", {"name": ""}, "Must not be blank."),
        ("backup", {"incremental": "1"}, "Make a full one first."),
    ],
)
def test_refusal_stands_above_the_page_and_nothing_is_begun(
    member: Client, volume: Volume, act: str, filled: dict[str, str], reason: str
) -> None:
    answer = member.post(f"/volumes/{volume.pk}/{act}/", filled, follow=True)
    ((text, tag),) = [(str(one.message), one.extra_tags) for one in answer.context["messages"]]
    assert tag == "bad"
    assert reason in text
    assert Volume.objects.get().state == "available"
    assert not Work.objects.filter(state__in=OPEN_STATES).exists()
    assert not VolumeBackup.objects.exists()


def boot_form(**changes: Any) -> dict[str, Any]:
    return {**form(), **changes}


def devices_of_request() -> list[Any]:
    return list(RequestSpec.objects.get().typed_body.block_devices or ())


def test_create_form_boots_from_a_volume_that_is_there(people: People, member: Client, volume: Volume) -> None:
    Volume.objects.update(is_bootable=True)
    other = volume_made(people.member, name="logs")
    page = member.get("/instances/create/").text
    assert f'value="volume:{volume.pk}"' in page
    assert f'value="volume:{other.pk}"' not in page, "nothing boots from it"
    asked = boot_form(boot_from=f"volume:{volume.pk}", more_volumes=[str(other.pk)])
    assert member.post("/instances/create/", asked).status_code == 302
    root, besides = devices_of_request()
    assert (root.source_id, root.boot_index, root.is_root) == (volume.pk, 0, True)
    assert (besides.source_id, besides.boot_index) == (other.pk, -1)
    reserved = VolumeAttachment.objects.filter(instance_uuid=BuildRequest.objects.get().instance_uuid)
    assert {(one.volume_id, one.state) for one in reserved} == {(volume.pk, "reserved"), (other.pk, "reserved")}
    assert set(Volume.objects.values_list("state", flat=True)) == {"reserved"}
    assert not Instance.objects.exists()


def test_create_form_boots_from_a_new_volume(people: People, member: Client, pool: StoragePool) -> None:
    fast = VolumeType.objects.create(name="fast")
    asked = boot_form(boot_from="new", boot_size_gib="3", boot_volume_type=str(fast.pk), boot_stays="on")
    assert member.post("/instances/create/", asked).status_code == 302
    (root,) = devices_of_request()
    assert (root.makes_volume, root.is_root, root.size_gib) == (True, True, 3)
    assert (root.volume_type_id, root.delete_on_termination) == (fast.pk, False)
    assert root.source_id == Image.objects.get().pk


def test_create_form_says_what_is_wrong_with_its_volume(people: People, member: Client, volume: Volume) -> None:
    Volume.objects.update(is_bootable=True)
    for asked in (boot_form(boot_from=f"volume:{volume.pk}", min_count="2"), boot_form(boot_from="volume:none")):
        answer = member.post("/instances/create/", asked)
        assert answer.status_code == 200
        assert "boot_from" in answer.context["form"].errors
    assert not BuildRequest.objects.exists()
    assert Volume.objects.get().state == "available"
