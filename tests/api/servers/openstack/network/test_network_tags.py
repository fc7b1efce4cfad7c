"""Tags of all that has some, at the door and under /api/: by five people, and lists by them."""

from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from controlplane.audit_log.models import AuditLogEntry
from servers.openstack.network.routes import ROUTES
from tests.worlds.cloud import client_of
from tests.worlds.neutron import Neutron, NeutronClient

TAGGED = {
    "networks": "network_id",
    "subnets": "subnet_id",
    "ports": "port_id",
    "routers": "router_id",
    "floatingips": "floating_ip_id",
    "security-groups": "group_id",
}


def test_each_route_of_tags_by_each_person(world: Neutron) -> None:
    templates = {route.template for route in ROUTES.routes if "{resource_id}" in route.template}
    assert templates == {f"/v2.0/{plural}/{{resource_id}}/tags{end}" for plural in TAGGED for end in ("", "/{tag}")}
    nobody = NeutronClient()
    for plural, name in TAGGED.items():
        path = f"{plural}/{world.ids[name]}/tags"
        assert world.member.put(path, {"tags": ["red", "blue", "red"]}) == {"tags": ["blue", "red"]}, plural
        for method, below, body in (
            ("GET", "", None),
            ("PUT", "", {"tags": []}),
            ("DELETE", "", None),
            ("GET", "/red", None),
            ("PUT", "/red", None),
            ("DELETE", "/red", None),
        ):
            asked = (method, f"/v2.0/{path}{below}", body)
            assert nobody.call(*asked).status_code == 401, asked
            assert world.stranger.call(*asked).status_code == 404, asked
            fine = 204 if below else 200
            assert world.reader.call(*asked).status_code == (fine if method == "GET" else 403), asked
        assert world.member.get(path) == {"tags": ["blue", "red"]}
        world.member.delete(f"{path}/red")
        assert world.member.refused("DELETE", f"{path}/red", None, 404)[0] == "TagNotFound"
        assert world.member.refused("GET", f"{path}/red", None, 404)[0] == "TagNotFound"
        world.member.put(f"{path}/green", None, status=201)
        assert world.admin.get(path) == {"tags": ["blue", "green"]}
        (shown,) = world.member.get(f"{plural}/{world.ids[name]}").values()
        assert shown["tags"] == ["blue", "green"], plural
        for query, is_found in (
            ("tags=blue,green", True),
            ("tags=blue,red", False),
            ("tags-any=blue,red", True),
            ("not-tags=blue,red", True),
            ("not-tags-any=blue,red", False),
            ("tags=Blue", False),
        ):
            found = world.member.get(f"{plural}?{query}&id={world.ids[name]}")
            assert len(found[plural.replace("-", "_")]) == is_found, (plural, query)
        world.member.delete(path)
        assert world.admin.get(path) == {"tags": []}


def test_tags_that_cannot_be(world: Neutron) -> None:
    path = f"networks/{world.ids['network_id']}/tags"
    many = [f"t{number}" for number in range(51)]
    for body in ({"tags": ["x" * 256]}, {"tags": [""]}, {"tags": many}, {"tags": "x"}, {"tags": [1]}, {}, {"tag": []}):
        world.member.refused("PUT", path, body, 400)
    assert world.member.get(path) == {"tags": []}
    world.admin.put(f"networks/{world.ids['network_id']}", {"network": {"shared": True}})
    assert world.stranger.get(path) == {"tags": []}
    assert world.stranger.refused("PUT", path, {"tags": ["mine"]}, 403)[0] == "PolicyNotAuthorized"
    missing = path.replace(world.ids["network_id"], "no-such-network")
    assert world.member.refused("GET", missing, None, 404)[0] == "NetworkNotFound"


