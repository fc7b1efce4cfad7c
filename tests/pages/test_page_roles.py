"""Who may open which page and post which form: admin, member, reader, a stranger, and nobody."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from controlplane.identity.domain import Caller
from servers.models import Instance
from tests.worlds.cloud import People, active, instance_of

PERSONS = ("admin", "member", "reader", "stranger", "anonymous")
AsPerson = Callable[[Caller], Client]
# Page -> status for each of PERSONS.
PAGES = {
    "/": (200, 200, 200, 200, 302),
    "/instances/": (200, 200, 200, 200, 302),
    "/instances/create/": (200, 200, 403, 200, 302),
    "/instances/{instance}/": (200, 200, 200, 404, 302),
    "/instances/{instance}/act/stop/": (200, 200, 403, 404, 302),
    "/instances/{instance}/act/nonsense/": (404, 404, 403, 404, 302),
    "/instances/{instance}/again/": (200, 200, 403, 404, 302),
    "/instances/{instance}/delete/": (200, 200, 403, 404, 302),
    "/instances/{instance}/rebuild/": (200, 200, 403, 404, 302),
    "/instances/{instance}/rescue/": (200, 200, 403, 404, 302),
    "/instances/{instance}/reset/": (200, 403, 403, 403, 302),
    "/instances/{instance}/console/": (200, 200, 200, 404, 302),
    "/instances/{instance}/console/download/": (200, 200, 200, 404, 302),
    "/instances/{instance}/screenshot/": (200, 200, 200, 404, 302),
    "/instances/{instance}/screenshot/image/": (404, 404, 404, 404, 302),
    "/instances/{instance}/diagnostics/": (200, 403, 403, 403, 302),
    "/instances/{instance}/counters/": (302, 302, 302, 404, 302),
    "/flavors/": (200, 200, 200, 200, 302),
    "/flavors/new/": (200, 403, 403, 403, 302),
    "/flavors/spec/": (200, 403, 403, 403, 302),
    "/flavors/{flavor}/": (200, 200, 200, 200, 302),
    "/flavors/{flavor}/edit/": (200, 403, 403, 403, 302),
    "/keypairs/": (200, 200, 200, 200, 302),
    "/keypairs/new/": (200, 200, 403, 200, 302),
    "/server-groups/": (200, 200, 200, 200, 302),
    "/server-groups/new/": (200, 200, 403, 200, 302),
    "/server-groups/00000000-0000-0000-0000-00000000000a/": (404, 404, 404, 404, 302),
    "/projects/": (200, 403, 403, 403, 302),
    "/projects/new/": (200, 403, 403, 403, 302),
    "/projects/{project}/": (200, 403, 403, 403, 302),
    "/projects/{project}/edit/": (200, 403, 403, 403, 302),
    "/users/": (200, 403, 403, 403, 302),
    "/users/new/": (200, 403, 403, 403, 302),
    "/users/{user}/": (200, 403, 403, 403, 302),
    "/users/{user}/edit/": (200, 403, 403, 403, 302),
    "/account/": (200, 200, 200, 200, 302),
    "/account/password/": (200, 200, 200, 200, 302),
    "/account/second-factor/": (200, 200, 200, 200, 302),
    "/hosts/": (200, 403, 403, 403, 302),
    "/hosts/versions/": (200, 403, 403, 403, 302),
    "/hosts/add/": (200, 403, 403, 403, 302),
    "/hosts/add/arrival/?host=h9": (200, 403, 403, 403, 302),
    "/hosts/map/": (200, 403, 403, 403, 302),
    "/hosts/map/?view=table": (200, 403, 403, 403, 302),
    "/hosts/h1/room/": (200, 403, 403, 403, 302),
    "/hosts/nowhere/room/": (404, 403, 403, 403, 302),
    "/hosts/h1/": (200, 403, 403, 403, 302),
    "/hosts/h1/remove/": (200, 403, 403, 403, 302),
    "/hosts/nowhere/remove/": (404, 403, 403, 403, 302),
    "/hosts/nowhere/": (404, 403, 403, 403, 302),
    "/providers/": (200, 403, 403, 403, 302),
    "/providers/{node}/": (200, 403, 403, 403, 302),
    "/providers/00000000-0000-0000-0000-00000000000a/": (404, 403, 403, 403, 302),
    "/decisions/": (200, 200, 200, 200, 302),
    "/decisions/{decision}/": (200, 200, 200, 404, 302),
    "/no-such-page/": (404, 404, 404, 404, 404),
    "/login/": (302, 302, 302, 302, 200),
}
POSTS = {
    "/instances/create/": ({}, (200, 200, 403, 200, 302)),
    "/instances/{instance}/act/": ({"action": "stop"}, (302, 302, 403, 404, 302)),
    "/instances/{instance}/act/stop/": ({}, (302, 302, 403, 404, 302)),
    "/instances/{instance}/delete/": ({}, (302, 302, 403, 404, 302)),
    "/flavors/new/": ({"name": ""}, (200, 403, 403, 403, 302)),
    "/flavors/{flavor}/edit/": ({"name": ""}, (200, 403, 403, 403, 302)),
    "/flavors/{flavor}/delete/": ({}, (302, 403, 403, 403, 302)),
    "/keypairs/new/": ({"name": ""}, (200, 200, 403, 200, 302)),
    "/keypairs/delete/": ({"name": "none"}, (404, 404, 403, 404, 302)),
    "/server-groups/new/": ({"name": ""}, (200, 200, 403, 200, 302)),
    "/server-groups/00000000-0000-0000-0000-00000000000a/delete/": ({}, (404, 404, 403, 404, 302)),
    "/projects/new/": ({"name": ""}, (200, 403, 403, 403, 302)),
    "/projects/{project}/edit/": ({"name": ""}, (200, 403, 403, 403, 302)),
    "/users/new/": ({"username": ""}, (200, 403, 403, 403, 302)),
    "/users/roles/": ({"username": "mary"}, (400, 403, 403, 403, 302)),
    "/users/{user}/edit/": ({"username": ""}, (200, 403, 403, 403, 302)),
    "/users/{user}/revoke/": ({}, (400, 403, 403, 403, 302)),
    "/users/{user}/second-factor/": ({}, (404, 403, 403, 403, 302)),
    "/account/password/": ({}, (200, 200, 200, 200, 302)),
    "/account/second-factor/": ({}, (400, 400, 400, 400, 302)),
    "/account/tokens/": ({}, (200, 200, 200, 200, 302)),
    "/account/tokens/revoke/": ({}, (400, 400, 400, 400, 302)),
    "/hosts/add/": ({"host": "cmp-7"}, (200, 403, 403, 403, 302)),
    "/hosts/h1/revoke/": ({}, (404, 403, 403, 403, 302)),
    "/hosts/h1/remove/": ({"typed": "h2"}, (200, 403, 403, 403, 302)),
    "/hosts/h1/act/": ({"action": "disable", "reason": "x"}, (302, 403, 403, 403, 302)),
    "/decisions/{decision}/replay/": ({}, (200, 403, 403, 403, 302)),
    "/decisions/{decision}/help/": ({}, (200, 200, 200, 404, 302)),
    "/project/": ({"project": "nonsense"}, (302, 302, 302, 302, 302)),
    "/theme/": ({"theme": "dark"}, (302, 302, 302, 302, 302)),
    "/logout/": ({}, (302, 302, 302, 302, 302)),
}
POST_ONLY = [path for path in POSTS if path not in PAGES]


def client_for(person: str, people: People, as_person: AsPerson) -> Client:
    return Client() if person == "anonymous" else as_person(getattr(people, person))


def address(path: str, instance: Instance) -> str:
    return path.format(
        instance=instance.pk,
        decision=instance.decision_id,
        node=instance.compute_node_uuid,
        flavor=instance.flavor_id,
        project=instance.project_id,
        user=instance.user_id,
    )


def test_each_page_opens_for_those_it_is_meant_for(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    clients = {one: client_for(one, people, as_person) for one in PERSONS}

    found = {path: tuple(clients[one].get(address(path, instance)).status_code for one in PERSONS) for path in PAGES}

    assert found == PAGES


def test_each_form_is_taken_from_those_it_is_meant_for(people: People, as_person: AsPerson) -> None:
    instance = active(people.member)
    clients = {one: client_for(one, people, as_person) for one in PERSONS}
    sessions = {one: dict(clients[one].cookies) for one in PERSONS}

    def post(path: str, person: str) -> int:
        """The status of the answer; what the form did is undone for the next one."""
        with transaction.atomic():
            answer = clients[person].post(address(path, instance), POSTS[path][0])
            transaction.set_rollback(True)
        clients[person].cookies.load(sessions[person])
        return answer.status_code

    found = {path: tuple(post(path, one) for one in PERSONS) for path in POSTS}

    assert found == {path: statuses for path, (_, statuses) in POSTS.items()}


def test_an_address_for_forms_cannot_be_opened(people: People, as_person: AsPerson) -> None:
    instance, admin = active(people.member), as_person(people.admin)

    found = {path: admin.get(address(path, instance)).status_code for path in POST_ONLY}

    assert found == dict.fromkeys(POST_ONLY, 405)


@pytest.mark.parametrize("person", ["reader", "stranger", "anonymous"])
@pytest.mark.parametrize(("verb", "data"), [("act", {"action": "stop"}), ("act/stop", {}), ("delete", {})])
def test_who_may_not_change_an_instance_changes_nothing(
    person: str, verb: str, data: dict[str, Any], people: People, as_person: AsPerson
) -> None:
    instance = active(people.member)

    client_for(person, people, as_person).post(f"/instances/{instance.pk}/{verb}/", data)

    assert (instance_of(instance.pk).vm_state, instance_of(instance.pk).task_state) == ("active", "")


def test_a_form_without_its_token_is_refused_with_a_page_that_explains(people: People) -> None:
    client = Client(enforce_csrf_checks=True)

    answer = client.post("/login/", {"username": "mary", "password": "x"})

    assert answer.status_code == 403
    assert "The form was too old" in answer.text


def test_a_live_part_sends_the_browser_to_the_login_page_when_the_session_ended(people: People) -> None:
    answer = Client().get("/instances/", headers={"HX-Request": "true"})

    assert (answer.status_code, answer.headers["HX-Redirect"]) == (200, "/login/")


def test_a_page_that_needs_a_login_is_reached_after_it(people: People) -> None:
    answer = Client().get("/instances/?status=ERROR")

    assert answer.headers["Location"] == "/login/?next=/instances/%3Fstatus%3DERROR"


def test_an_unknown_instance_is_not_found_and_its_page_names_the_request(people: People, as_person: AsPerson) -> None:
    answer = as_person(people.member).get(f"/instances/{uuid.uuid4()}/")

    assert answer.status_code == 404
    assert answer.headers["X-OpenStack-Request-Id"] in answer.text


def test_browsers_find_an_icon_where_they_look_for_one(db: None) -> None:
    answer = Client().get("/favicon.ico")

    assert (answer.status_code, answer.headers["Location"]) == (302, "/static/kilonova/icon.svg")
    assert "max-age=86400" in answer.headers["Cache-Control"]
