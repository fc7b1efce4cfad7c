"""Groups of users and roles in the system, at the Identity door, at the other doors and at `/api/`."""

import json
from typing import Any

import pytest
from django.test import Client

from controlplane.audit_log.models import AuditLogEntry
from controlplane.identity.domain import Role
from controlplane.identity.models import ApplicationCredential, User, UserGroup
from controlplane.identity.selectors.token_facts import token_facts
from controlplane.identity.selectors.token_holder import token_holder
from controlplane.identity.services import (
    group_create,
    group_member_add,
    group_member_remove,
    group_role_grant,
    system_role_grant,
    user_update,
)
from tests.api.identity.test_application_credentials import enter, made, path, status_of
from tests.api.identity.test_identity_door import DEMO, Cloud, auth, log_in
from tests.fixtures.queries import undisturbed_queries
from tests.worlds.cloud import PASSWORD, People, people

pytestmark = pytest.mark.django_db
SYSTEM = {"system": {"all": True}}


@pytest.fixture
def world() -> People:
    return people()


def names(answer: Any, kind: str) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [one["name"] for one in answer.json()[kind]]


def test_members_have_the_roles_of_a_group_for_as_long_as_they_are_in_it(world: People) -> None:
    root, zoe = log_in("root"), User.objects.create_user("zoe", password=PASSWORD)
    entry = auth("zoe", scope=DEMO)
    made_group = root.call("POST", "/v3/groups", {"group": {"name": "devs", "description": None}})
    assert made_group.status_code == 201, made_group.content
    key, user, project = made_group.json()["group"]["id"], zoe.pk.hex, world.member.project_id.hex
    assert root.call("POST", "/v3/groups", {"group": {"name": "devs"}}).status_code == 409
    assert root.call("PATCH", f"/v3/groups/{key}", {"group": {"description": "who develops"}}).status_code == 200
    assert names(root.call("GET", "/v3/groups?name=devs"), "groups") == ["devs"]

    member, grant = f"/v3/groups/{key}/users/{user}", f"/v3/projects/{project}/groups/{key}/roles/member"
    assert Cloud().call("POST", "/v3/auth/tokens", entry).status_code == 401
    for place in (member, grant):
        assert root.call("HEAD", place).status_code == 404
        assert [root.call(one, place).status_code for one in ("PUT", "PUT", "HEAD", "GET")] == [204] * 4
    assert names(root.call("GET", f"/v3/groups/{key}/users"), "users") == ["zoe"]
    assert names(root.call("GET", grant.rpartition("/")[0]), "roles") == ["member"]

    answer = Cloud().call("POST", "/v3/auth/tokens", entry)
    assert [one["name"] for one in answer.json()["token"]["roles"]] == ["member"]
    token = answer["X-Subject-Token"]
    own = Cloud(token)
    assert names(own.call("GET", f"/v3/users/{user}/groups"), "groups") == ["devs"]
    assert own.call("GET", f"/v3/users/{world.admin.user_id.hex}/groups").status_code == 403
    assert own.call("GET", "/v3/groups").status_code == 403
    assert names(own.call("GET", "/v3/auth/projects"), "projects") == ["demo"]

    shown = root.call("GET", f"/v3/role_assignments?group.id={key}&include_names").json()["role_assignments"]
    assert [(one["group"]["name"], one["scope"]["project"]["name"]) for one in shown] == [("devs", "demo")]
    listed = f"/v3/role_assignments?user.id={user}"
    assert root.call("GET", listed).json()["role_assignments"] == []
    (held,) = root.call("GET", listed + "&effective").json()["role_assignments"]
    assert (held["user"]["id"], held["role"]["id"]) == (user, "member") and "group" not in held
    assert held["links"]["membership"].endswith(member)
    assert root.call("GET", f"/v3/role_assignments?group.id={key}&effective").status_code == 400

    assert root.call("DELETE", member).status_code == 204
    assert root.call("DELETE", member).status_code == 404
    assert (token_holder(token), token_facts(token)) == (None, None)
    assert root.call("PUT", member).status_code == 204
    assert token_holder(token) is not None
    assert root.call("DELETE", f"/v3/groups/{key}").status_code == 204
    assert token_holder(token) is None and User.objects.filter(pk=zoe.pk).exists()
    recorded = set(AuditLogEntry.objects.filter(action__startswith="group.").values_list("action", flat=True))
    expected = ("create", "update", "member_add", "member_remove", "role_grant", "delete")
    assert recorded == {f"group.{one}" for one in expected}


