"""What administrators alone ask for by the forms of ports: another project's port, and what Placement gives it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from controlplane.identity.models import Project
from servers.models import Port, Subnet
from servers.networks.services.groups import security_group_create
from tests.worlds.cloud import People
from tests.worlds.routing import guest_port, inside

AsPerson = Callable[[Caller], Client]
LINE = "bandwidth: NET_BW_EGR_KILOBIT_PER_SEC=5000 NET_BW_IGR_KILOBIT_PER_SEC=1000 CUSTOM_PHYSNET_1"
ASKED = {
    "bandwidth": {
        "resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 5000, "NET_BW_IGR_KILOBIT_PER_SEC": 1000},
        "required": ["CUSTOM_PHYSNET_1"],
    }
}
NEW = "/ports/new/"


@pytest.fixture
def blue(people: People, settings: Any) -> Subnet:
    """A network of the member's."""
    settings.KILONOVA = {**settings.KILONOVA, "NETWORK_KIND": "bridge"}
    return inside(people.member, "10.1.0.0/24", "blue")


def form_of(subnet: Subnet, **more: str) -> dict[str, str]:
    return {"network": str(subnet.network_id), "name": "fast", "is_enabled": "on", **more}


def errors_of(answer: Any, field: str) -> str:
    assert answer.status_code == 200, answer
    return " ".join(answer.context["form"].errors.get(field, []))


@pytest.mark.parametrize("named", ["name", "pk"])
def test_administrators_make_another_projects_port(
    people: People, as_person: AsPerson, blue: Subnet, named: str
) -> None:
    project = Project.objects.get(pk=people.member.project_id)
    form = form_of(blue, project=str(getattr(project, named)), resource_request=LINE)
    assert as_person(people.admin).post(NEW, form).status_code == 302
    port = Port.objects.get(name="fast")
    assert (port.project_id, port.resource_request) == (project.pk, ASKED)
    assert port.groups.get().project_id == project.pk


def test_without_a_word_it_is_the_administrators_own(people: People, as_person: AsPerson, blue: Subnet) -> None:
    assert as_person(people.admin).post(NEW, form_of(blue)).status_code == 302
    port = Port.objects.get(name="fast")
    assert (port.project_id, port.resource_request) == (people.admin.project_id, {})


def test_refusals_are_at_their_fields(people: People, as_person: AsPerson, blue: Subnet) -> None:
    client = as_person(people.admin)
    own = security_group_create(caller=people.admin, name="own")
    stranger = str(people.stranger.project_id)
    for change, field, said in (
        ({"project": "nobody"}, "project", "There is no project nobody."),
        ({"project": "00000000-0000-0000-0000-00000000000a"}, "project", "There is no project 0000"),
        ({"project": stranger, "security_groups": str(own.pk)}, "security_groups", "once the port is made"),
        ({"resource_request": "NET_BW_EGR_KILOBIT_PER_SEC=5"}, "resource_request", "is not a name, a colon"),
        ({"resource_request": "a: VCPU=-1"}, "resource_request", "is not a name, a colon"),
        ({"resource_request": "a: CUSTOM_X"}, "resource_request", "is not a name, a colon"),
        ({"resource_request": "a: BANDWIDTH=5"}, "resource_request", "is no resource class"),
        ({"resource_request": "a: VCPU=5 FAST"}, "resource_request", "is no trait"),
        ({"resource_request": "a: VCPU=5\na: VCPU=6"}, "resource_request", "same name"),
    ):
        assert said in errors_of(client.post(NEW, form_of(blue, **change)), field), change
    assert not Port.objects.exists()


def test_what_it_asks_changes_while_no_instance_has_it(people: People, as_person: AsPerson, blue: Subnet) -> None:
    port = guest_port(people.member, blue, name="spare")
    client, address = as_person(people.admin), f"/ports/{port.pk}/edit/"
    form = {"name": "spare", "fixed_addresses": port.addresses[0], "mac": port.mac, "is_enabled": "on"}
    form |= {"has_security": "on", "security_groups": str(port.groups.get().pk)}
    assert client.post(address, {**form, "resource_request": LINE}).status_code == 302
    port.refresh_from_db()
    assert port.resource_request == ASKED
    assert LINE in client.get(address).text
    taken = guest_port(people.member, blue, name="taken", instance_uuid=blue.pk)
    Port.objects.filter(pk=taken.pk).update(resource_request=ASKED)
    address = f"/ports/{taken.pk}/edit/"
    form |= {"fixed_addresses": taken.addresses[0], "mac": taken.mac}
    assert client.post(address, {**form, "resource_request": LINE}).status_code == 302, "said again, it is no change"
    assert "in use by instance" in errors_of(client.post(address, {**form, "resource_request": ""}), "resource_request")


def test_nobody_else_is_asked_or_heard(people: People, as_person: AsPerson, blue: Subnet) -> None:
    client = as_person(people.member)
    of_admins = {"project", "resource_request"}
    assert not of_admins & set(client.get(NEW).context["form"].fields)
    assert of_admins < set(as_person(people.admin).get(NEW).context["form"].fields)
    form = form_of(blue, project=str(people.stranger.project_id), resource_request=LINE)
    assert client.post(NEW, form).status_code == 302
    port = Port.objects.get(name="fast")
    assert (port.project_id, port.resource_request) == (people.member.project_id, {})
    address = f"/ports/{port.pk}/edit/"
    assert "resource_request" not in client.get(address).context["form"].fields
    client.post(address, {"name": "fast", "fixed_addresses": port.addresses[0], "resource_request": LINE})
    port.refresh_from_db()
    assert port.resource_request == {}
    assert as_person(people.reader).post(NEW, form).status_code == 403
