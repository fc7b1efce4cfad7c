"""Pages of volumes: lists, one volume, forms with refusals at their fields, and who may what."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from servers.models import (
    Instance,
    StoragePool,
    StoragePoolHost,
    Volume,
    VolumeAttachment,
    VolumeBackup,
    VolumeSnapshot,
    VolumeType,
)
from tests.fixtures.remembering import remembered
from tests.worlds.cloud import People
from tests.worlds.volumes import backup_row

AsPerson = Callable[[Caller], Client]
PERSONS = ("admin", "member", "reader", "stranger")
SOMEWHERE = uuid.UUID(int=10)


@dataclass
class World:
    """A volume of the member's project that an instance has, with a snapshot, of a type, in a pool of one host."""

    volume: Volume
    snapshot: VolumeSnapshot
    backup: VolumeBackup
    type: VolumeType
    pool: StoragePool
    instance: Instance

    @property
    def ids(self) -> dict[str, uuid.UUID]:
        return {
            "volume": self.volume.pk,
            "snapshot": self.snapshot.pk,
            "backup": self.backup.pk,
            "type": self.type.pk,
            "pool": self.pool.pk,
        }


def volume(of: Caller, name: str, pool: StoragePool, **more: object) -> Volume:
    fields = {"size_gib": 2, "state": "available", **more}
    return Volume.objects.create(project_id=of.project_id, user_id=of.user_id, name=name, pool=pool, **fields)


@pytest.fixture
@remembered
def world(people: People) -> World:
    pool = StoragePool.objects.create(
        name="local", kind="file", host="h1", total_bytes=10 * 2**30, free_bytes=4 * 2**30, reported_at=Now()
    )
    StoragePoolHost.objects.create(pool=pool, host="h1", problem="the disk is read-only", reported_at=Now())
    kind = VolumeType.objects.create(name="fast", is_default=True, qos={"total_iops": 1500, "total_bytes": 2**26})
    instance = Instance.objects.create(
        project_id=people.member.project_id, user_id=people.member.user_id, name="web-1", host="h1", flavor={},
        flavor_id=uuid.uuid4(), vcpus=1, memory_mib=64, vm_state="active",
    )  # fmt: skip
    disk = volume(people.member, "data", pool, volume_type=kind, state="in-use", qos=kind.qos, fault="It was slow.")
    VolumeAttachment.objects.create(
        volume=disk, instance_uuid=instance.pk, state="attached", device="vdb", problem="the guest did not let go"
    )
    snapshot = VolumeSnapshot.objects.create(
        volume=disk, project_id=disk.project_id, user_id=disk.user_id, name="before", size_gib=2, state="available",
        is_consistent=True, frozen_ms=380,
    )  # fmt: skip
    return World(disk, snapshot, backup_row(disk, name="monday"), kind, pool, instance)