def test_roles_of_ones_own_and_by_groups_add_up_in_one_query(world: People) -> None:
    mary = User.objects.get(username="mary")
    token = log_in("mary").token
    for number in range(5):
        group = group_create(name=f"g{number}")
        group_member_add(group=group, user=mary)
        group_role_grant(group=group, project=mary.role_assignments.get().project, role=Role.MANAGER)
        group_role_grant(group=group, project=None, role=Role.ADMIN)  # counts in the system, and not here
    holder = token_holder(token)
    assert holder is not None and holder.caller.roles == {Role.MEMBER, Role.MANAGER}
    assert undisturbed_queries(lambda: token_holder(token)) == 1
    assert undisturbed_queries(lambda: token_facts(token)) == 1


def test_application_credentials_end_with_the_group_or_the_power_that_they_rest_on(world: People) -> None:
    mary, group = User.objects.get(username="mary"), group_create(name="managers")
    group_member_add(group=group, user=mary)
    group_role_grant(group=group, project=mary.role_assignments.get().project, role=Role.MANAGER)
    one = made(world.member, roles=[{"name": "manager"}])
    assert status_of(one) == 201
    group_member_remove(group=group, user=mary)
    group_member_add(group=group, user=mary)
    assert status_of(one) == 401 and not ApplicationCredential.objects.exists()

    User.objects.create_superuser("spare")
    root = User.objects.get(username="root")
    root.role_assignments.all().delete()
    user_update(user=root, is_superuser=True)
    power = made(world.admin)
    user_update(user=root, is_superuser=False)
    user_update(user=root, is_superuser=True)
    assert status_of(power) == 401


def test_a_token_of_a_credential_ends_no_other_tokens_of_its_user(world: People) -> None:
    mary = log_in("mary")
    one = made(world.member)
    first, second = (enter(id=one["id"], secret=one["secret"])["X-Subject-Token"] for _ in range(2))
    program = Cloud(first)
    assert program.call("DELETE", "/v3/auth/tokens", **{"X-Subject-Token": mary.token}).status_code == 403
    holder = token_holder(mary.token)
    assert holder is not None
    refused = Client().delete(f"/api/tokens/{holder.token_id}/", headers={"X-Auth-Token": first})
    assert refused.status_code == 403
    for own in (second, first):
        assert program.call("DELETE", "/v3/auth/tokens", **{"X-Subject-Token": own}).status_code == 204


