"""What forms of actions offer: volumes, networks and cards by their names, and nobody else's."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.dashboard.instances.action_choices import MAX_CHOICES
from controlplane.identity.domain import Caller
from controlplane.identity.models import Project
from controlplane.work.models import Work
from servers.models import BlockDeviceMapping, Instance, Network, Port, Volume, VolumeAttachment
from servers.networks.domain.names import PortOwner
from servers.volumes.domain.states import VolumeState
from tests.worlds.cloud import People, active
from tests.worlds.routing import guest_port, inside
from tests.worlds.volumes import storage_pool, volume_row

AsPerson = Callable[[Caller], Client]


@pytest.fixture
def instance(people: People) -> Instance:
    return active(people.member)


def offered(client: Client, instance: Instance, action: str, argument: str) -> dict[str, str]:
    """{value: words} of the list in its form."""
    page = client.get(f"/instances/{instance.pk}/act/{action}/").text
    chooser = page.partition(f'<select name="{argument}"')[2].partition("</select>")[0]
    return dict(re.findall(r'<option value="([^"]*)"[^>]*>([^<]*)</option>', chooser))


def volume(people: People, name: str, **fields: object) -> Volume:
    return volume_row(Project.objects.get(pk=people.member.project_id), name=name, **fields)  # type: ignore[arg-type]


def attached(instance: Instance, one: Volume, *, boot_index: int = -1) -> None:
    attachment = VolumeAttachment.objects.create(volume=one, instance_uuid=instance.pk, state="attached")
    BlockDeviceMapping.objects.create(
        instance_uuid=instance.pk,
        position=0,
        source_type="volume",
        destination_type="volume",
        volume_id=one.pk,
        attachment_id=attachment.pk,
        boot_index=boot_index,
        device="vda" if boot_index == 0 else "vdb",
        size_gib=one.size_gib,
    )
    Instance.objects.filter(pk=instance.pk).update(has_block_devices=True)


def test_volumes_that_can_be_attached_are_offered_by_name_and_size(
    people: People, as_person: AsPerson, instance: Instance
) -> None:
    client, url = as_person(people.member), f"/instances/{instance.pk}/act/attach_volume/"
    assert offered(client, instance, "attach_volume", "volume") == {"": "none"}
    pool = storage_pool("shared", instance.host)
    free = volume(people, "data", size_gib=3, pool=pool)
    many = volume(people, "many", state=VolumeState.IN_USE, is_multiattach=True, pool=pool)
    volume(people, "taken", state=VolumeState.IN_USE)
    attached(instance, volume(people, "here", state=VolumeState.IN_USE, is_multiattach=True))
    volume_row(Project.objects.get(pk=people.stranger.project_id), name="theirs")
    shown = {"": "choose one", str(free.pk): "data, 3 GiB", str(many.pk): "many, 1 GiB"}
    assert offered(client, instance, "attach_volume", "volume") == shown
    assert offered(as_person(people.admin), instance, "attach_volume", "volume") == shown
    assert 'class="errorlist"' in client.post(url, {"volume": "", "delete_on_termination": "false"}).text
    client.post(url, {"volume": str(free.pk), "delete_on_termination": "false", "read_only": "false"})
    assert VolumeAttachment.objects.get(volume=free).instance_uuid == instance.pk


def test_of_too_many_volumes_one_is_written(people: People, as_person: AsPerson, instance: Instance) -> None:
    for number in range(MAX_CHOICES + 1):
        volume(people, f"data-{number}")
    page = as_person(people.member).get(f"/instances/{instance.pk}/act/attach_volume/").text
    assert '<input type="text" name="volume"' in page


def test_volumes_of_the_instance_but_its_root_are_offered_to_be_taken_away(
    people: People, as_person: AsPerson, instance: Instance
) -> None:
    one = volume(people, "data", state=VolumeState.IN_USE)
    attached(instance, one)
    attached(instance, volume(people, "root", state=VolumeState.IN_USE), boot_index=0)
    shown = offered(as_person(people.member), instance, "detach_volume", "volume")
    assert shown == {"": "choose one", str(one.pk): "data, 1 GiB, vdb"}


def test_networks_and_cards_are_offered(people: People, as_person: AsPerson, instance: Instance) -> None:
    client = as_person(people.member)
    subnet = inside(people.member, "10.1.0.0/24", "blue")
    inside(people.stranger, "10.2.0.0/24", "theirs")
    blue = Network.objects.get(name="blue")
    assert offered(client, instance, "attach_interface", "network") == {"": "none", str(blue.pk): "blue"}
    free: Port = guest_port(people.member, subnet, name="spare")
    asked = {"bandwidth": {"resources": {"CUSTOM_BANDWIDTH": 1}}}
    Port.objects.filter(pk=free.pk).update(resource_request=asked)  # which the instance's host may serve
    device: Port = guest_port(people.member, subnet)
    Port.objects.filter(pk=device.pk).update(vnic_type="direct")
    words = f"spare, {free.addresses[0]}, blue"
    assert offered(client, instance, "attach_interface", "port") == {"": "none", str(free.pk): words}
    port: Port = guest_port(people.member, subnet, instance_uuid=instance.pk, owner=PortOwner.INSTANCE)
    words = f"blue, {port.addresses[0]}, {port.mac}"
    assert offered(client, instance, "detach_interface", "port") == {"": "choose one", str(port.pk): words}
    client.post(f"/instances/{instance.pk}/act/detach_interface/", {"port": str(port.pk)})
    assert Work.objects.get(kind="detach_interface").subject == instance.pk