PAGES = {
    "/volumes/": (200, 200, 200, 200),
    "/volumes/new/": (200, 200, 403, 200),
    "/volumes/{volume}/": (200, 200, 200, 404),
    "/volumes/{volume}/edit/": (200, 200, 403, 404),
    "/volume-snapshots/": (200, 200, 200, 200),
    "/volume-snapshots/{snapshot}/edit/": (200, 200, 403, 404),
    "/volume-backups/": (200, 200, 200, 200),
    "/volume-backups/{backup}/edit/": (200, 200, 403, 404),
    "/volume-backups/{backup}/restore/": (200, 200, 403, 404),
    f"/volume-backups/{SOMEWHERE}/restore/": (404, 404, 403, 404),
    "/volume-types/": (200, 200, 200, 200),
    "/volume-types/new/": (200, 403, 403, 403),
    "/volume-types/{type}/edit/": (200, 403, 403, 403),
    "/storage-pools/": (200, 403, 403, 403),
    "/storage-pools/{pool}/": (200, 403, 403, 403),
    f"/volumes/{SOMEWHERE}/": (404, 404, 404, 404),
    f"/storage-pools/{SOMEWHERE}/": (404, 403, 403, 403),
}
POSTS = {
    "/volumes/{volume}/attach/": (302, 302, 403, 302),
    "/volumes/{volume}/detach/": (302, 302, 403, 302),
    "/volumes/{volume}/extend/": (302, 302, 403, 302),
    "/volumes/{volume}/snapshot/": (302, 302, 403, 302),
    "/volumes/{volume}/revert/": (302, 302, 403, 302),
    "/volumes/{volume}/retype/": (302, 302, 403, 302),
    "/volumes/{volume}/upload-image/": (302, 302, 403, 302),
    "/volumes/{volume}/transfer/": (302, 302, 403, 302),
    "/volumes/{volume}/backup/": (302, 302, 403, 302),
    f"/volume-backups/{SOMEWHERE}/delete/": (404, 404, 403, 404),
    "/volumes/{volume}/delete/": (302, 302, 403, 404),
    "/volume-snapshots/{snapshot}/delete/": (302, 302, 403, 404),
    "/volumes/{volume}/reset-state/": (302, 403, 403, 403),
    "/volume-snapshots/{snapshot}/reset-state/": (302, 403, 403, 403),
    f"/volume-snapshots/{SOMEWHERE}/reset-state/": (404, 403, 403, 403),
    "/volume-backups/{backup}/reset-state/": (302, 403, 403, 403),
    f"/volume-backups/{SOMEWHERE}/reset-state/": (404, 403, 403, 403),
    "/volume-snapshots/{snapshot}/edit/": (302, 302, 403, 404),
    "/volume-backups/{backup}/edit/": (302, 302, 403, 404),
    "/volume-backups/{backup}/restore/": (200, 200, 403, 404),
    "/volume-types/{type}/delete/": (409, 403, 403, 403),
}


@pytest.mark.parametrize("path", PAGES)
def test_page_by_role(path: str, world: World, people: People, as_person: AsPerson) -> None:
    there = path.format(**world.ids)
    browsers = [as_person(getattr(people, person)) for person in PERSONS]
    found = [browser.get(there).status_code for browser in browsers]
    assert dict(zip(PERSONS, found, strict=True)) == dict(zip(PERSONS, PAGES[path], strict=True))


@pytest.mark.parametrize("path", POSTS)
def test_form_by_role(path: str, world: World, people: People, as_person: AsPerson) -> None:
    """Who may least comes first: what they changed would show in what the others are answered."""
    browsers = {person: as_person(getattr(people, person)) for person in reversed(PERSONS)}
    for person, browser in browsers.items():
        answer = browser.post(path.format(**world.ids))
        assert answer.status_code == POSTS[path][PERSONS.index(person)], person
        world.volume.refresh_from_db()
        assert (world.volume.state, world.volume.size_gib) == ("in-use", 2) or person in ("admin", "member")


@pytest.mark.parametrize("path", ["/volumes/", "/volumes/new/", "/volume-types/"])
def test_nobody_is_asked_to_log_in(path: str, world: World) -> None:
    assert Client().get(path).status_code == 302


def test_list_says_who_has_it_and_what_is_wrong(world: World, people: People, as_person: AsPerson) -> None:
    text = as_person(people.member).get("/volumes/").content.decode()
    for part in ("data", "in-use", "2 GiB", "web-1", "vdb", "fast", "It was slow."):
        assert part in text
    assert "local of h1" not in text, "where it is stored is for administrators"
    assert "local of h1" in as_person(people.admin).get("/volumes/").content.decode()
    assert "It was slow." not in as_person(people.stranger).get("/volumes/").content.decode()


