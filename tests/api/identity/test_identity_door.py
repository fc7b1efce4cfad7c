"""The Identity API as Keystone's clients call it: discovery, tokens of each scope, the catalog, people and roles."""

from typing import Any

import pytest
from django.test import Client

from controlplane.identity.models import Project, RoleAssignment, Token, User
from controlplane.identity.openstack.routes import ROUTES
from controlplane.identity.services import user_update
from tests.worlds.cloud import PASSWORD, People, people
from tests.worlds.second_factors import code_of, set_up

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> People:
    return people()


class Cloud:
    """A client of the door, as one person."""

    def __init__(self, token: str = "") -> None:
        self.client = Client()
        self.token = token

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        if self.token:
            headers.setdefault("X-Auth-Token", self.token)
        sent = {} if body is None else {"data": body, "content_type": "application/json"}
        return self.client.generic(method, f"/identity{path}", headers=headers, **_encoded(sent))


def _encoded(sent: dict[str, Any]) -> dict[str, Any]:
    import json

    return {**sent, "data": json.dumps(sent["data"])} if sent else {}


def auth(username: str, *, scope: Any = None, password: str = PASSWORD, **user: Any) -> dict[str, Any]:
    key = user or {"name": username, "domain": {"id": "default"}}
    identity = {"methods": ["password"], "password": {"user": {**key, "password": password}}}
    return {"auth": {"identity": identity, **({"scope": scope} if scope else {})}}


DEMO = {"project": {"name": "demo", "domain": {"name": "Default"}}}


def log_in(username: str, scope: Any = DEMO) -> Cloud:
    answer = Cloud().call("POST", "/v3/auth/tokens", auth(username, scope=scope))
    assert answer.status_code == 201, answer.content
    return Cloud(answer["X-Subject-Token"])


def test_discovery_needs_no_token_and_links_to_where_it_was_asked() -> None:
    answer = Cloud().client.get("/identity", headers={"Host": "cloud.example.org"})
    assert answer.status_code == 300
    (version,) = answer.json()["versions"]["values"]
    assert version["links"][0]["href"] == "http://cloud.example.org/identity/v3/"
    for path in ("/v3", "/v3/"):
        assert Cloud().call("GET", path).json()["version"]["id"] == version["id"]


def test_token_of_a_project_has_roles_and_a_catalog_whose_addresses_answer(world: People) -> None:
    answer = Cloud().call("POST", "/v3/auth/tokens", auth("mary", scope=DEMO))
    assert answer.status_code == 201
    token = answer.json()["token"]
    assert token["methods"] == ["password"]
    assert token["user"]["name"] == "mary"
    assert token["project"]["name"] == "demo"
    assert [role["name"] for role in token["roles"]] == ["member"]
    assert token["expires_at"].endswith("Z") and "." in token["expires_at"]
    assert answer["Cache-Control"] == "no-store"
    for service in token["catalog"]:
        assert {one["interface"] for one in service["endpoints"]} == {"public", "internal", "admin"}
        path = service["endpoints"][0]["url"].removeprefix("http://testserver")
        found = Cloud().client.get(path, headers={"X-Auth-Token": answer["X-Subject-Token"]})
        assert found.status_code in (200, 300), path
    without = Cloud().call("POST", "/v3/auth/tokens?nocatalog", auth("mary", scope=DEMO))
    assert "catalog" not in without.json()["token"]


