"""Security groups of an instance: on all its ports, by name or id."""

import pytest

from servers.models import PortGroup
from servers.networks.services.groups import security_group_create
from tests.worlds import routing
from tests.worlds.cloud import People, active, client_of, cloud

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def crowd() -> People:
    return cloud("hv1")


def test_groups_are_put_on_all_ports_listed_and_taken_off(crowd):
    instance = active(crowd.member, "web-1")
    net = routing.inside(crowd.member)
    ports = [routing.guest_port(crowd.member, net, instance_uuid=instance.pk) for _ in range(2)]
    group = security_group_create(caller=crowd.member, name="web")
    client, at = client_of(crowd.member), f"/api/instances/{instance.pk}/security-groups/"
    assert [each["name"] for each in client.get(at).json()] == ["default"]
    assert client.post(at, {"group": "web"}, format="json").status_code == 200
    assert client.post(at, {"group": str(group.pk)}, format="json").status_code == 200
    assert [each["name"] for each in client.get(at).json()] == ["default", "web"]
    assert set(PortGroup.objects.filter(group=group).values_list("port_id", flat=True)) == {one.pk for one in ports}
    for caller, status in ((crowd.reader, 403), (crowd.stranger, 404)):
        assert client_of(caller).post(at, {"group": "web"}, format="json").status_code == status
        assert client_of(caller).delete(f"{at}web/").status_code == status
    assert client_of(crowd.reader).get(at).status_code == 200
    assert client_of(crowd.stranger).get(at).status_code == 404
    assert client.delete(f"{at}web/").status_code == 204
    assert client.delete(f"{at}web/").status_code == 404


def test_unknown_and_ambiguous_groups_and_ports_without_rules_are_refused(crowd):
    instance = active(crowd.member, "web-1")
    client, at = client_of(crowd.member), f"/api/instances/{instance.pk}/security-groups/"
    for _ in range(2):
        security_group_create(caller=crowd.member, name="twice")
    one = security_group_create(caller=crowd.member, name="one")
    theirs = security_group_create(caller=crowd.stranger, name="theirs")
    for name, status in (("nothing", 404), ("theirs", 404), (str(theirs.pk), 404), ("twice", 409)):
        assert client.post(at, {"group": name}, format="json").status_code == status
    answer = client.post(at, {"group": str(one.pk)}, format="json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "security_group_cannot_be_applied")
