"""Each method of each route of each OpenStack door, by every kind of person: made from the route tables.

A method names the access rule that it needs, or stands here as one that needs none: a new route without a rule fails.
Who lacks the rule gets 403 before anything is looked up, and 401 without a token; who has it gets to the view. No view
and no database is needed for that; that views work, and keep other people's things apart, is shown door by door.
"""

import re
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client, RequestFactory

from controlplane.identity.domain import Caller, Role
from controlplane.identity.domain.access_rules import ANYBODY
from controlplane.identity.models import Project, RoleAssignment, User
from controlplane.identity.openstack.access import IdentityCaller
from controlplane.identity.openstack.dispatcher import DOOR as IDENTITY
from controlplane.identity.policy import DEFAULT_RULES
from controlplane.identity.selectors import caller_for_user
from controlplane.identity.selectors.token_facts import TokenFacts
from controlplane.identity.services.tokens import token_issue_own
from controlplane.kernel.clock import utc_now
from controlplane.openstack.door import Door
from controlplane.openstack.routes import Endpoint
from placement.openstack.access import WireCaller
from placement.openstack.dispatcher import DOOR as PLACEMENT
from servers.openstack.compute.dispatcher import DOOR as COMPUTE
from servers.openstack.image.dispatcher import DOOR as IMAGE
from servers.openstack.network.call import NetworkEndpoint
from servers.openstack.network.dispatcher import DOOR as NETWORK
from servers.openstack.volume.dispatcher import DOOR as VOLUME

DOORS: tuple[Door[Any], ...] = (IDENTITY, COMPUTE, IMAGE, NETWORK, VOLUME, PLACEMENT)
PERSONS = ("admin", "manager", "member", "reader", "service", "stranger")
OF_SYSTEM = ("system admin", "system reader")
NOTHING = "00000000-0000-4000-8000-000000000000"
NO_RULE = {
    # The view judges: one's own needs no role, other people's need users:* or projects:*.
    "/identity": {
        "/v3/auth/tokens",
        "/v3/auth/catalog",
        "/v3/auth/projects",
        "/v3/auth/domains",
        "/v3/auth/system",
        "/v3/projects/{project_id}",
        "/v3/users/{user_id}",
        "/v3/users/{user_id}/projects",
        "/v3/users/{user_id}/groups",
        "/v3/users/{user_id}/password",
        "/v3/users/{user_id}/application_credentials",
        "/v3/users/{user_id}/application_credentials/{credential_id}",
        "/v3/domains",
        "/v3/domains/{domain_id}",
        "/v3/regions",
        "/v3/regions/{region_id}",
    },
    # What the door is; and whose usages are asked for.
    "/network": {"/v2.0", "/v2.0/", "/v2.0/extensions", "/v2.0/extensions/{alias}"},
    "/placement": {"/usages"},
}


def endpoints(door: Door[Any]) -> Iterator[tuple[str, str, Endpoint]]:
    """Method and template of what needs a token."""
    for route in door.routes.routes:
        if route.template not in door.open_paths:
            for method, endpoint in route.methods.items():
                if (door.name, method, route.template) != ("Identity", "POST", "/v3/auth/tokens"):
                    yield method, route.template, endpoint


def test_each_method_names_a_rule_of_the_table() -> None:
    lax, counted = [], 0
    for door in DOORS:
        for method, template, endpoint in endpoints(door):
            counted += 1
            if endpoint.access is None and template not in NO_RULE.get(door.mount, set()):
                lax.append((door.name, method, template))
            assert endpoint.access is None or endpoint.access.value in DEFAULT_RULES, (door.name, method, template)
    assert lax == []
    assert counted > 350


def person(name: str) -> Caller:
    if name in OF_SYSTEM:
        return Caller(uuid.uuid4(), name, None, "", frozenset({Role(name.removeprefix("system "))}))
    role = Role.MEMBER if name == "stranger" else Role(name)
    return Caller(uuid.uuid4(), name, uuid.uuid4(), name, frozenset({role}))


