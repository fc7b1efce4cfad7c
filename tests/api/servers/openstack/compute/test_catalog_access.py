"""Each route beside those of servers, asked by nobody, a reader, a member and a stranger: made from the tables."""

import pytest

from controlplane.identity.domain import Role
from controlplane.identity.policy import min_role
from servers.openstack.compute.catalog_routes import CATALOG_ROUTES
from servers.openstack.compute.fleet_routes import FLEET_ROUTES
from servers.openstack.compute.proxy_routes import PROXY_ROUTES
from tests.worlds import cloud as world
from tests.worlds.compute_door import NEWEST, ComputeClient

pytestmark = pytest.mark.django_db

ROUTES = [*CATALOG_ROUTES, *FLEET_ROUTES, *PROXY_ROUTES]
NOTHING = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def who() -> world.People:
    return world.people()


def test_each_route_names_what_it_needs_and_asks_it(who: world.People) -> None:
    """Nobody gets 401, whoever lacks the role 403, and who has it something else; nobody ever gets a 500."""
    callers = {Role.READER: who.reader, Role.MEMBER: who.member, Role.ADMIN: who.admin}
    clients = {role: ComputeClient(caller) for role, caller in callers.items()}
    nobody, asked = ComputeClient(), 0
    for route in ROUTES:
        names = {part[1:-1] for part in route.template.split("/") if part.startswith("{")}
        path = route.template.removeprefix("/v2.1").format(**dict.fromkeys(names, NOTHING))
        for method, endpoint in route.methods.items():
            assert endpoint.access is not None, route.template
            needed, minor = min_role(endpoint.access.value), min(endpoint.until or NEWEST, NEWEST)
            body = {} if endpoint.takes else None
            assert nobody.call(method, path, body, minor=minor).status_code == 401, path
            for role, client in clients.items():
                answer = client.call(method, path, body, minor=minor)
                assert answer.status_code < 500 or answer.status_code == 501, (method, path)
                assert (answer.status_code == 403) == (role < needed) or "{project_id}" in route.template, (
                    method,
                    path,
                    role,
                    answer.content,
                )
                asked += 1
    assert asked > 250


def test_what_belongs_to_another_project_is_not_there(who: world.People) -> None:
    """Of what a project owns: whatever the method, a stranger is told that there is nothing."""
    member, stranger = ComputeClient(who.member), ComputeClient(who.stranger)
    group = {"server_group": {"name": "g", "policies": ["affinity"]}}
    security = {"security_group": {"name": "web", "description": ""}}
    made = member.call("POST", "/os-server-groups", group).json()["server_group"]["id"]
    web = member.call("POST", "/os-security-groups", security).json()["security_group"]["id"]
    image = str(world.image("own", project_id=who.member.project_id, visibility="private").pk)
    for path, methods in (
        (f"/os-server-groups/{made}", "GET DELETE"),
        (f"/os-security-groups/{web}", "GET DELETE"),
        (f"/images/{image}", "GET DELETE"),
        (f"/images/{image}/metadata", "GET"),
    ):
        for method in methods.split():
            assert stranger.call(method, path).status_code == 404, (method, path)
        assert member.get(path)
