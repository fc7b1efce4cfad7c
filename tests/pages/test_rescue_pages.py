"""The pages on which an instance is rebuilt or rescued: what each instance can be asked for, and what is done then."""

from collections.abc import Callable

import pytest
from django.test import Client

from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from servers.agent_api import conductor_connect
from servers.models import Image, ImageCertificate, Instance, Volume
from tests.worlds import cloud as world
from tests.worlds.cloud import People
from tests.worlds.volumes import active_from_volume

AsPerson = Callable[[Caller], Client]
SECRET = "horse-battery"


def fields_of(client: Client, path: str) -> set[str]:
    return set(client.get(path).context["form"].fields)


def now(instance: Instance) -> tuple[str, str]:
    row = world.instance_of(instance.pk)
    return row.vm_state, row.task_state


def test_boot_volume_is_rebuilt_once_its_loss_is_agreed_to_and_an_image_named(
    people: People, as_person: AsPerson
) -> None:
    instance, client = active_from_volume(people), as_person(people.member)
    path, image = f"/instances/{instance.pk}/rebuild/", str(Image.objects.get().pk)
    shown = client.get(path)
    assert "All that is on this volume is lost for good." in shown.text
    assert shown.context["form"].fields["image"].choices[0] == ("", "choose one")
    for given, wrong in (({"image": image}, "reimage_boot_volume"), ({"reimage_boot_volume": "on"}, "image")):
        answer = client.post(path, given)
        assert list(answer.context["form"].errors) == [wrong]
    assert now(instance) == ("active", "")
    client.post(path, {"image": image, "reimage_boot_volume": "on"})
    assert now(instance) == ("active", "rebuilding")
    assert Volume.objects.get().instance_uuid == instance.pk


def test_boot_volume_needs_an_image_to_be_rescued_with(people: People, as_person: AsPerson) -> None:
    instance, client = active_from_volume(people), as_person(people.member)
    path = f"/instances/{instance.pk}/rescue/"
    assert list(client.post(path, {}).context["form"].errors) == ["image"]
    client.post(path, {"image": str(Image.objects.get().pk)})
    assert now(instance) == ("active", "rescuing")


def test_instance_with_a_disk_of_an_image_is_asked_for_no_volume(people: People, as_person: AsPerson) -> None:
    instance = world.active(people.member)
    assert "reimage_boot_volume" not in fields_of(as_person(people.member), f"/instances/{instance.pk}/rebuild/")


def test_password_is_for_the_guest_that_has_a_config_drive(people: People, as_person: AsPerson) -> None:
    client, instance = as_person(people.member), world.active(people.member)
    Instance.objects.update(config_drive=False)
    for page in ("rebuild", "rescue"):
        assert "admin_pass" not in fields_of(client, f"/instances/{instance.pk}/{page}/")
    Instance.objects.update(config_drive=True)
    assert "admin_pass" in fields_of(client, f"/instances/{instance.pk}/rebuild/")
    client.post(f"/instances/{instance.pk}/rescue/", {"admin_pass": SECRET})
    taken = world.order(instance.host, WorkKind.RESCUE)
    assert conductor_connect().first_boot(lease=taken.lease).admin_password == SECRET


def test_rebuild_changes_what_was_filled_in_and_leaves_the_rest(people: People, as_person: AsPerson) -> None:
    client, instance = as_person(people.member), world.active(people.member)
    Instance.objects.update(metadata={"tier": "web"}, description="first")
    path = f"/instances/{instance.pk}/rebuild/"
    wrong = client.post(path, {"metadata": "tier"})
    assert "Line 1 is not of the form key = value." in str(wrong.context["form"].errors["metadata"])
    assert '<details class="more" id="more" open>' in wrong.text
    assert '<details class="more" id="more">' in client.get(path).text
    client.post(path, {"metadata": "role = db\r\na = 1=2", "description": "second"})
    row = world.instance_of(instance.pk)
    assert (row.name, row.description, row.metadata) == ("vm", "second", {"role": "db", "a": "1=2"})
    conductor_connect().action_done(lease=world.order(row.host, WorkKind.REBUILD).lease, facts=world.RUNNING)
    client.post(path, {"hostname": "db-1"})
    row = world.instance_of(instance.pk)
    assert (row.hostname, row.description, row.metadata) == ("db-1", "second", {"role": "db", "a": "1=2"})


def test_rebuild_asks_for_a_signature_by_the_certificates_that_were_chosen(people: People, as_person: AsPerson) -> None:
    client, instance = as_person(people.member), world.active(people.member)
    path = f"/instances/{instance.pk}/rebuild/"
    assert "trusted_image_certificates" not in fields_of(client, path)
    signer = ImageCertificate.objects.create(name="signer", certificate="-")
    answer = client.post(path, {"trusted_image_certificates": [str(signer.pk)]})
    assert "The image is not signed" in str(answer.context["form"].errors["image"])
    assert now(instance) == ("active", "")


@pytest.mark.parametrize("page", ["rebuild", "rescue"])
def test_password_is_in_no_page_that_is_shown_again(page: str, people: People, as_person: AsPerson) -> None:
    instance = world.active(people.member)
    answer = as_person(people.member).post(
        f"/instances/{instance.pk}/{page}/", {"admin_pass": SECRET, "image": "no such image"}
    )
    assert list(answer.context["form"].errors) == ["image"]
    assert SECRET not in answer.text