def test_the_same_tags_under_api_by_each_person(world: Neutron) -> None:
    crowd = {name: client_of(getattr(world.people, name)) for name in ("admin", "member", "reader", "stranger")}
    crowd["nobody"] = APIClient()
    member = crowd["member"]
    for plural, name in TAGGED.items():
        path = f"/api/{plural.replace('floatingips', 'floating-ips')}/{world.ids[name]}/"
        before = member.get(path).json()
        assert before["tags"] == []
        changed = member.patch(path, {"tags": ["red", "blue", "red"]}, format="json")
        assert (changed.status_code, changed.json()["tags"]) == (200, ["blue", "red"]), (plural, changed.content)
        entry = AuditLogEntry.objects.filter(target_id=world.ids[name]).latest("id")
        assert entry.action == f"{entry.target_kind}.tags_change", plural
        assert entry.target_kind == plural.replace("-", "_").removesuffix("s").replace("floatingip", "floating_ip")
        assert (entry.before, entry.after) == ({"tags": []}, {"tags": ["blue", "red"]}), plural
        for method, below, body in (
            ("patch", "", {"tags": []}),
            ("put", "tags/green/", None),
            ("delete", "tags/red/", None),
        ):
            for person, status in (("nobody", 401), ("stranger", 404), ("reader", 403)):
                answer = getattr(crowd[person], method)(f"{path}{below}", body, format="json")
                assert answer.status_code == status, (plural, method, person, answer.content)
        assert member.put(f"{path}tags/green/").json()["tags"] == ["blue", "green", "red"], plural
        assert member.delete(f"{path}tags/red/").status_code == 204
        assert member.delete(f"{path}tags/red/").json()["error"]["message"] == "Tag red could not be found."
        assert crowd["admin"].get(path).json()["tags"] == ["blue", "green"]
        assert crowd["admin"].delete(f"{path}tags/green/").status_code == 204
        refused = member.patch(path, {"description": "new", "tags": ["x" * 256]}, format="json")
        assert (refused.status_code, refused.json()["error"]["field"]) == (400, "tags")
        after = member.patch(path, {"description": "new", "tags": ["blue", "a,b"]}, format="json").json()
        assert after == member.get(path).json()
        assert after == before | {
            "description": "new", "tags": ["a,b", "blue"], "updated_at": after["updated_at"]
        }, plural  # fmt: skip
        _lists_by_tags(member, path)


def _lists_by_tags(member: APIClient, path: str) -> None:
    """Of one that has the tags `a,b` and `blue`."""
    listed, _, own = path.strip("/").rpartition("/")
    for query, is_found in (
        ("tag=a,b", True),
        ("tag=a", False),
        ("tags=blue", True),
        ("tags=blue,red", False),
        ("tags_any=blue,red", True),
        ("not_tags=blue,red", True),
        ("not_tags_any=blue,red", False),
        ("q=BLU", True),
    ):
        if query.startswith("q=") and listed in {"api/subnets", "api/ports"}:
            continue  # they have no quick search
        with CaptureQueriesContext(connection) as queries:
            found = [one["id"] for one in member.get(f"/{listed}/?{query}").json()["results"]]
        assert len(queries) < 12, (listed, query)
        assert (own in found) == is_found, (path, query)


def test_things_are_made_with_tags_under_api_or_not_at_all(world: Neutron) -> None:
    member = client_of(world.people.member)
    bodies: dict[str, dict[str, Any]] = {
        "networks": {"name": "tagged"},
        "subnets": {"network": world.ids["network_id"], "cidr": "10.44.0.0/24"},
        "ports": {"network": world.ids["network_id"]},
        "routers": {"name": "tagged"},
        "security-groups": {"name": "tagged"},
        "floating-ips": {"network": world.ids["public_id"]},
    }
    for plural, body in bodies.items():
        count = member.get(f"/api/{plural}/").json()["count"]
        refused = member.post(f"/api/{plural}/", body | {"tags": [""]}, format="json")
        assert (refused.status_code, refused.json()["error"]["field"]) == (400, "tags"), plural
        assert member.get(f"/api/{plural}/").json()["count"] == count, plural
        made = member.post(f"/api/{plural}/", body | {"tags": ["b", "a"]}, format="json")
        assert (made.status_code, made.json()["tags"]) == (201, ["a", "b"]), (plural, made.content)
        assert member.get(f"/api/{plural}/?tags=a,b").json()["count"] == 1, plural