def test_persons_of_the_system_read_or_do_what_administrators_do_but_nothing_in_a_project(world: People) -> None:
    root, mary = log_in("root"), world.member.user_id.hex
    grant, key = f"/v3/system/users/{mary}/roles/reader", UserGroup.objects.create(name="operators").pk.hex
    assert Cloud().call("POST", "/v3/auth/tokens", auth("mary", scope=SYSTEM)).status_code == 401
    assert log_in("mary").call("GET", "/v3/auth/system").json()["system"] == []
    assert [root.call(one, grant).status_code for one in ("HEAD", "PUT", "HEAD")] == [404, 204, 204]
    shown = root.call("GET", "/v3/role_assignments?scope.system=all").json()["role_assignments"]
    assert [(one["user"]["id"], one["scope"]) for one in shown] == [(mary, SYSTEM)]
    assert log_in("mary").call("GET", "/v3/auth/system").json()["system"] == [{"all": True}]

    reader = log_in("mary", SYSTEM)
    facts = token_facts(reader.token)
    assert facts is not None and facts.caller is not None and facts.caller.is_of_system
    document = reader.call("GET", "/v3/auth/tokens", **{"X-Subject-Token": reader.token}).json()["token"]
    assert document["system"] == {"all": True} and "project" not in document and document["catalog"]
    headers = {"X-Auth-Token": reader.token}
    get = Client().get
    lists = (
        *("/identity/v3/users", "/identity/v3/groups", "/identity/v3/projects", "/placement/resource_providers"),
        *("/compute/v2.1/servers/detail?all_tenants=1", "/compute/v2.1/os-hypervisors", "/network/v2.0/networks"),
        *("/compute/v2.1/os-aggregates", "/volume/v3/volumes/detail?all_tenants=1", "/image/v2/images"),
        *("/network/v2.0/security-groups", "/network/v2.0/security-group-rules", "/api/security-groups/"),
        *(
            "/compute/v2.1/os-security-groups?all_tenants=1",
            "/compute/v2.1/flavors?is_public=True",
        ),
        *("/api/compute-nodes/", "/api/groups/", "/api/me/"),
    )
    assert {one: get(one, headers=headers).status_code for one in lists} == dict.fromkeys(lists, 200)
    assert get("/compute/v2.1/servers", headers=headers).status_code == 403  # of which project?
    assert reader.call("POST", "/v3/groups", {"group": {"name": "mine"}}).status_code == 403
    credential = reader.call("POST", path(world.member), {"application_credential": {"name": "x"}})
    assert credential.status_code == 403 and "acts in a project" in credential.json()["error"]["message"]

    assert root.call("PUT", f"/v3/system/groups/{key}/roles/admin").status_code == 204
    assert root.call("PUT", f"/v3/groups/{key}/users/{mary}").status_code == 204
    admin = Cloud(reader.token)
    assert admin.call("POST", "/v3/groups", {"group": {"name": "mine"}}).status_code == 201
    server = {"server": {"name": "a", "imageRef": "", "flavorRef": "1", "networks": "none"}}
    create = Client().post("/compute/v2.1/servers", server, content_type="application/json", headers=headers)
    assert create.status_code == 403 and "acts in a project" in create.text
    api = Client().post("/api/volumes/", {"name": "a", "size_gib": 1}, "application/json", headers=headers)
    assert (api.status_code, api.json()["error"]["code"]) == (403, "project_needed")
    assert root.call("DELETE", grant).status_code == 204
    assert root.call("DELETE", f"/v3/system/groups/{key}/roles/admin").status_code == 204
    assert token_holder(reader.token) is None


def test_groups_and_roles_in_the_system_at_the_api(world: People) -> None:
    system_role_grant(user=User.objects.get(username="rita"), role=Role.READER)
    tokens = {name: log_in(name).token for name in ("root", "mary", "rita")} | {"reader": log_in("rita", SYSTEM).token}
    project, mary = str(world.member.project_id), str(world.member.user_id)

    def ask(who: str, method: str, where: str, body: Any = None) -> Any:
        headers = {"X-Auth-Token": tokens[who]}
        return Client().generic(method, f"/api{where}", headers=headers, **_sent(body))

    key = ask("root", "POST", "/groups/", {"name": "devs"}).json()["id"]
    assert ask("root", "PUT", f"/groups/{key}/members/{mary}/").status_code == 204
    given = ask("root", "POST", f"/groups/{key}/roles/", {"project": project, "role": "manager"})
    assert given.status_code == 201 and given.json()["project"]["name"] == "demo"
    assert ask("root", "POST", f"/groups/{key}/roles/", {"project": None, "role": "reader"}).status_code == 201
    assert sorted(ask("mary", "GET", "/me/").json()["roles"]) == ["manager", "member"]
    for who, status in (("reader", 200), ("rita", 403), ("mary", 403)):
        places = ("/groups/", f"/groups/{key}/members/", f"/groups/{key}/roles/", f"/users/{mary}/system-roles/")
        assert {ask(who, "GET", one).status_code for one in places} == {status}, who
        assert ask(who, "DELETE", f"/groups/{key}/").status_code == 403
    assert ask("root", "PUT", f"/users/{mary}/system-roles/admin/").status_code == 204
    assert ask("root", "GET", f"/users/{mary}/system-roles/").json() == {"roles": ["admin"]}
    assert [ask("root", "DELETE", f"/users/{mary}/system-roles/admin/").status_code for _ in range(2)] == [204, 404]
    assert ask("root", "PUT", f"/users/{mary}/system-roles/owner/").status_code == 404
    gone = f"/groups/{key}/roles/{given.json()['id']}/"
    assert [ask("root", "DELETE", gone).status_code for _ in range(2)] == [204, 404]
    assert ask("mary", "GET", "/me/").json()["roles"] == ["member"]
    assert ask("root", "DELETE", f"/groups/{key}/members/{mary}/").status_code == 204
    assert ask("root", "DELETE", f"/groups/{key}/").status_code == 204


def _sent(body: Any) -> dict[str, Any]:
    return {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
