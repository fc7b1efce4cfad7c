"""Each route of the Network API by four people and nobody, from the route table: a new one is asked as well."""

from typing import Any

import pytest

from servers.openstack.network.routes import ROUTES
from tests.worlds.neutron import MOUNT, Neutron, NeutronClient

ADMINS_ONLY = {
    ("GET", "/v2.0/quotas"),
    ("PUT", "/v2.0/quotas/{project_id}"),
    ("DELETE", "/v2.0/quotas/{project_id}"),
    ("GET", "/v2.0/agents"),
    ("GET", "/v2.0/agents/{agent_id}"),
}
BODIES: dict[str, Any] = {
    "/v2.0/networks": {"network": {"name": "more"}},
    "/v2.0/networks/{network_id}": {"network": {"name": "more"}},
    "/v2.0/subnets": {"subnet": {"network_id": "{network_id}", "cidr": "10.9.0.0/24"}},
    "/v2.0/subnets/{subnet_id}": {"subnet": {"name": "more"}},
    "/v2.0/ports": {"port": {"network_id": "{network_id}"}},
    "/v2.0/ports/{port_id}": {"port": {"name": "more"}},
    "/v2.0/routers": {"router": {"name": "more"}},
    "/v2.0/routers/{router_id}": {"router": {"name": "more"}},
    "/v2.0/routers/{router_id}/add_router_interface": {"port_id": "{port_id}"},
    "/v2.0/routers/{router_id}/add_extraroutes": {"router": {"routes": []}},
    "/v2.0/routers/{router_id}/remove_extraroutes": {"router": {"routes": []}},
    "/v2.0/routers/{router_id}/remove_router_interface": {"subnet_id": "{subnet_id}"},
    "/v2.0/floatingips": {"floatingip": {"floating_network_id": "{public_id}"}},
    "/v2.0/floatingips/{floating_ip_id}": {"floatingip": {"description": "more"}},
    "/v2.0/security-groups": {"security_group": {"name": "more"}},
    "/v2.0/security-groups/{group_id}": {"security_group": {"name": "more"}},
    "/v2.0/security-group-rules": {"security_group_rule": {"security_group_id": "{group_id}", "direction": "ingress"}},
    "/v2.0/quotas/{project_id}": {"quota": {"network": 5}},
}
# Of these a stranger makes things of his own: where they name nothing of the other project.
OWN = {"/v2.0/networks", "/v2.0/routers", "/v2.0/floatingips", "/v2.0/security-groups"}
# What the member did cannot be done again.
ONCE = {
    ("POST", "/v2.0/security-group-rules"),
    ("POST", "/v2.0/subnets"),
    ("PUT", "/v2.0/routers/{router_id}/add_router_interface"),
    ("PUT", "/v2.0/routers/{router_id}/remove_router_interface"),
}
# The routes of tags are asked in test_network_tags.py.
EVERY = sorted(
    (method, route.template)
    for route in ROUTES.routes
    for method in route.methods
    if "{resource_id}" not in route.template
)


def filled(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {name: filled(each, ids) for name, each in value.items()}
    return value.format(**ids) if isinstance(value, str) else value


@pytest.mark.parametrize(("method", "template"), EVERY)
def test_each_route_by_four_people_and_nobody(world: Neutron, method: str, template: str) -> None:
    agent = world.admin.get("agents")["agents"][0]["id"]
    ids = {**world.ids, "alias": "router", "agent_id": agent}
    path, body = template.format(**ids), None
    if method in ("POST", "PUT"):
        body = filled(BODIES[template], ids)

    def asked(client: NeutronClient) -> int:
        return int(client.call(method, path, body).status_code)

    if template == "/":
        assert asked(NeutronClient()) == 200
        assert NeutronClient().client.get(MOUNT).status_code == 200
        return
    assert asked(NeutronClient()) == 401
    is_admins, is_write = (method, template) in ADMINS_ONLY, method != "GET"
    has_id = "_id}" in template or "_id}" in str(BODIES.get(template) if is_write else "")

    stranger = asked(world.stranger)
    if is_admins:
        assert stranger == 403
    elif has_id and template not in OWN:
        assert stranger == 404
    else:
        assert stranger < 300
    assert asked(world.reader) == (403 if is_admins or is_write else 200)
    # What is in use stays (409), and the router has the subnet of the port already (400).
    fine = {400} if template.endswith("add_router_interface") else {200, 201, 204, 409}
    assert asked(world.member) in ({403} if is_admins else fine)
    if method != "DELETE" and (method, template) not in ONCE:
        assert asked(world.admin) in fine


def test_what_the_admins_routes_answer_an_admin(world: Neutron) -> None:
    assert world.admin.get("quotas") == {"quotas": []}
    world.admin.put(f"quotas/{world.ids['project_id']}", {"quota": {"network": 5}})
    (row,) = world.admin.get("quotas")["quotas"]
    assert (row["project_id"], row["network"]) == (world.ids["project_id"], 5)
    world.admin.delete(f"quotas/{world.ids['project_id']}")
    assert world.admin.get("quotas") == {"quotas": []}


@pytest.mark.parametrize(
    ("path", "name", "more"),
    [
        ("networks", "network", {}),
        ("routers", "router", {}),
        ("security-groups", "security_group", {"name": "g"}),
        ("floatingips", "floatingip", {"floating_network_id": "{public_id}"}),
        ("ports", "port", {"network_id": "{network_id}"}),
        ("subnets", "subnet", {"network_id": "{network_id}", "cidr": "10.9.0.0/24"}),
    ],
)
def test_things_of_other_projects_are_made_by_administrators_alone(
    world: Neutron, path: str, name: str, more: dict[str, str]
) -> None:
    other = world.people.stranger.project_id.hex
    body = {name: {**filled(more, world.ids), "project_id": other}}
    assert world.member.refused("POST", path, body, 403)[0] == "PolicyNotAuthorized"
    if path == "subnets":
        assert world.admin.refused("POST", path, body, 400)[0] == "InvalidInput"
        return
    made = world.admin.post(path, body)[name]
    assert (made["project_id"], made["tenant_id"]) == (other, other)
    both = {name: {**body[name], "tenant_id": world.ids["project_id"]}}
    assert world.admin.refused("POST", path, both, 400)[0] == "InvalidInput"
    nobody = {name: {**body[name], "project_id": "0" * 32}}
    assert world.admin.call("POST", f"/v2.0/{path}", nobody).status_code == 404
