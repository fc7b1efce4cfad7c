"""An instance's interfaces on its page, and the networks and groups that a new one is asked for with."""

import json
from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from controlplane.work.models import Work
from servers.models import BuildRequest, FloatingIP, Instance, Port, RequestSpec
from servers.networks.domain.names import PortOwner
from servers.networks.services.groups import security_group_create
from tests.worlds.cloud import People, active
from tests.worlds.routing import guest_port, inside, outside

AsPerson = Callable[[Caller], Client]
FORM = {"name": "web-1", "min_count": "1"}


@pytest.fixture
def instance(people: People) -> Instance:
    return active(people.member)


@pytest.fixture
def port(people: People, instance: Instance) -> Port:
    subnet = inside(people.member, "10.1.0.0/24", "blue")
    return guest_port(people.member, subnet, instance_uuid=instance.pk, owner=PortOwner.INSTANCE)


def interfaces(client: Client, instance: Instance) -> str:
    return client.get(f"/instances/{instance.pk}/").text.partition('id="interfaces"')[2].partition("</section>")[0]


def test_cards_are_shown_with_their_networks_and_addresses(
    people: People, as_person: AsPerson, instance: Instance, port: Port
) -> None:
    public = outside()
    held = guest_port(people.member, public.subnets.get(), owner=PortOwner.FLOATING_IP)
    FloatingIP.objects.create(
        project_id=people.member.project_id, network=public, address_port=held, address="203.0.113.9", port=port,
        fixed_address=port.addresses[0],
    )  # fmt: skip

    shown = interfaces(as_person(people.member), instance)
    assert all(text in shown for text in ("blue", port.addresses[0], port.mac, "203.0.113.9"))
    assert f'value="{port.pk}"' in shown
    assert f'href="/instances/{instance.pk}/act/attach_interface/"' in shown
    readers = interfaces(as_person(people.reader), instance)
    assert port.addresses[0] in readers
    assert "<form" not in readers
    assert "Add an interface" not in readers


@pytest.mark.parametrize("has_card", [True, False])
def test_only_an_instance_without_any_card_reaches_nobody(
    people: People, as_person: AsPerson, instance: Instance, *, has_card: bool
) -> None:
    Instance.objects.filter(pk=instance.pk).update(has_default_network=has_card)
    shown = interfaces(as_person(people.member), instance)
    assert ("it reaches nobody" in shown) is not has_card
    assert ("own default network" in shown) is has_card


def test_a_card_is_taken_away_by_its_button_and_by_nobody_else(
    people: People, as_person: AsPerson, instance: Instance, port: Port
) -> None:
    data = {"action": "detach_interface", "port": str(port.pk)}
    address = f"/instances/{instance.pk}/act/"

    assert as_person(people.reader).post(address, data).status_code == 403
    as_person(people.stranger).post(address, data)
    assert not Work.objects.filter(kind="detach_interface").exists()
    as_person(people.member).post(address, data)
    assert Work.objects.get(kind="detach_interface").subject == instance.pk


def test_a_new_instance_is_asked_for_with_networks_and_groups(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    made = active(people.member, "model")
    blue, green = (inside(people.member, f"10.{n}.0.0/24", name) for n, name in ((1, "blue"), (2, "green")))
    web = security_group_create(caller=people.member, name="web")
    form = client.get("/instances/create/").text
    assert f'value="{blue.network_id}"' in form
    assert f'value="{web.pk}"' in form
    chosen = [str(green.network_id), str(blue.network_id)]

    sizes = {"flavor": str(made.flavor_id), "image": str(made.image_id)}
    client.post("/instances/create/", {**FORM, **sizes, "networks": chosen, "security_groups": [str(web.pk)]})

    request = BuildRequest.objects.get()
    asked = json.dumps(RequestSpec.objects.get(instance_uuid=request.instance_uuid).body)
    assert all(one in asked for one in (*chosen, str(web.pk)))
    others = inside(people.stranger, "10.3.0.0/24", "theirs")
    refused = client.post("/instances/create/", {**FORM, **sizes, "networks": [str(others.network_id)]})
    assert "Select a valid choice" in refused.text
    assert "theirs" not in refused.text
