"""The page of work: who may open it, what stands in it, its filters, its buttons, its cost."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from controlplane.dashboard.lists.window import MAX_COUNTED
from controlplane.identity.domain import Caller
from controlplane.infra.db import now_plus
from controlplane.work.models import Work
from servers.models import Instance
from tests.worlds.cloud import People, active, create, flavor, instance_of, order, pump

PERSONS = ("admin", "member", "reader", "stranger", "anonymous")
AsPerson = Callable[[Caller], Client]


def client_for(person: str, people: People, as_person: AsPerson) -> Client:
    return Client() if person == "anonymous" else as_person(getattr(people, person))


@pytest.fixture
def admin(people: People, as_person: AsPerson) -> Client:
    return as_person(people.admin)


@pytest.fixture
def build(people: People) -> Work:
    """A build that waits for its agent."""
    create(people.member, "web-0")
    pump()
    return Work.objects.get(kind="build")


def changed(work: Work, **changes: Any) -> None:
    Work.objects.filter(pk=work.pk).update(**changes)


def act(client: Client, work: Work, action: str, **more: str) -> Any:
    return client.post(f"/work/{work.pk}/act/", {"action": action, **more}, follow=True)


@pytest.mark.parametrize(("person", "status"), list(zip(PERSONS, (200, 403, 403, 403, 302), strict=True)))
def test_page_opens_for_admins_only(person: str, status: int, people: People, as_person: AsPerson) -> None:
    assert client_for(person, people, as_person).get("/work/").status_code == status


@pytest.mark.parametrize("action", ["retry", "cancel"])
@pytest.mark.parametrize("person", PERSONS[1:])
def test_who_is_no_admin_changes_nothing(
    action: str, person: str, people: People, as_person: AsPerson, build: Work
) -> None:
    before = Work.objects.values().get(pk=build.pk)

    answer = client_for(person, people, as_person).post(f"/work/{build.pk}/act/", {"action": action})

    assert answer.status_code == (302 if person == "anonymous" else 403)
    assert Work.objects.values().get(pk=build.pk) == before
    assert not LogEntry.objects.exists()


def test_address_for_forms_cannot_be_opened(admin: Client, build: Work) -> None:
    assert admin.get(f"/work/{build.pk}/act/").status_code == 405


def test_link_in_the_frame_is_there_for_admins_only(people: People, as_person: AsPerson) -> None:
    assert 'href="/work/"' in as_person(people.admin).get("/").text
    assert 'href="/work/"' not in as_person(people.member).get("/").text


def test_empty_page_says_what_would_stand_there(admin: Client) -> None:
    shown = admin.get("/work/").text
    assert "Nothing waits and nothing runs" in shown
    assert 'href="/work/?state="' in shown


def test_row_tells_owner_attempt_lease_deadline_and_request(admin: Client, build: Work) -> None:
    host = instance_of(build.subject).host
    order(host)
    changed(build, request_id="req-abc", deadline_at=now_plus(500))
    shown = admin.get("/work/").text
    for reported in (
        "web-0",
        f"/instances/{build.subject}/",
        f"{host}:1",
        "1<span",
        "lease ends",
        "in 8 min",
        "running",
    ):
        assert reported in shown
    assert "req-abc" in shown


def test_overdue_work_is_marked_and_stands_first(admin: Client, people: People, build: Work) -> None:
    create(people.member, "later")
    changed(build, deadline_at=now_plus(-30))
    shown = admin.get("/work/").text
    assert '<span class="pill bad">overdue</span>' in shown
    assert shown.index("web-0") < shown.index("/decisions/?subject=")


def test_batch_leads_to_its_decisions(admin: Client, people: People) -> None:
    create(people.member, "many", min_count=2, max_count=2)
    batch = Work.objects.get(kind="schedule_and_build")
    assert f"/decisions/?subject={batch.subject}" in admin.get("/work/").text


def test_ended_work_shows_only_when_asked_for(admin: Client, people: People) -> None:
    active(people.member, "web-0")
    assert "web-0" not in admin.get("/work/").text
    ended = admin.get("/work/?state=done").text
    assert "web-0" in ended
    assert "Cancel…" not in ended
    assert "web-0" in admin.get("/work/?state=").text


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("state=waiting", True),
        ("state=running", False),
        ("kind=build", True),
        ("kind=delete", False),
        ("host=nowhere", False),
        ("overdue=true", False),
        ("retried=true", False),
        ("request_id=req-unknown", False),
    ],
)
def test_filter_keeps_what_matches(query: str, is_found: bool, admin: Client, build: Work) -> None:
    shown = admin.get(f"/work/?{query}").text
    assert ("web-0" in shown) is is_found
    assert ("Nothing matches the filters" in shown) is not is_found


@pytest.mark.parametrize(
    ("query", "title"), [("state=odd", "State"), ("subject=odd", "Instance"), ("host=%00", "Host")]
)
def test_filter_that_makes_no_sense_is_told_and_finds_nothing(
    query: str, title: str, admin: Client, build: Work
) -> None:
    answer = admin.get(f"/work/?{query}")
    assert answer.status_code == 200
    assert f"<b>{title}</b>" in answer.text
    assert "web-0" not in answer.text


def test_live_part_is_asked_for_alone_and_often_while_something_is_open(admin: Client, build: Work) -> None:
    part = admin.get("/work/?kind=build", headers={"HX-Request": "true"}).text
    assert part.startswith('<div id="rows" hx-get="/work/?kind=build" hx-trigger="look"')
    assert 'data-live="5"' in part
    assert 'data-live="30"' in admin.get("/work/?state=done", headers={"HX-Request": "true"}).text


def test_retry_sends_a_wakeup_and_comes_back_to_the_filtered_list(admin: Client, build: Work) -> None:
    changed(build, woken_at=now_plus(-100))
    answer = act(admin, build, "retry", filters="kind=build&page=1")
    assert answer.redirect_chain == [("/work/?kind=build&page=1", 302)]
    assert "Build: woken again" in answer.text


def test_running_work_offers_no_retry_and_a_forged_one_is_refused_in_words(admin: Client, build: Work) -> None:
    order(instance_of(build.subject).host)
    assert f"retry-{build.pk}" not in admin.get("/work/").text
    answer = act(admin, build, "retry")
    assert "its lease is valid" in answer.text
    assert answer.status_code == 200


def test_cancel_ends_the_instance_with_a_fault_that_names_the_admin(
    admin: Client, people: People, as_person: AsPerson, build: Work
) -> None:
    assert "Build: cancelled" in act(admin, build, "cancel").text
    assert Instance.objects.get(pk=build.subject).vm_state == "error"
    assert "cancelled by root" in as_person(people.member).get(f"/instances/{build.subject}/").text
    assert "It is cancelled already" in act(admin, build, "cancel").text


def test_unknown_work_and_unknown_action_are_refused(admin: Client, build: Work) -> None:
    assert admin.post(f"/work/{uuid.uuid4()}/act/", {"action": "cancel"}).status_code == 404
    assert admin.post(f"/work/{build.pk}/act/", {"action": "explode"}).status_code == 400


@pytest.mark.parametrize("filters", ["//evil.example/", "next=https://evil.example", "a\r\nSet-Cookie: x=1"])
def test_filters_that_are_sent_back_never_lead_elsewhere(filters: str, admin: Client, build: Work) -> None:
    answer = admin.post(f"/work/{build.pk}/act/", {"action": "retry", "filters": filters})
    assert answer.headers["Location"].startswith("/work/?")
    assert "\n" not in answer.headers["Location"]
    assert "Set-Cookie: x" not in str(answer.headers)


def test_names_of_people_are_written_as_text(admin: Client, people: People) -> None:
    create(people.member, "<script>alert(1)</script>")
    pump()
    assert "<script>alert" not in admin.get("/work/").text


def test_second_page_holds_the_rest(admin: Client, people: People) -> None:
    create(people.member, "many", min_count=10, max_count=10)
    Work.objects.bulk_create(
        Work(queue="conductor", kind="build", subject=uuid.uuid4(), deadline_at=now_plus(60)) for _ in range(51)
    )
    assert "Page 2 of 2" in admin.get("/work/?page=2").text


def test_count_of_ended_work_is_bounded_however_much_there_is(admin: Client) -> None:
    now = timezone.now()
    Work.objects.bulk_create(
        Work(queue="q", kind="build", subject=uuid.uuid4(), state="done", deadline_at=now, finished_at=now)
        for _ in range(MAX_COUNTED + 30)
    )
    with CaptureQueriesContext(connection) as asked:
        answered = admin.get("/work/?state=done")
    counts = [query["sql"] for query in asked.captured_queries if 'FROM "work_work"' in query["sql"]]
    assert f"{MAX_COUNTED:,} or more rows" in answered.text
    assert answered.context["page"].num_pages == MAX_COUNTED // 50
    assert [sql for sql in counts if "COUNT(*)" in sql and "LIMIT" not in sql] == []


def test_twenty_rows_cost_the_queries_of_two(admin: Client, people: People) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as seen:
            assert admin.get("/work/").status_code == 200
        return len(seen)

    create(people.member, "few", min_count=2, max_count=2)
    pump()
    queries()
    few = queries()
    create(people.member, "more", min_count=8, max_count=8)
    pump()
    assert queries() == few


def test_work_that_is_done_and_found_no_host_says_so(admin: Client, people: People) -> None:
    create(people.member, flavor=flavor("huge", memory_mib=20_000).name)
    create(people.member)
    pump()
    shown = admin.get("/work/?state=done").text
    assert shown.count('<span class="pill warn">done, no host</span>') == 1
    assert shown.count('<span class="pill good">done</span>') == 1
