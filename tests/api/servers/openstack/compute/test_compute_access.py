"""Each route and each action, asked by an administrator, a member, a reader and a stranger: made from the tables."""

import re
from typing import Any

import pytest

from controlplane.identity.domain import Role
from controlplane.identity.policy import min_role
from servers.models import Instance
from servers.openstack.compute.routes import ROUTES
from servers.openstack.compute.server_routes import SERVER_ROUTES
from servers.openstack.compute.views.server_actions import ACTIONS
from tests.worlds import cloud as world
from tests.worlds.compute_door import NEWEST, ComputeClient

pytestmark = pytest.mark.django_db(transaction=True)

EVERY = sorted((method, route.template) for route in SERVER_ROUTES for method in route.methods)
SERVER = "/v2.1/servers/{server_id}"
OWN_BODIES: dict[tuple[str, str], Any] = {
    ("POST", f"{SERVER}/action"): {"os-stop": None},
    ("PUT", SERVER): {"server": {"name": "x"}},
    ("POST", f"{SERVER}/metadata"): {"metadata": {"a": "b"}},
    ("PUT", f"{SERVER}/metadata"): {"metadata": {"a": "b"}},
    ("PUT", f"{SERVER}/metadata/{{key}}"): {"meta": {"a": "b"}},
    ("PUT", f"{SERVER}/tags"): {"tags": ["a"]},
    ("POST", f"{SERVER}/remote-consoles"): {"remote_console": {"protocol": "vnc", "type": "novnc"}},
    ("POST", f"{SERVER}/shares"): {"share": {"share_id": "x"}},
}
BODIES: dict[str, Any] = {
    "reboot": {"type": "HARD"},
    "rebuild": {"imageRef": "demo"},
    "changePassword": {"adminPass": "Secret-12"},
    "createImage": {"name": "x"},
    "createBackup": {"name": "x", "backup_type": "x", "rotation": 1},
    "os-resetState": {"state": "error"},
    "addSecurityGroup": {"name": "default"},
    "removeSecurityGroup": {"name": "default"},
    "addFloatingIp": {"address": "192.0.2.1"},
    "removeFloatingIp": {"address": "192.0.2.1"},
    "addFixedIp": {"networkId": "10000000-0000-4000-8000-000000000000"},
    "removeFixedIp": {"address": "192.0.2.1"},
    "os-getVNCConsole": {"type": "novnc"},
    "os-getSerialConsole": {"type": "serial"},
    "os-getSPICEConsole": {"type": "spice-html5"},
    "os-getRDPConsole": {"type": "rdp-html5"},
    "resize": {"flavorRef": "x"},
    "os-migrateLive": {"host": None, "block_migration": "auto"},
    "evacuate": {},
}


@pytest.fixture
def who() -> world.People:
    return world.cloud()


# Shares cannot be attached, and no server moves: there is none to be found.
ABSENT = re.compile(r"\{share_id\}|\{migration_id\}")


@pytest.fixture
def server(who: world.People) -> Instance:
    return world.active(who.member, metadata={"a": "b"}, tags=["a"])


def _path(template: str, server: Instance) -> str:
    names = {"key": "a", "tag": "a", "network": "default", "share_id": "x", "request_id": server.request_id}
    names["migration_id"] = "1"
    return template.removeprefix("/v2.1").format(server_id=server.pk, **names)


@pytest.mark.parametrize(("method", "template"), EVERY)
def test_each_route_of_servers(server: Instance, who: world.People, method: str, template: str) -> None:
    """Who is nobody is refused, then who lacks the role; another project's server is not there."""
    found = ROUTES.find(template)
    assert found is not None
    endpoint = found[0].methods[method]
    assert endpoint.access is not None, "each endpoint names what it needs"
    needed, path = min_role(endpoint.access.value), _path(template, server)
    body = OWN_BODIES.get((method, template), {} if endpoint.takes else None)
    minor = endpoint.until or NEWEST
    assert ComputeClient(minor=minor).call(method, path, body).status_code == 401
    if needed > Role.READER:
        assert ComputeClient(who.reader, minor=minor).call(method, path, body).status_code == 403
    if needed > Role.MEMBER:
        for caller in (who.member, who.stranger):
            assert ComputeClient(caller, minor=minor).call(method, path, body).status_code == 403
    elif "{server_id}" in template:
        assert ComputeClient(who.stranger, minor=minor).call(method, path, body).status_code == 404
    else:
        answer = ComputeClient(who.stranger, minor=minor).call(method, path, body)
        assert str(server.pk) not in answer.content.decode()
    for caller in (who.admin, who.member, who.reader):
        if caller.holds(needed) and method == "GET":
            answer = ComputeClient(caller, minor=minor).call(method, path)
            assert answer.status_code == (404 if ABSENT.search(template) else 204 if "{tag}" in template else 200)
    if method != "GET":
        allowed = who.admin if needed > Role.MEMBER else who.member
        status = ComputeClient(allowed, minor=minor).call(method, path, body).status_code
        assert (
            status in (200, 201, 202, 204)
            or template in ("/v2.1/servers",)
            or "/shares" in template
            or ABSENT.search(template)
        )


@pytest.mark.parametrize("name", ACTIONS)
def test_each_action(server: Instance, who: world.People, name: str) -> None:
    action = ACTIONS[name]
    needed, minor, body = min_role(action.access.value), action.until or NEWEST, BODIES.get(name)
    assert ComputeClient(minor=minor).act(server.pk, name, body).status_code == 401
    if needed > Role.READER:
        assert ComputeClient(who.reader, minor=minor).act(server.pk, name, body).status_code == 403
    if needed > Role.MEMBER:
        for caller in (who.member, who.stranger):
            assert ComputeClient(caller, minor=minor).act(server.pk, name, body).status_code == 403
    else:
        assert ComputeClient(who.stranger, minor=minor).act(server.pk, name, body).status_code == 404
    before = world.instance_of(server.pk)
    assert (before.vm_state, before.task_state, before.locked) == ("active", "", False)
    answer = ComputeClient(who.admin, minor=minor).act(server.pk, name, body)
    assert answer.status_code not in (401, 403) and answer.status_code in (200, 202, 400, 404, 409, 501)
