"""The pages of drift and of heals: who may, what stands there, putting right, empty states, cost."""

import re
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from controlplane.infra.db import db_now
from controlplane.work.heals import heal_record
from servers.models import Instance, OrphanGuest
from servers.repair.services.drift import LOOKS, drift_check_run
from tests.worlds.cloud import People, active, pump

PERSONS = ("admin", "member", "reader", "stranger")
AsPerson = Callable[[Caller], Client]


@pytest.fixture
def admin(people: People, as_person: AsPerson) -> Client:
    return as_person(people.admin)


def look() -> None:
    """As the reconciler does it."""
    for name in LOOKS:
        drift_check_run(name)


def guest_row(host: str = "h1", **more: str) -> OrphanGuest:
    """Nobody has looked since."""
    now = db_now()
    return OrphanGuest.objects.create(
        host=host, guest_uuid=uuid.uuid4(), power_state="running", first_seen_at=now, last_seen_at=now, **more
    )


def orphan_guest(host: str = "h1", **more: str) -> OrphanGuest:
    row = guest_row(host, **more)
    look()
    return row


def key_of(row: OrphanGuest) -> str:
    return f"orphan_guest:{row.host}:{row.guest_uuid}"


@pytest.mark.parametrize("path", ["/drift/", "/heals/"])
def test_pages_open_for_admins_only(path: str, people: People, as_person: AsPerson) -> None:
    found = [as_person(getattr(people, one)).get(path).status_code for one in PERSONS]
    assert found == [200, 403, 403, 403]


@pytest.mark.parametrize("person", PERSONS[1:])
def test_who_is_no_admin_puts_nothing_right(person: str, people: People, as_person: AsPerson) -> None:
    row = orphan_guest()

    answer = as_person(getattr(people, person)).post("/drift/heal/", {"key": key_of(row)})

    assert answer.status_code == 403
    assert OrphanGuest.objects.get().asked_by == ""


def test_page_without_drift_says_that_everything_agrees_and_when_it_was_looked_at(admin: Client) -> None:
    assert "Not checked yet" in admin.get("/drift/").text
    look()
    shown = admin.get("/drift/").text
    assert "Everything agreed" in shown
    assert re.search(r"last looked at guests \d+ s ago", shown)


def test_check_now_is_asked_for_and_its_result_stands_on_the_page(admin: Client) -> None:
    assert "A check was asked for" in admin.post("/drift/check/", follow=True).text
    assert "A check is under way already" in admin.post("/drift/check/", follow=True).text
    pump()
    assert "Everything agreed" in admin.get("/drift/").text


@pytest.mark.parametrize("person", PERSONS[1:])
def test_who_is_no_admin_asks_for_no_check(person: str, people: People, as_person: AsPerson) -> None:
    assert as_person(getattr(people, person)).post("/drift/check/").status_code == 403


def test_look_that_stopped_at_its_limit_says_that_there_is_more(admin: Client, settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "DRIFT_MAX_FINDINGS": 1}
    orphan_guest()
    orphan_guest()
    shown = admin.get("/drift/").text
    assert shown.count("Put it right now") == 1
    assert "There is more than is listed" in shown


def test_drift_stands_below_its_kind_with_evidence_and_what_would_be_done(admin: Client) -> None:
    row = orphan_guest(name="forgotten")
    shown = admin.get("/drift/").text
    reported = (
        "Guest without instance",
        "forgotten",
        str(row.guest_uuid),
        "Put right by itself",
        "grace_s",
        "Its disks",
    )
    assert [one for one in reported if one not in shown] == []


def test_what_cannot_be_put_right_says_why_and_has_no_button(admin: Client) -> None:
    orphan_guest(not_removed_because="Its files are shared")
    shown = admin.get("/drift/").text
    assert "Its files are shared." in shown
    assert "Put it right now" not in shown


def test_put_right_is_asked_for_once_and_comes_back_to_the_filtered_list(admin: Client) -> None:
    row = orphan_guest()
    data = {"key": key_of(row), "filters": "kind=orphan_guest"}

    answer = admin.post("/drift/heal/", data, follow=True)

    assert answer.redirect_chain == [("/drift/?kind=orphan_guest", 302)]
    assert "root asked for it" in answer.text
    assert OrphanGuest.objects.get().asked_by == "root"
    assert "root asked for it already." in admin.post("/drift/heal/", data, follow=True).text


def test_guest_that_is_off_is_followed_by_its_instance(admin: Client, people: People) -> None:
    instance = active(people.member, "web")
    Instance.objects.filter(pk=instance.pk).update(power_state="shutdown")
    look()
    assert f"/instances/{instance.pk}/" in admin.get("/drift/").text

    admin.post("/drift/heal/", {"key": f"guest_off:{instance.pk}"})

    assert Instance.objects.get(pk=instance.pk).vm_state == "stopped"
    assert "Everything agreed" in admin.get("/drift/").text
    assert "web" in admin.get("/heals/").text


def test_drift_that_is_gone_is_told_and_nothing_is_done(admin: Client) -> None:
    answer = admin.post("/drift/heal/", {"key": f"guest_off:{uuid.uuid4()}"}, follow=True)
    assert "There is no such drift any more" in answer.text


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("host=h1", True),
        ("host=h2", False),
        ("kind=orphan_guest", True),
        ("kind=guest_off", False),
        ("q=forgotten", True),
    ],
)
def test_drift_is_filtered_by_kind_and_host(query: str, is_found: bool, admin: Client) -> None:
    row = orphan_guest(name="forgotten")
    shown = admin.get(f"/drift/?{query}").text
    assert (str(row.guest_uuid) in shown) is is_found
    assert ("Nothing matches the filters" in shown) is not is_found


def heal(kind: str = "overdue_task", subject: uuid.UUID | None = None) -> None:
    heal_record(kind=kind, subject=subject, found=f"found {kind}", done="done", evidence={"stood_s": 12})


def test_heals_show_what_was_found_done_and_why(admin: Client, people: People) -> None:
    instance = active(people.member, "web")
    heal(subject=instance.pk)
    shown = admin.get("/heals/").text
    reported = (
        "found overdue_task",
        "&quot;stood_s&quot;: 12",
        f"/instances/{instance.pk}/",
        "its task stood too long",
    )
    assert [one for one in reported if one not in shown] == []


def test_heals_are_filtered_by_kind_and_subject(admin: Client) -> None:
    subject = uuid.uuid4()
    heal("overdue_task", subject)
    heal("orphan_claims")
    assert "found orphan_claims" not in admin.get("/heals/?kind=overdue_task").text
    assert "found orphan_claims" not in admin.get(f"/heals/?subject={subject}").text
    assert "<b>Subject</b>" in admin.get("/heals/?subject=odd").text
    assert "Nothing matches the filters" in admin.get("/heals/?kind=lost_task").text


def test_book_without_heals_says_what_will_stand_there(admin: Client) -> None:
    assert "Nothing had to be repaired" in admin.get("/heals/").text


@pytest.mark.parametrize("path", ["/drift/", "/heals/"])
def test_twenty_rows_cost_the_queries_of_two(path: str, admin: Client) -> None:
    def queries() -> int:
        admin.get(path)
        with CaptureQueriesContext(connection) as seen:
            assert admin.get(path).status_code == 200
        return len(seen)

    def rows(many: int) -> None:
        for _ in range(many):
            guest_row()
            heal(subject=uuid.uuid4())
        look()

    rows(2)
    few = queries()
    rows(18)
    assert queries() == few
