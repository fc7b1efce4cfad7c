"""With CROSS_AZ_ATTACH off an instance is where its volumes are, at every door that asks for one, and stays there."""

from typing import Any
from uuid import UUID

import pytest

from computeagent.protocol.volumes import PoolKind
from controlplane.kernel.errors import InvalidFields
from scheduling.fleet.services.aggregates import aggregate_create
from servers.instances.domain.request_changes import RequestChanges
from servers.instances.services.act import instance_act
from servers.instances.services.schedule_again import instance_schedule_again
from servers.models import BuildRequest, Flavor, Image, Instance, RequestSpec, Volume, VolumeAttachment
from servers.volumes.domain.states import VolumeState
from tests.worlds import cloud as world
from tests.worlds.attachments import pool_row, volume_in
from tests.worlds.compute_door import NEWEST, ComputeClient, fault_of

pytestmark = pytest.mark.django_db(transaction=True)
BDM = "block_device_mapping_v2"
APART = "is in zone az2, and another volume of the instance in az1. (MismatchVolumeAZException)"
GONE = "is in zone az3, which there is no more. (MismatchVolumeAZException)"


@pytest.fixture
def who(settings: Any) -> world.People:
    settings.KILONOVA = {**settings.KILONOVA, "CROSS_AZ_ATTACH": False}
    people = world.cloud()
    pool = pool_row("shared", "h1", kind=PoolKind.RBD)
    for zone in ("az1", "az2"):
        aggregate_create(name=zone, availability_zone=zone)
    for name, zone in {"one": "az1", "also": "az1", "two": "az2", "three": "az3", "default": "nova", "any": ""}.items():
        volume_in(pool, people.member.project_id, name=name, availability_zone=zone)
    return people


def disks(*names: str) -> list[dict[str, Any]]:
    ids = {one.name: str(one.pk) for one in Volume.objects.all()}
    return [
        {"source_type": "volume", "destination_type": "volume", "uuid": ids[name], "boot_index": -1} for name in names
    ]


def asked(who: world.People, *names: str, **more: Any) -> Any:
    body = {"name": "vm", "flavor": "m1.tiny", "image": "demo", "networks": [], BDM: disks(*names), **more}
    return world.client_of(who.member).post("/api/instances/", body, format="json")


def zones() -> tuple[str, str]:
    """Of the newest request: in its spec, and of the instance that is to be."""
    request = BuildRequest.objects.latest("pk")
    spec = RequestSpec.objects.get(instance_uuid=request.instance_uuid)
    return spec.typed_body.availability_zone, request.typed_body.availability_zone


@pytest.mark.parametrize(
    ("names", "more", "zone"),
    [
        (["one"], {}, "az1"),
        (["any", "two"], {}, "az2"),
        (["one", "also"], {}, "az1"),
        (["default"], {}, "nova"),
        (["any"], {}, ""),
        (["any"], {"availability_zone": "az2"}, "az2"),
        (["one"], {"availability_zone": "az1"}, "az1"),
        ([], {}, ""),
    ],
)
def test_instance_is_in_the_zone_of_its_volumes(
    who: world.People, names: list[str], more: dict[str, Any], zone: str
) -> None:
    answer = asked(who, *names, **more)
    assert answer.status_code == 202, answer.json()
    assert zones() == (zone, zone)


@pytest.mark.parametrize(
    ("names", "more", "place", "said"),
    [
        (["one", "two"], {}, 1, APART),
        (["any", "one", "also", "two"], {}, 3, APART),
        (["three"], {}, 0, GONE),
        (["two"], {"availability_zone": "az1"}, 0, "and the instance in az1. (MismatchVolumeAZException)"),
    ],
)
def test_volumes_of_two_zones_are_refused_at_their_place(
    who: world.People, names: list[str], more: dict[str, Any], place: int, said: str
) -> None:
    answer = asked(who, *names, **more)
    assert answer.status_code == 400
    ((field, reasons),) = answer.json()["error"]["reasons"].items()
    assert (field, len(reasons)) == (f"{BDM}.{place}.uuid", 1)
    assert said in reasons[0]
    assert not BuildRequest.objects.exists()
    assert set(Volume.objects.values_list("state", flat=True)) == {VolumeState.AVAILABLE}


