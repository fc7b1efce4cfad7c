"""/api/work/: who may, what it shows, filters, retry, cancel."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from controlplane.infra.db import now_plus
from controlplane.work.models import Work
from servers.api.urls import router
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
# What admin, member, reader, stranger and nobody are answered.
ADMINS = (200, 403, 403, 403, 401)
PERSONS = ("admin", "member", "reader", "stranger", "nobody")
TABLE = {
    "GET work-list": "/api/work/",
    "GET work-detail": "/api/work/{work}/",
    "POST work-retry": "/api/work/{work}/retry/",
    "POST work-cancel": "/api/work/{work}/cancel/",
}
FIELDS = {"id", "kind", "subject", "queue", "host", "state", "attempt", "max_attempts", "step", "error", "lease_owner"}
FIELDS |= {"lease_until", "deadline_at", "overdue", "lapsed", "woken_at", "created_at", "started_at", "finished_at"}
FIELDS |= {"request_id", "actions"}


@pytest.fixture
def who() -> world.People:
    return world.cloud("h1")


@pytest.fixture
def work(who: world.People) -> Work:
    """A build that waits for its agent."""
    world.create(who.member, "web-0")
    world.pump()
    return Work.objects.get(kind="build")


@pytest.fixture
def client_of(who: world.People) -> Callable[[str], APIClient]:
    return lambda person: APIClient() if person == "nobody" else world.client_of(getattr(who, person))


@pytest.fixture
def admin(client_of: Callable[[str], APIClient]) -> APIClient:
    return client_of("admin")


def test_table_names_every_endpoint() -> None:
    patterns: list[Any] = [pattern for pattern in router.urls if str(getattr(pattern, "name", "")).startswith("work-")]
    found = {f"{verb.upper()} {one.name}" for one in patterns for verb in one.callback.actions if verb != "head"}
    assert found == set(TABLE)


@pytest.mark.parametrize("endpoint", TABLE)
@pytest.mark.parametrize(("person", "status"), list(zip(PERSONS, ADMINS, strict=True)))
def test_role_is_answered_as_the_table_says(
    endpoint: str, person: str, status: int, work: Work, client_of: Callable[[str], APIClient]
) -> None:
    before = Work.objects.values().get(pk=work.pk)
    verb = getattr(client_of(person), endpoint.partition(" ")[0].lower())

    assert verb(TABLE[endpoint].format(work=work.pk)).status_code == status
    if person != "admin":
        assert Work.objects.values().get(pk=work.pk) == before


def test_row_has_all_fields_and_how_it_stands(work: Work, admin: APIClient) -> None:
    shown = admin.get(f"/api/work/{work.pk}/").json()
    assert set(shown) == FIELDS
    assert (shown["kind"], shown["host"], shown["state"], shown["attempt"]) == ("build", "h1", "waiting", 0)
    assert (shown["overdue"], shown["lapsed"], shown["actions"]) == (False, False, ["retry", "cancel"])
    assert shown["subject"] == str(work.subject)


def test_running_work_says_by_whom_and_offers_no_retry(work: Work, admin: APIClient) -> None:
    world.order("h1")
    shown = admin.get(f"/api/work/{work.pk}/").json()
    assert (shown["lease_owner"], shown["actions"]) == ("h1:1", ["cancel"])


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        ("", {"build", "schedule_and_build"}),
        ("state=open", {"build"}),
        ("state=done", {"schedule_and_build"}),
        ("kind=build", {"build"}),
        ("host=h1", {"build"}),
        ("queue=conductor", {"schedule_and_build"}),
        ("overdue=true", {"build"}),
        ("retried=true", set()),
    ],
)
def test_list_is_filtered(query: str, kinds: set[str], work: Work, admin: APIClient) -> None:
    Work.objects.filter(pk=work.pk).update(deadline_at=now_plus(-1))
    assert {row["kind"] for row in admin.get(f"/api/work/?{query}").json()["results"]} == kinds


@pytest.mark.parametrize("query", ["state=odd", "subject=odd", "host=%00"])
def test_filter_that_makes_no_sense_is_refused(query: str, admin: APIClient) -> None:
    answer = admin.get(f"/api/work/?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == query.partition("=")[0]


def test_list_is_ordered_and_paged(work: Work, admin: APIClient) -> None:
    page = admin.get("/api/work/?ordering=created_at&page_size=1").json()
    assert (page["count"], [row["kind"] for row in page["results"]]) == (2, ["schedule_and_build"])


def test_list_of_many_costs_the_queries_of_few(work: Work, who: world.People, admin: APIClient) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert admin.get("/api/work/").status_code == 200
        return len(seen)

    few = queries()
    world.create(who.member, "more", min_count=8, max_count=8)
    world.pump()
    assert queries() == few


def test_retry_sends_a_wakeup_and_shows_the_row(work: Work, admin: APIClient) -> None:
    Work.objects.filter(pk=work.pk).update(woken_at=None)
    answer = admin.post(f"/api/work/{work.pk}/retry/")
    assert (answer.status_code, answer.json()["state"]) == (200, "waiting")
    assert answer.json()["woken_at"]


def test_retry_of_running_work_is_a_conflict_with_the_reason(work: Work, admin: APIClient) -> None:
    world.order("h1")
    answer = admin.post(f"/api/work/{work.pk}/retry/")
    assert answer.status_code == 409
    assert "h1:1 is at attempt 1" in answer.json()["error"]["message"]


def test_cancel_shows_the_ended_row_and_twice_is_a_conflict(work: Work, admin: APIClient) -> None:
    first: Any = admin.post(f"/api/work/{work.pk}/cancel/")
    assert (first.status_code, first.json()["state"], first.json()["actions"]) == (200, "cancelled", [])
    assert first.json()["error"] == "build was cancelled by root"
    assert world.instance_of(work.subject).vm_state == "error"
    assert admin.post(f"/api/work/{work.pk}/cancel/").status_code == 409


@pytest.mark.parametrize("name", ["00000000-0000-0000-0000-00000000000a", "no-uuid"])
def test_unknown_work_is_not_found(name: str, admin: APIClient) -> None:
    assert admin.get(f"/api/work/{name}/").status_code == 404
    for verb in ("retry", "cancel"):
        assert admin.post(f"/api/work/{name}/{verb}/").status_code == 404
