"""A client of the Network API's door, and a project with one of everything in it."""

import json
from dataclasses import dataclass
from typing import Any

from django.test import Client

from controlplane.identity.domain import Caller
from tests.fixtures.remembering import remembered
from tests.worlds import routing
from tests.worlds.cloud import People, fresh_token, people

MOUNT = "/network"


class NeutronClient:
    """One person, or nobody."""

    def __init__(self, caller: Caller | None = None, token: str = "") -> None:
        self.client = Client()
        self.token = token or ("" if caller is None else _token(caller))

    def call(self, method: str, path: str, body: Any = None, status: int | None = None) -> Any:
        """The answer to one request below the mount; with `status` its JSON."""
        headers = {"X-Auth-Token": self.token} if self.token else {}
        data = "" if body is None else json.dumps(body)
        answer = self.client.generic(method, f"{MOUNT}{path}", data, content_type="application/json", headers=headers)
        if status is None:
            return answer
        assert answer.status_code == status, (answer.status_code, answer.content)
        return answer.json() if answer.content else None

    def get(self, path: str, status: int = 200) -> Any:
        """What is at a path of version 2.0."""
        return self.call("GET", f"/v2.0/{path}", status=status)

    def post(self, path: str, body: Any, status: int = 201) -> Any:
        """Something new."""
        return self.call("POST", f"/v2.0/{path}", body, status)

    def put(self, path: str, body: Any, status: int = 200) -> Any:
        """A change."""
        return self.call("PUT", f"/v2.0/{path}", body, status)

    def delete(self, path: str, status: int = 204) -> Any:
        """Away with it."""
        return self.call("DELETE", f"/v2.0/{path}", status=status)

    def refused(self, method: str, path: str, body: Any, status: int) -> tuple[str, str]:
        """Type and message of a refusal."""
        error = self.call(method, f"/v2.0/{path}", body, status)["NeutronError"]
        assert set(error) == {"type", "message", "detail"}
        return error["type"], error["message"]


def _token(caller: Caller) -> str:
    return fresh_token(caller)


@dataclass(frozen=True)
class Neutron:
    """Clients of four people, and ids of what the member's project has."""

    people: People
    admin: NeutronClient
    member: NeutronClient
    reader: NeutronClient
    stranger: NeutronClient
    ids: dict[str, str]


def neutron() -> Neutron:
    """Network, subnet, port, router with gateway and leg, floating address, group and rule of the member's project."""
    who, ids, tokens = _of_the_member()
    return Neutron(who, **{name: NeutronClient(token=token) for name, token in tokens.items()}, ids=ids)


@remembered
def _of_the_member() -> tuple[People, dict[str, str], dict[str, str]]:
    who = people()
    routing.carrying_host("hv1", "physnet1")
    public = routing.outside()
    tokens = {name: _token(getattr(who, name)) for name in ("admin", "member", "reader", "stranger")}
    member = NeutronClient(token=tokens["member"])
    network = member.post("networks", {"network": {"name": "lan"}})["network"]
    subnet = member.post(
        "subnets", {"subnet": {"network_id": network["id"], "ip_version": 4, "cidr": "10.1.0.0/24", "name": "lan4"}}
    )["subnet"]
    port = member.post("ports", {"port": {"network_id": network["id"], "name": "web"}})["port"]
    gateway = {"network_id": str(public.pk)}
    router = member.post("routers", {"router": {"name": "edge", "external_gateway_info": gateway}})["router"]
    member.put(f"routers/{router['id']}/add_router_interface", {"subnet_id": subnet["id"]})
    floating = member.post("floatingips", {"floatingip": {"floating_network_id": str(public.pk)}})["floatingip"]
    group = member.post("security-groups", {"security_group": {"name": "web"}})["security_group"]
    rule = {"security_group_id": group["id"], "direction": "ingress", "protocol": "tcp"}
    rule |= {"port_range_min": 22, "port_range_max": 22, "remote_ip_prefix": "10.0.0.0/8"}
    made = member.post("security-group-rules", {"security_group_rule": rule})["security_group_rule"]
    ids = {
        "network_id": network["id"],
        "subnet_id": subnet["id"],
        "port_id": port["id"],
        "router_id": router["id"],
        "floating_ip_id": floating["id"],
        "group_id": group["id"],
        "rule_id": made["id"],
        "public_id": str(public.pk),
        "project_id": who.member.project_id.hex,
    }
    return who, ids, tokens