def known_to(door: Door[Any], caller: Caller) -> Any:
    """The caller as this door has one."""
    if door is PLACEMENT:
        roles = frozenset(role.value for role in caller.roles)
        return WireCaller(str(caller.user_id), str(caller.own_project_id or ""), roles, caller=caller)
    if door is IDENTITY:
        now = utc_now()
        return IdentityCaller(
            TokenFacts(uuid.uuid4(), ("password",), now, now, now, caller.user_id, caller.username, caller)
        )
    return caller


def ask(door: Door[Any], method: str, template: str, endpoint: Endpoint) -> int:
    path = door.mount + re.sub(r"\{\w+\}", NOTHING, template)
    headers = {"Accept": "application/json"}
    if door.versions is not None:
        newest = door.versions.max_minor
        minor = newest if endpoint.until is None else min(endpoint.until, newest)
        headers["OpenStack-API-Version"] = f"{door.versions.service_type} {door.versions.text(minor)}"
    more = {"data": "{}", "content_type": "application/json"} if endpoint.takes else {}
    return int(door.serve(RequestFactory().generic(method, path, headers=headers, **more)).status_code)


def test_each_method_by_each_person(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate of each door, with views that answer whoever gets so far: no view says yes in place of the rule."""
    for kind in (Endpoint, NetworkEndpoint):
        monkeypatch.setattr(kind, "run", lambda *_: HttpResponse(status=299))
    people, wrong = {name: person(name) for name in (*PERSONS, *OF_SYSTEM)}, []
    for door in DOORS:
        for method, template, endpoint in endpoints(door):
            seen = {"nobody": ask(door, method, template, endpoint)}
            expected = {"nobody": 401}
            for name, caller in people.items():
                mine = replace(door, caller_of=lambda _, door=door, caller=caller: known_to(door, caller))
                seen[name] = ask(mine, method, template, endpoint)
                may = endpoint.access is None or DEFAULT_RULES[endpoint.access.value].permits(caller)
                expected[name] = 299 if may else 403
            if seen != expected:
                wrong.append((door.name, method, template, seen))
    assert wrong == []


def persons() -> dict[str, str]:
    """A token of each, all but the stranger in one project."""
    demo, other = Project.objects.create(name="demo"), Project.objects.create(name="other")
    found = {}
    for name in PERSONS:
        user = User.objects.create(username=name)
        project, role = (other, Role.MEMBER) if name == "stranger" else (demo, Role(name))
        RoleAssignment.objects.create(user=user, project=project, role=role.value)
        found[name] = token_issue_own(caller=caller_for_user(user=user)).token
    return found


@pytest.mark.django_db
def test_rules_are_shown_to_administrators_alone() -> None:
    tokens, client = persons(), Client()
    for name, token in tokens.items():
        answer = client.get("/api/access-rules/", headers={"X-Auth-Token": token})
        assert answer.status_code == (200 if name == "admin" else 403)
        client.force_login(User.objects.get(username=name))
        page = client.get("/access-rules/?q=networks%3Awrite")
        assert page.status_code == (200 if name == "admin" else 403), name
        client.logout()
        if name == "admin":
            assert [one["name"] for one in answer.json()] == list(DEFAULT_RULES)
            assert "networks:write" in page.text and "keypairs:write" not in page.text
    assert client.get("/api/access-rules/").status_code == 401


def test_persons_of_the_system_do_what_administrators_do_or_read_it() -> None:
    """The second column beside the first: nothing is open in the system that no role of a project opens."""
    admin, reader, operator = person("system admin"), person("system reader"), person("admin")
    reads = (":read", ":read_all", ":names", ":usages", ":validate")
    for name, rule in DEFAULT_RULES.items():
        assert not rule.permits(admin) or rule.permits(operator), name
        assert not rule.permits(reader) or rule.permits(admin), name
        assert not rule.permits(reader) or rule.who == ANYBODY or name.endswith(reads), name
        assert rule.in_system or not name.endswith(":read") or name == "saved_views:read", name
