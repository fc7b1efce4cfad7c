"""GET /api/audit-log/, and the page: administrators see all, members their project, readers and strangers nothing."""

from typing import Any

import pytest
from django.test import Client

from controlplane.audit_log.models import AuditLogEntry
from controlplane.identity.models import User
from scheduling.models import Service
from servers.models import Instance
from tests.fixtures.remembering import remembered
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/api/audit-log/"


@pytest.fixture
@remembered
def people() -> world.People:
    """Mary locks an instance, and the administrator edits a flavor and disables a host."""
    people = world.cloud("h1")
    world.create(people.member)
    world.pump()
    instance = Instance.objects.get()
    world.client_of(people.member).post(f"/api/instances/{instance.pk}/actions/", {"action": "lock"})
    admin = world.client_of(people.admin)
    admin.post(f"/api/services/{Service.objects.get().pk}/disable/", {"reason": "a fan"})
    admin.post(f"/api/instances/{instance.pk}/actions/", {"action": "protect"})
    return people


def actions(client: Any, **query: str) -> list[str]:
    answer = client.get(PATH, query)
    assert answer.status_code == 200, answer.json()
    return [one["action"] for one in answer.json()["results"]]


def page_of(people_name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=people_name))
    return client


def test_an_administrator_sees_all_of_it(people: world.People) -> None:
    found = actions(world.client_of(people.admin))
    assert {"instance.lock", "instance.protect", "host.disable"} <= set(found)


def test_a_member_sees_what_was_done_in_the_project_without_hosts_and_addresses(people: world.People) -> None:
    client = world.client_of(people.member)
    found = client.get(PATH).json()["results"]
    assert {"instance.lock", "instance.protect"} <= {one["action"] for one in found}
    assert "host.disable" not in {one["action"] for one in found}
    protect = next(one for one in found if one["action"] == "instance.protect")
    assert (protect["user_name"], protect["address"], protect["hash"]) == ("root", "", "")
    assert "h1" not in str([(one["before"], one["after"]) for one in found])


def test_readers_are_refused_and_strangers_see_nothing_of_it(people: world.People) -> None:
    assert world.client_of(people.reader).get(PATH).status_code == 403
    assert "instance.lock" not in actions(world.client_of(people.stranger))
    entry = AuditLogEntry.objects.get(action="instance.lock")
    assert world.client_of(people.stranger).get(f"{PATH}{entry.pk}/").status_code == 404
    assert world.client_of(people.member).get(f"{PATH}{entry.pk}/").json()["user_name"] == "mary"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"action": "host.disable"}, ["host.disable"]),
        ({"action": "host."}, ["host.disable"]),
        ({"kind": "instance", "user": "root"}, ["instance.protect"]),
        ({"target": "h1"}, ["host.disable"]),
        ({"door": "page"}, []),
        ({"after": "2200-01-01T00:00:00Z"}, []),
    ],
)
def test_filters(people: world.People, query: dict[str, str], expected: list[str]) -> None:
    assert actions(world.client_of(people.admin), **query) == expected


@pytest.mark.parametrize("query", [{"door": "window"}, {"project": "x"}, {"after": "soon"}])
def test_a_filter_that_is_none_is_an_error(people: world.People, query: dict[str, str]) -> None:
    answer = world.client_of(people.admin).get(PATH, query)
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == next(iter(query))


def test_nobody_writes_by_the_api(people: world.People) -> None:
    client = world.client_of(people.admin)
    entry = AuditLogEntry.objects.first()
    assert entry is not None
    assert client.post(PATH, {}).status_code == 405
    assert client.delete(f"{PATH}{entry.pk}/").status_code == 405
    assert client.get(f"{PATH}nonsense/").status_code == 404


def test_the_page_shows_who_what_before_and_after(people: world.People, django_assert_max_num_queries: Any) -> None:
    client = page_of("root")
    client.get("/audit-log/")
    with django_assert_max_num_queries(15):
        text = client.get("/audit-log/", {"kind": "host"}).content.decode()
    assert "host.disable" in text
    assert "a fan" in text
    assert "instance.lock" not in text
    assert 'href="/hosts/h1/"' in text


def test_a_member_finds_the_page_and_a_reader_does_not(people: world.People) -> None:
    assert "instance.lock" in page_of("mary").get("/audit-log/").content.decode()
    assert page_of("rita").get("/audit-log/").status_code == 403


def test_the_host_page_and_the_journey_say_who_did_it(people: world.People) -> None:
    client = page_of("root")
    history = client.get("/hosts/h1/").content.decode()
    assert "<b>root</b> disable" in history
    assert "a fan" in history
    journey = page_of("mary").get(f"/instances/{Instance.objects.get().pk}/").content.decode()
    assert "by root" in journey
    assert "by mary" in journey


def test_a_policy_says_who_made_and_activated_it(people: world.People) -> None:
    admin = world.client_of(people.admin)
    made = admin.post("/api/policies/", {"name": "pack", "body": {}}).json()
    text = page_of("root").get(f"/policies/{made['id']}/").content.decode()
    assert "<b>root</b> create" in text


def test_the_django_admin_shows_entries_and_changes_none(people: world.People) -> None:
    User.objects.create_superuser("chief", password=world.PASSWORD)
    client = page_of("chief")
    entry = AuditLogEntry.objects.get(action="host.disable")
    assert client.get("/admin/audit_log/auditlogentry/").status_code == 200
    url = f"/admin/audit_log/auditlogentry/{entry.pk}/"
    assert client.get(f"{url}change/").status_code == 200
    assert client.post(f"{url}change/", {"user_name": "mary"}).status_code == 403
    assert client.post(f"{url}delete/", {"post": "yes"}).status_code == 403