def test_where_zones_are_crossed_nothing_is_taken_from_volumes(who: world.People, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "CROSS_AZ_ATTACH": True}
    assert asked(who, "one", "two", "three").status_code == 202
    assert zones() == ("", "")


def test_a_forced_host_is_asked_for_in_the_zone_of_the_volumes(who: world.People) -> None:
    body = {"name": "vm", "flavor": "m1.tiny", "image": "demo", "networks": [], BDM: disks("one")}
    answer = world.client_of(who.admin).post("/api/instances/", {**body, "availability_zone": ":h1"}, format="json")
    assert answer.status_code == 202, answer.json()
    asked_for = RequestSpec.objects.get().typed_body
    assert (asked_for.availability_zone, asked_for.force_host) == ("az1", "h1")


def test_the_compute_door_does_the_same(who: world.People) -> None:
    member = ComputeClient(who.member, minor=NEWEST)
    server = {
        "name": "vm",
        "flavorRef": str(Flavor.objects.get().pk),
        "imageRef": str(Image.objects.get().pk),
        "networks": "none",
    }

    def create(*names: str) -> Any:
        root = {"uuid": server["imageRef"], "source_type": "image", "destination_type": "local", "boot_index": 0}
        return member.call("POST", "/servers", {"server": {**server, BDM: [root, *disks(*names)]}})

    assert APART in fault_of(create("one", "two"), 400, "badRequest")
    made = create("two")
    assert made.status_code == 202, made.content
    shown = member.get(f"/servers/{made.json()['server']['id']}")["server"]
    assert zones() == ("az2", "az2")
    assert shown["OS-EXT-AZ:availability_zone"] == "az2"


def test_a_trial_says_what_a_create_would_do(who: world.People) -> None:
    body = {"flavor": "m1.tiny", "image": "demo", "count": 1, BDM: disks("one")}
    answer = world.client_of(who.member).post("/api/schedule/simulate/", body, format="json")
    assert answer.status_code == 200, answer.json()
    assert "az1" in str(answer.json())
    refused = world.client_of(who.member).post(
        "/api/schedule/simulate/", {**body, BDM: disks("one", "two")}, format="json"
    )
    assert (refused.status_code, APART in str(refused.json())) == (400, True)


def in_cell0(who: world.People) -> Instance:
    """No host is in az1."""
    made: UUID = UUID(asked(who, "one").json()["id"])
    world.pump()
    return world.instance_of(made)


def test_asked_for_again_it_stays_with_its_volumes(who: world.People) -> None:
    old = in_cell0(who)
    assert (old.vm_state, old.availability_zone) == ("error", "az1")
    with pytest.raises(InvalidFields) as refused:
        instance_schedule_again(instance_id=old.pk, caller=who.member, changes=RequestChanges(availability_zone="az2"))
    assert list(refused.value.errors) == ["availability_zone"]
    assert "is in zone az1, and the instance in az2. (MismatchVolumeAZException)" in str(refused.value.errors)
    instance_schedule_again(instance_id=old.pk, caller=who.member, changes=RequestChanges(availability_zone=""))
    assert zones()[0] == "az1"


def test_unshelved_into_another_zone_than_its_volumes_it_is_refused(who: world.People) -> None:
    made = world.active(who.member)
    Instance.objects.filter(pk=made.pk).update(
        vm_state="shelved_offloaded", host="", node="", image_id=None, has_block_devices=True
    )
    VolumeAttachment.objects.create(
        volume=Volume.objects.get(name="one"), instance_uuid=made.pk, state="reserved", is_shared=False
    )

    def unshelve(zone: str) -> Instance:
        arguments = {"availability_zone": zone}
        return instance_act(caller=who.member, instance_id=made.pk, action="unshelve", arguments=arguments)

    with pytest.raises(InvalidFields) as refused:
        unshelve("az2")
    assert list(refused.value.errors) == ["availability_zone"]
    assert world.instance_of(made.pk).task_state == ""
    assert unshelve("az1").task_state == "unshelving"
