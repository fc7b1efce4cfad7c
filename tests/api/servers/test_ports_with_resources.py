"""A port that asks Placement for something is attached by the API and by the OpenStack door, or refused."""

from typing import Any

import pytest

from servers.models import Instance, Network, Port
from servers.networks.domain.ports import PortRequest
from servers.networks.services.ports import ports_create
from tests.worlds import cloud as world
from tests.worlds import networks
from tests.worlds.compute_door import ComputeClient, fault_of

pytestmark = pytest.mark.django_db(transaction=True)
SERVED = {"group": {"resources": {"MEMORY_MB": 1}, "required": []}}
NOT_SERVED = {"group": {"resources": {"CUSTOM_KBIT": 5}, "required": []}}
FOR_TENANTS = "The instance's host does not serve what the port asks for, such as bandwidth."


@pytest.fixture
def who() -> world.People:
    return networks.cloud_with_networks()


@pytest.fixture
def server(who: world.People) -> Instance:
    found = networks.network("private", is_shared=True)
    return world.active(who.member, networks=[{"network": str(found.pk)}])


def port(who: world.People, asked: dict[str, Any]) -> Port:
    net = Network.objects.get(name="private")
    wanted = PortRequest(net.pk, who.member.project_id, name="p", resource_request=asked)
    return ports_create(caller=who.admin, requests=[wanted])[0]


def is_free(one: Port) -> bool:
    one.refresh_from_db()
    return one.instance_uuid is None


def test_api_refuses_what_the_host_does_not_serve_and_tells_operators_why(who: world.People, server: Instance) -> None:
    made = port(who, NOT_SERVED)
    path, body = f"/api/instances/{server.pk}/actions/", {"action": "attach_interface", "port": str(made.pk)}
    said = {}
    for caller, status in ((who.member, 409), (who.admin, 409), (who.reader, 403), (who.stranger, 404)):
        answer = world.client_of(caller).post(path, body, format="json")
        assert (answer.status_code, is_free(made)) == (status, True), answer.json()
        said[caller.username] = answer.json()
    assert FOR_TENANTS in str(said[who.member.username])
    assert server.host not in str(said[who.member.username])
    assert "CUSTOM_KBIT" in str(said[who.admin.username])
    served = {**body, "port": str(port(who, SERVED).pk)}
    assert world.client_of(who.member).post(path, served, format="json").status_code == 202


def test_compute_door_answers_as_nova_does(who: world.People, server: Instance) -> None:
    member, path = ComputeClient(who.member), f"/servers/{server.pk}/os-interface"
    made = port(who, NOT_SERVED)
    refused = member.call("POST", path, {"interfaceAttachment": {"port_id": str(made.pk)}})
    assert FOR_TENANTS in fault_of(refused, 400, "badRequest")
    assert is_free(made)
    served = port(who, SERVED)
    assert member.call("POST", path, {"interfaceAttachment": {"port_id": str(served.pk)}}).status_code == 200
    assert not is_free(served)