def test_empty_lists_say_what_to_do(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    assert "No volumes yet" in client.get("/volumes/").content.decode()
    assert "Nothing matches" in client.get("/volumes/?q=x").content.decode()
    assert "No snapshots yet" in client.get("/volume-snapshots/").content.decode()
    assert "No backups yet" in client.get("/volume-backups/").content.decode()
    assert "No volume types yet" in client.get("/volume-types/").content.decode()
    assert "VOLUME_POOLS" in client.get("/storage-pools/").content.decode()


def test_page_of_one_says_all_of_it(world: World, people: People, as_person: AsPerson) -> None:
    text = as_person(people.member).get(f"/volumes/{world.volume.pk}/").content.decode()
    for part in (
        "the guest did not let go", "1,500 requests, 64 MiB a second", "file systems stood still for 380 ms",
        "On one host", "Take it from web-1", "An instance has it, so it is refused",
    ):  # fmt: skip
        assert part in text
    reader = as_person(people.reader).get(f"/volumes/{world.volume.pk}/").content.decode()
    assert '<form method="post" action="/volumes/' not in reader


def test_metadata_that_is_said_twice_is_refused_at_its_line(world: World, people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    said = {"name": "data", "metadata": "team = red\nteam = blue"}
    answer = client.post(f"/volumes/{world.volume.pk}/edit/", said)
    assert "Line 2 has the key team once more." in answer.content.decode()
    world.volume.refresh_from_db()
    assert world.volume.metadata == {}


def test_live_part_is_for_htmx_and_ends_with_the_volume(world: World, people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    live = client.get(f"/volumes/{world.volume.pk}/", HTTP_HX_REQUEST="true").content.decode()
    assert live.lstrip().startswith('<div id="live"')
    assert "<html" not in live
    assert client.get(f"/volumes/{SOMEWHERE}/", HTTP_HX_REQUEST="true").status_code == 286


def test_pool_says_who_reaches_it(world: World, people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    text = client.get("/storage-pools/").content.decode()
    assert "4 GiB free" in text
    assert "1 with a problem" in text
    text = client.get(f"/storage-pools/{world.pool.pk}/").content.decode()
    assert "the disk is read-only" in text
    assert "data" in text


def test_host_says_which_pools_it_reaches(world: World, people: People, as_person: AsPerson) -> None:
    text = as_person(people.admin).get("/hosts/h1/").content.decode()
    assert "Storage pools" in text
    assert "the disk is read-only" in text
    assert "4 GiB measured free; 1 volume" in text
    assert "Storage pools" not in as_person(people.admin).get("/hosts/h2/").content.decode()


def test_type_is_made_changed_and_refused_at_its_field(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    said = {"name": "gold", "is_public": "on", "qos_total_iops": "500", "qos_read_iops": "5"}
    refused = client.post("/volume-types/new/", said)
    assert refused.status_code == 200
    assert "cannot stand beside" in refused.content.decode()
    assert not VolumeType.objects.exists()
    made = client.post("/volume-types/new/", {**said, "qos_read_iops": "", "kinds": ["rbd"], "pools": "a, b"})
    assert made.status_code == 302
    row = VolumeType.objects.get()
    assert (row.qos, row.kinds, row.pools) == ({"total_iops": 500}, ["rbd"], ["a", "b"])
    client.post(f"/volume-types/{row.pk}/edit/", {"name": "silver", "is_public": "on"})
    row.refresh_from_db()
    assert (row.name, row.qos, row.kinds) == ("silver", {}, [])


def test_twenty_volumes_cost_the_queries_of_one(world: World, people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)

    def queries(path: str) -> int:
        client.get(path)
        with CaptureQueriesContext(connection) as seen:
            assert client.get(path).status_code == 200
        return len(seen)

    paths = ("/volumes/", "/volume-snapshots/", "/storage-pools/", f"/storage-pools/{world.pool.pk}/")
    few = [queries(path) for path in paths]
    for number in range(20):
        more = volume(people.member, f"more-{number}", world.pool)
        VolumeSnapshot.objects.create(
            volume=more, project_id=more.project_id, user_id=more.user_id, size_gib=2, state="available"
        )
        StoragePool.objects.create(name=f"p{number}", kind="file", host="h2")
    assert [queries(path) for path in paths] == few
