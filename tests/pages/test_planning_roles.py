"""Who may open the pages of capacity, policies and trials, and what they cost in queries."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from scheduling.models import SchedulerPolicy
from scheduling.policies.services.policies import policy_create
from servers.models import Flavor, Image
from tests.worlds.cloud import People, active, flavor, host

PERSONS = ("admin", "member", "reader", "stranger", "anonymous")
ADMINS_ONLY = (200, 403, 403, 403, 302)
AsPerson = Callable[[Caller], Client]
PAGES = {
    "/capacity/": ADMINS_ONLY,
    "/simulate/": ADMINS_ONLY,
    "/simulate/?run=1&hosts_enabled=h1": ADMINS_ONLY,
    "/policies/": ADMINS_ONLY,
    "/policies/compare/": ADMINS_ONLY,
    "/policies/{policy}/": ADMINS_ONLY,
    "/policies/{policy}/edit/": ADMINS_ONLY,
    "/policies/{policy}/preview/?now=1": ADMINS_ONLY,
    "/policies/00000000-0000-0000-0000-00000000000a/": (404, 403, 403, 403, 302),
}
POSTS = {
    "/policies/new/": ({"copy_of": "defaults"}, (302, 403, 403, 403, 302)),
    "/policies/defaults/": ({}, (302, 403, 403, 403, 302)),
    "/policies/{policy}/act/": ({"step": "validate"}, (302, 403, 403, 403, 302)),
    "/policies/{policy}/edit/": ({"do": "add:filter"}, ADMINS_ONLY),
}


def client_for(person: str, people: People, as_person: AsPerson) -> Client:
    return Client() if person == "anonymous" else as_person(getattr(people, person))


@pytest.mark.parametrize("path", PAGES)
def test_each_page_opens_for_admins_alone(path: str, people: People, as_person: AsPerson) -> None:
    there = path.format(policy=policy_create(body={}).pk)

    browsers = [client_for(one, people, as_person) for one in PERSONS]
    found = [browser.get(there).status_code for browser in browsers]

    assert tuple(found) == PAGES[path]


@pytest.mark.parametrize("path", POSTS)
def test_each_form_is_taken_from_admins_alone(path: str, people: People, as_person: AsPerson) -> None:
    data, statuses = POSTS[path]
    there = path.format(policy=policy_create(body={}).pk)

    browsers = [client_for(one, people, as_person) for one in PERSONS]
    # The strangers first: what they might have changed would show in the admin's answer.
    found = [browser.post(there, data).status_code for browser in reversed(browsers)]

    assert tuple(reversed(found)) == statuses


@pytest.mark.parametrize("person", ["member", "reader", "stranger", "anonymous"])
def test_who_may_not_change_policies_changes_nothing(person: str, people: People, as_person: AsPerson) -> None:
    policy = policy_create(body={}, activate=True)
    client = client_for(person, people, as_person)

    client.post("/policies/defaults/")
    client.post("/policies/new/", {"copy_of": "defaults"})
    client.post(f"/policies/{policy.pk}/act/", {"step": "retire"})

    assert [row.state for row in SchedulerPolicy.objects.all()] == ["active"]


@pytest.mark.parametrize("path", [path for path in POSTS if "edit" not in path])
def test_an_address_for_forms_cannot_be_opened(path: str, people: People, as_person: AsPerson) -> None:
    there = path.format(policy=policy_create(body={}).pk)

    assert as_person(people.admin).get(there).status_code == 405


@pytest.mark.parametrize("person", ["member", "reader"])
def test_tenants_find_no_entry_to_what_they_may_not_open(person: str, people: People, as_person: AsPerson) -> None:
    frame = client_for(person, people, as_person).get("/").text

    assert [path for path in ("/capacity/", "/policies/", "/simulate/") if f'href="{path}"' in frame] == []


def test_admins_find_both_in_the_frame(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)

    assert 'href="/capacity/"' in client.get("/hosts/").text
    assert 'href="/policies/"' in client.get("/decisions/").text


def queries(client: Client, path: str) -> int:
    client.get(path)
    with CaptureQueriesContext(connection) as seen:
        assert client.get(path).status_code == 200
    return len(seen)


def test_pages_cost_the_same_with_many_hosts_flavors_and_instances(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    draft = policy_create(body={})
    active(people.member, "one")
    tiny = Flavor.objects.get().pk
    paths = ["/capacity/", "/capacity/?zone=nova&n1=1", "/simulate/", f"/policies/{draft.pk}/edit/"]
    paths += [f"/simulate/?run=1&flavor={tiny}&count=3&hosts_enabled=h1"]
    few = [queries(client, path) for path in paths]
    for number in range(3):
        host(f"more-{number}")
        flavor(f"more-{number}", memory_mib=600 + number)
        active(people.member, f"more-{number}")

    assert [queries(client, path) for path in paths] == few


@pytest.mark.parametrize("count", ["1", "200"])
def test_a_trial_costs_the_same_with_many_hosts(count: str, people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    fields = {"name": "", "flavor": str(Flavor.objects.get().pk), "image": str(Image.objects.get().pk), "try": "1"}
    fields |= {"min_count": count, "availability_zone": "", "key_name": "", "group": "", "user_data": "", "tags": ""}
    few = tried(client, fields)
    for number in range(3):
        host(f"more-{number}")
        flavor(f"more-{number}", memory_mib=600 + number)

    assert tried(client, fields) == few


def tried(client: Client, fields: dict[str, str]) -> int:
    client.post("/instances/create/", fields)
    with CaptureQueriesContext(connection) as seen:
        assert client.post("/instances/create/", fields).status_code == 200
    return len(seen)


@pytest.mark.parametrize(
    "path", ["/capacity/", "/simulate/", "/policies/", "/policies/compare/", "/policies/{policy}/"]
)
def test_no_page_needs_more_than_its_own_files(path: str, people: People, as_person: AsPerson) -> None:
    reported = as_person(people.admin).get(path.format(policy=policy_create(body={}).pk)).text

    assert [bad for bad in (" style=", "<style", "<script>", " onclick=", "javascript:") if bad in reported] == []
