"""Times are shown and read in the zone of whoever reads; programs get UTC."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from controlplane.audit_log.models import AuditLogEntry
from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from controlplane.identity.services import token_issue
from servers.models import Instance
from tests.worlds.cloud import PASSWORD, People, active

AsPerson = Callable[[Caller], Client]
MADE = datetime(2026, 1, 15, 23, 30, 5, tzinfo=UTC)
MIDDLEWARE = "controlplane.identity.time_zone_middleware.TimeZoneMiddleware"


def made(caller: Caller, name: str = "web-1", at: datetime = MADE) -> Instance:
    instance = active(caller, name)
    Instance.objects.filter(pk=instance.pk).update(created_at=at)
    return instance


def choose(client: Client, zone: str) -> Any:
    return client.post("/account/time-zone/", {"time_zone": zone})


@pytest.mark.parametrize("who", ["admin", "member", "reader", "stranger"])
def test_everybody_chooses_an_own_zone(people: People, as_person: AsPerson, who: str) -> None:
    caller: Caller = getattr(people, who)
    client = as_person(caller)

    assert choose(client, "Asia/Tokyo").headers["Location"] == "/account/"

    assert {one.username: one.time_zone for one in User.objects.exclude(time_zone="")} == {
        caller.username: "Asia/Tokyo"
    }
    page = client.get("/account/").text
    assert '<option value="Asia/Tokyo" selected>' in page
    assert 'data-zone="Asia/Tokyo"' in page
    assert "UTC+9." in page
    entry = AuditLogEntry.objects.get(action="user.update")
    assert (entry.user_name, entry.result) == (caller.username, "done")


def test_zone_is_given_up_again(people: People, as_person: AsPerson) -> None:
    client = as_person(people.member)
    choose(client, "Asia/Tokyo")
    assert 'id="browser-zone"' not in client.get("/account/").text
    choose(client, "")
    assert not User.objects.exclude(time_zone="").exists()
    page = client.get("/account/").text
    assert 'data-zone="UTC"' in page
    assert 'id="browser-zone"' in page


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "UTC+1", "\x00"])
def test_what_is_no_zone_is_refused_at_its_field(people: People, as_person: AsPerson, zone: str) -> None:
    answer = choose(as_person(people.member), zone)
    assert not User.objects.exclude(time_zone="").exists()
    assert answer.status_code == 400 or 'class="errorlist"' in answer.text


def test_zone_needs_a_log_in() -> None:
    assert choose(Client(), "Asia/Tokyo").headers["Location"].startswith("/login/")


def test_page_shows_times_in_it_and_names_it(people: People, as_person: AsPerson) -> None:
    path = f"/instances/{made(people.member).pk}/"
    mary, rita = as_person(people.member), as_person(people.reader)
    choose(mary, "Asia/Tokyo")
    assert "2026-01-16 08:30:05 UTC+9" in mary.get(path).text
    assert "2026-01-15 23:30:05 UTC" in rita.get(path).text
    assert 'title="2026-01-16 08:30:05 UTC+9"' in mary.get("/instances/").text


def test_zone_of_one_request_does_not_stay_for_the_next(people: People, as_person: AsPerson) -> None:
    choose(client := as_person(people.member), "Asia/Tokyo")
    client.get("/account/")
    assert str(timezone.get_current_timezone()) == "UTC"
    assert 'data-zone="UTC"' in Client().get("/login/").text


def test_who_chose_none_has_the_installations(settings: LazySettings, people: People, as_person: AsPerson) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "DISPLAY_TIME_ZONE": "America/Sao_Paulo"}
    path = f"/instances/{made(people.member).pk}/"
    assert "2026-01-15 20:30:05 UTC-3" in as_person(people.reader).get(path).text
    assert 'data-zone="America/Sao_Paulo"' in Client().get("/login/").text
    choose(mary := as_person(people.member), "UTC")
    assert "2026-01-15 23:30:05 UTC<" in mary.get(path).text


def test_programs_are_answered_in_utc(people: People, as_person: AsPerson) -> None:
    instance = made(people.member)
    choose(client := as_person(people.member), "Asia/Tokyo")
    assert client.get(f"/api/instances/{instance.pk}/").json()["created_at"] == "2026-01-15T23:30:05Z"
    token = {"X-Auth-Token": token_issue(username="mary", password=PASSWORD).token}
    assert client.get(f"/api/instances/{instance.pk}/", headers=token).json()["created_at"] == "2026-01-15T23:30:05Z"
    exported = client.get("/instances/", {"export": "json", "columns": "name,created"}).getvalue()
    assert json.loads(exported)[0]["created"] == "2026-01-15T23:30:05+00:00"
    assert b"2026-01-15T23:30:05+00:00" in client.get("/instances/", {"export": "csv"}).getvalue()


def names(client: Client, **query: str) -> list[str]:
    return [row.instance.name for row in client.get("/instances/", query).context["rows"]]


def test_filter_is_read_in_the_readers_zone(people: People, as_person: AsPerson) -> None:
    made(people.member)
    client = as_person(people.member)
    assert names(client, created_after="2026-01-16T08:30") == []
    choose(client, "Asia/Tokyo")
    assert names(client, created_after="2026-01-16T08:30") == ["web-1"]
    assert names(client, created_after="2026-01-16T08:31") == []
    assert names(client, created_after="2026-01-15T23:30Z") == ["web-1"]


def test_filter_says_its_zone_and_links_hold_utc(people: People, as_person: AsPerson) -> None:
    made(people.member)
    client = as_person(people.member)
    choose(client, "Asia/Tokyo")
    page = client.get("/instances/", {"created_after": "2026-01-16T08:30"})
    assert 'Created from <span class="soft">Asia/Tokyo</span>' in page.text
    assert 'value="2026-01-16T08:30"' in page.text
    assert "2026-01-16 08:30 UTC+9" in page.text
    in_utc = quote("2026-01-15T23:30:00Z", safe="")
    assert f"created_after={in_utc}" in page.context["query"].address
    assert f"&#x27;/instances/?created_after={in_utc}&#x27;" in page.text
    choose(client, "Europe/Berlin")
    assert 'value="2026-01-16T00:30"' in client.get(page.context["query"].address).text


@pytest.mark.parametrize("at", ["2026-03-29T02:30", "2026-10-25T02:30"])
def test_time_that_is_never_or_twice_on_the_clock_is_refused(people: People, as_person: AsPerson, at: str) -> None:
    made(people.member)
    choose(client := as_person(people.member), "Europe/Berlin")
    shown = client.get("/instances/", {"created_after": at})
    assert shown.status_code == 200
    assert "Europe/Berlin" in str(shown.context["query"].errors)
    assert f'value="{at}"' in shown.text


def test_django_admin_is_in_it_too(people: People, as_person: AsPerson) -> None:
    root = User.objects.filter(pk=people.admin.user_id)
    root.update(is_staff=True, is_superuser=True, time_zone="Asia/Tokyo", created_at=MADE)
    page = as_person(people.admin).get(f"/admin/identity/user/{people.admin.user_id}/change/").text
    assert "2026-01-16 08:30:05" in page
    assert "Asia/Tokyo, UTC+9 now" in page


@pytest.mark.parametrize("path", ["/account/", "/instances/", "/", "/login/"])
def test_zone_costs_no_query(settings: LazySettings, people: People, as_person: AsPerson, path: str) -> None:
    def cost() -> int:
        client = as_person(people.member)
        client.get(path)
        with CaptureQueriesContext(connection) as seen:
            client.get(path)
        return len(seen)

    User.objects.update(time_zone="Asia/Tokyo")
    with_zone = cost()
    settings.MIDDLEWARE = [one for one in settings.MIDDLEWARE if one != MIDDLEWARE]
    assert with_zone == cost()