def test_the_token_opens_the_other_doors(world: People) -> None:
    token = log_in("root").token
    client = Client()
    assert client.get("/api/instances/", headers={"X-Auth-Token": token}).status_code == 200
    assert client.get("/placement/resource_providers", headers={"X-Auth-Token": token}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        auth("mary", password="wrong"),
        auth("nobody"),
        auth("mary", scope={"project": {"name": "other", "domain": {"id": "default"}}}),
        auth("mary", scope={"project": {"name": "nothing", "domain": {"id": "default"}}}),
        auth("mary", scope={"project": {"id": "no-id"}}),
        auth("mary", scope={"project": {"name": "demo", "domain": {"id": "elsewhere"}}}),
        auth("mary", scope={"system": {"all": True}}),
        auth("mary", scope={"domain": {"id": "default"}}),
        {"auth": {"identity": {"methods": ["kerberos"]}}},
        {"auth": {"identity": {"methods": ["token"], "token": {"id": "unknown"}}}},
    ],
)
def test_what_is_not_right_is_a_401_that_tells_no_stranger_what_exists(world: People, body: Any) -> None:
    answer = Cloud().call("POST", "/v3/auth/tokens", body)
    assert answer.status_code == 401
    error = answer.json()["error"]
    assert (error["code"], error["title"]) == (401, "Unauthorized")
    assert error["message"]
    assert not Token.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"auth": {"identity": {"methods": []}}},
        {"auth": {"identity": {"methods": ["password"]}}},
        {"auth": {"identity": {"methods": ["password"], "password": {"user": {"name": "mary", "password": "x"}}}}},
        {"auth": {"identity": {"methods": ["token"], "token": {"id": "x"}}, "more": 1}},
    ],
)
def test_a_malformed_body_is_a_400(world: People, body: Any) -> None:
    answer = Cloud().call("POST", "/v3/auth/tokens", body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


def test_a_token_without_a_project_asks_where_it_may_go_and_nothing_else(world: People) -> None:
    free = log_in("mary", scope="unscoped")
    shown = free.call("GET", "/v3/auth/tokens", **{"X-Subject-Token": free.token}).json()["token"]
    assert "project" not in shown and "roles" not in shown and "catalog" not in shown
    (project,) = free.call("GET", "/v3/auth/projects").json()["projects"]
    assert project["name"] == "demo"
    assert free.call("GET", "/v3/projects").status_code == 403
    assert Client().get("/api/instances/", headers={"X-Auth-Token": free.token}).status_code == 401
    assert Client().get("/placement/resource_providers", headers={"X-Auth-Token": free.token}).status_code == 401

    body = {
        "auth": {
            "identity": {"methods": ["token"], "token": {"id": free.token}},
            "scope": {"project": {"id": project["id"]}},
        }
    }
    answer = Cloud().call("POST", "/v3/auth/tokens", body)
    assert answer.status_code == 201
    token = answer.json()["token"]
    assert token["methods"] == ["password", "token"]
    assert token["expires_at"] == shown["expires_at"]  # no token prolongs itself


def test_without_a_scope_the_default_project_counts_while_there_is_a_role(world: People) -> None:
    assert "project" not in Cloud().call("POST", "/v3/auth/tokens", auth("mary")).json()["token"]
    mary = User.objects.get(username="mary")
    user_update(user=mary, default_project=Project.objects.get(name="demo"))
    assert Cloud().call("POST", "/v3/auth/tokens", auth("mary")).json()["token"]["project"]["name"] == "demo"
    RoleAssignment.objects.filter(user=mary).delete()
    assert "project" not in Cloud().call("POST", "/v3/auth/tokens", auth("mary")).json()["token"]


def test_a_second_factor_is_asked_for_beside_the_password(world: People) -> None:
    secret, _ = set_up(User.objects.get(username="mary"))
    assert Cloud().call("POST", "/v3/auth/tokens", auth("mary", scope=DEMO)).status_code == 401
    body = auth("mary", scope=DEMO)
    identity = body["auth"]["identity"]
    identity["methods"].append("totp")
    identity["totp"] = {"user": {"name": "mary", "domain": {"id": "default"}, "passcode": code_of(secret)}}
    answer = Cloud().call("POST", "/v3/auth/tokens", body)
    assert answer.status_code == 201
    assert answer.json()["token"]["methods"] == ["password", "totp"]
    assert Cloud().call("POST", "/v3/auth/tokens", body).status_code == 401  # a code counts once


def test_a_log_in_by_id_is_braked_like_one_by_name(world: People) -> None:
    mary = User.objects.get(username="mary")
    assert Cloud().call("POST", "/v3/auth/tokens", auth("", id=mary.pk.hex)).status_code == 201
    wrong = [
        Cloud().call("POST", "/v3/auth/tokens", auth("", password="x", id=mary.pk.hex)).status_code for _ in range(12)
    ]
    assert wrong[0] == 401
    assert wrong[-1] == 429


def test_validate_and_revoke_are_for_the_holder_and_for_administrators(world: People) -> None:
    mary, stan = log_in("mary"), log_in("stan", {"project": {"name": "other", "domain": {"id": "default"}}})
    root = log_in("root")
    about_mary = {"X-Subject-Token": mary.token}
    assert mary.call("GET", "/v3/auth/tokens", **about_mary).status_code == 200
    answer = root.call("GET", "/v3/auth/tokens", **about_mary)
    assert answer.json()["token"]["user"]["name"] == "mary"
    assert answer["X-Subject-Token"] == mary.token
    assert stan.call("GET", "/v3/auth/tokens", **about_mary).status_code == 403
    assert stan.call("DELETE", "/v3/auth/tokens", **about_mary).status_code == 403
    assert root.call("HEAD", "/v3/auth/tokens", **about_mary).status_code == 200
    for asker in (root, mary):
        assert asker.call("GET", "/v3/auth/tokens", **{"X-Subject-Token": "unknown"}).status_code == 404

    assert mary.call("DELETE", "/v3/auth/tokens", **about_mary).status_code == 204
    assert mary.call("GET", "/v3/auth/projects").status_code == 401
    assert root.call("GET", "/v3/auth/tokens", **about_mary).status_code == 404


def test_people_are_made_given_roles_and_removed(world: People) -> None:
    root = log_in("root")
    project = root.call("POST", "/v3/projects", {"project": {"name": "new", "domain_id": "default"}}).json()["project"]
    body = {"user": {"name": "nora", "password": "a long enough phrase", "project_id": project["id"]}}
    answer = root.call("POST", "/v3/users", body)
    assert answer.status_code == 201
    user = answer.json()["user"]
    assert user["default_project_id"] == project["id"]
    assert root.call("POST", "/v3/users", body).status_code == 409

    (role,) = root.call("GET", "/v3/roles?name=member").json()["roles"]
    grant = f"/v3/projects/{project['id']}/users/{user['id']}/roles/{role['id']}"
    assert root.call("HEAD", grant).status_code == 404
    for _ in range(2):
        assert root.call("PUT", grant).status_code == 204
    assert root.call("HEAD", grant).status_code == 204
    query = f"user.id={user['id']}&include_names=true"
    (assignment,) = root.call("GET", f"/v3/role_assignments?{query}").json()["role_assignments"]
    assert assignment["scope"]["project"]["name"] == "new"
    assert assignment["role"] == {"id": "member", "name": "member"}

    nora = Cloud().call("POST", "/v3/auth/tokens", auth("nora", password="a long enough phrase"))
    assert nora.json()["token"]["project"]["name"] == "new"
    assert root.call("DELETE", grant).status_code == 204
    assert root.call("DELETE", grant).status_code == 404
    assert root.call("DELETE", f"/v3/users/{user['id']}").status_code == 204
    assert root.call("DELETE", f"/v3/projects/{project['id']}").status_code == 204
    assert root.call("GET", f"/v3/projects/{project['id']}").status_code == 404


def test_names_are_found_by_filter_and_not_as_ids(world: People) -> None:
    root = log_in("root")
    assert root.call("GET", "/v3/projects/demo").status_code == 404
    assert [one["name"] for one in root.call("GET", "/v3/projects?name=demo").json()["projects"]] == ["demo"]
    assert root.call("GET", "/v3/projects?domain_id=elsewhere").json()["projects"] == []
    assert [one["name"] for one in root.call("GET", "/v3/users?name=mary").json()["users"]] == ["mary"]
    assert root.call("GET", "/v3/users?enabled=false").json()["users"] == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v3/projects", {"project": {"name": "x", "tags": ["kept nowhere"]}}),
        ("/v3/projects", {"project": {"name": "x", "quotta": 1}}),
        ("/v3/users", {"user": {"name": "x", "password": "1"}}),
        ("/v3/users", {"user": {"name": "x", "default_project_id": "no-id"}}),
        ("/v3/users", {"user": {"name": "x", "project_id": "no-id"}}),
    ],
)
def test_what_is_not_kept_is_refused(world: People, path: str, body: Any) -> None:
    answer = log_in("root").call("POST", path, body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


def test_other_domain_is_not_found_by_what_is_written_either(world: People) -> None:
    root = log_in("root")
    for kind, key in (
        ("project", "domain_id"),
        ("project", "parent_id"),
        ("user", "domain_id"),
        ("group", "domain_id"),
    ):
        assert root.call("POST", f"/v3/{kind}s", {kind: {"name": "x", key: "elsewhere"}}).status_code == 404, (
            kind,
            key,
        )


def test_own_password_is_changed_for_the_one_in_force(world: People) -> None:
    mary = log_in("mary")
    path = f"/v3/users/{User.objects.get(username='mary').pk.hex}/password"
    wrong = {"user": {"original_password": "wrong", "password": "another long phrase"}}
    assert mary.call("POST", path, wrong).status_code == 400
    right = {"user": {"original_password": PASSWORD, "password": "another long phrase"}}
    assert log_in("root").call("POST", path, right).status_code == 403
    assert mary.call("POST", path, right).status_code == 204
    assert mary.call("GET", "/v3/auth/projects").status_code == 401


FOR_ALL = {
    ("GET", "/v3/auth/tokens"),
    ("HEAD", "/v3/auth/tokens"),
    ("DELETE", "/v3/auth/tokens"),
    ("GET", "/v3/auth/catalog"),
    ("GET", "/v3/auth/projects"),
    ("GET", "/v3/auth/domains"),
    ("GET", "/v3/auth/system"),
    ("GET", "/v3/domains"),
    ("GET", "/v3/domains/{domain_id}"),
    ("GET", "/v3/regions"),
    ("GET", "/v3/regions/{region_id}"),
}
OPEN = {("GET", "/"), ("GET", "/v3"), ("GET", "/v3/"), ("POST", "/v3/auth/tokens")}
EVERY = sorted((method, route.template) for route in ROUTES.routes for method in route.methods)


def test_each_route_is_for_administrators_unless_it_is_named_here(world: People) -> None:
    """Of other people's things: a member, a reader and a stranger are refused before anything is looked up."""
    root = User.objects.get(username="root")
    named = dict.fromkeys(("user_id", "credential_id", "group_id"), root.pk.hex)
    named["project_id"] = world.stranger.project_id.hex
    known = {"role_id": "member", "domain_id": "default", "region_id": "RegionOne"}
    persons = [log_in("mary"), log_in("rita")]
    for method, template in EVERY:
        path = template.format(service_id="identity", endpoint_id="none", **named, **known)
        body: Any = {} if method in ("POST", "PATCH") else None
        if (method, template) not in OPEN:
            assert Cloud().call(method, path, body).status_code == 401, (method, template)
        if (method, template) not in OPEN | FOR_ALL:
            assert [one.call(method, path, body).status_code for one in persons] == [403, 403], (method, template)


def test_a_name_is_reached_neither_as_an_id_nor_by_a_domain_that_is_none(world: People) -> None:
    User.objects.filter(username="mary").update(username="mary@corp")
    assert Cloud().call("POST", "/v3/auth/tokens", auth("mary@corp")).status_code == 201
    assert Cloud().call("POST", "/v3/auth/tokens", auth("", id="mary@corp")).status_code == 401
    body = auth("", name="mary", domain={"id": "corp"})
    assert Cloud().call("POST", "/v3/auth/tokens", body).status_code == 401
