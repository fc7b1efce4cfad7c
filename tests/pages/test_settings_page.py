"""The page of settings: values, where they come from, secrets hidden; for admins alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from controlplane.identity.domain import Caller
from controlplane.settings import env
from controlplane.settings.sources import SettingShown, settings_shown, without_password
from tests.worlds.cloud import People, client_of

AsPerson = Callable[[Caller], Client]
PERSONS = ("admin", "member", "reader", "stranger")


def shown(name: str) -> SettingShown:
    return next(one for one in settings_shown() if one.name == name)


def test_every_setting_is_there_with_its_default() -> None:
    declared = sum(len(env.values_of(options)) for options in env.ALL_OPTIONS)

    assert len(settings_shown()) == declared
    assert shown("WORK_RETENTION_DAYS").value == "90.0"
    assert shown("WORK_RETENTION_DAYS").source == "default"


def test_a_variable_of_the_environment_is_named_as_the_source(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setenv("WORK_RETENTION_DAYS", "12")
    settings.KILONOVA = {**settings.KILONOVA, "WORK_RETENTION_DAYS": 12.0}

    assert (shown("WORK_RETENTION_DAYS").value, shown("WORK_RETENTION_DAYS").source) == ("12.0", "environment")


def test_a_file_is_named_and_what_differs_from_it_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "kilonova.env"
    file.write_text("# comment\nLEASE_S='31'\nexport WORK_RETENTION_DAYS=12\nRECONCILE_INTERVAL_S=3\nno line\n")
    monkeypatch.setenv("SETTINGS_FILE", str(file))
    monkeypatch.setenv("LEASE_S", "31")
    monkeypatch.setenv("WORK_RETENTION_DAYS", "13")

    assert (shown("LEASE_S").source, shown("LEASE_S").place) == ("file", str(file))
    assert shown("WORK_RETENTION_DAYS").source == "environment"
    assert "says something else" in shown("WORK_RETENTION_DAYS").remark
    assert "was started before" in shown("RECONCILE_INTERVAL_S").remark


def test_a_file_that_cannot_be_read_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SETTINGS_FILE", "/nowhere/at/all")

    assert shown("LEASE_S").source in ("default", "environment")


def test_a_value_that_a_program_replaced_is_said(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "NOTIFICATION_ATTEMPTS": 77}

    assert shown("NOTIFICATION_ATTEMPTS").source == "program"


def test_secrets_are_hidden_on_the_page_and_in_the_answer(
    people: People, as_person: AsPerson, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "very-secret-thing-0123456789"
    names = ("METRICS_TOKEN", "IMAGE_S3_SECRET_ACCESS_KEY", "VENDORDATA_SECRET")
    settings.KILONOVA = {**settings.KILONOVA, **dict.fromkeys(names, secret)}
    monkeypatch.setenv("DATABASE_URL", f"postgres://kilo:{secret}@db:5432/nova?sslpassword={secret}")

    page = as_person(people.admin).get("/settings/").text
    answer = client_of(people.admin).get("/api/settings/")

    assert secret not in page + answer.content.decode()
    assert settings.SECRET_KEY not in page + answer.content.decode()
    assert {one["value"] for one in answer.json() if one["name"] in names} == {"hidden"}
    assert "postgres://kilo:hidden@db:5432/nova?sslpassword=hidden" in page


def test_keys_before_are_hidden(people: People, as_person: AsPerson, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY_FALLBACKS", "first-of-before,second-of-before")

    page = as_person(people.admin).get("/settings/").text + client_of(people.admin).get("/api/settings/").text

    assert "-of-before" not in page
    assert (shown("SECRET_KEY_FALLBACKS").value, shown("SECRET_KEY_FALLBACKS").source) == ("hidden", "environment")


@given(st.text(alphabet=st.characters(whitelist_categories=["L", "N"]), min_size=12))
def test_no_password_of_an_address_is_left(password: str) -> None:
    for url in (f"postgres://u:{password}@h/d", f"redis://:{password}@h:1", f"https://h/?token={password}&a=1"):
        assert password not in without_password(url)


def test_addresses_without_secrets_stay() -> None:
    for url in ("sqlite:////var/x.sqlite3", "redis://h:6379/0", "https://h/?a=1&b=2"):
        assert without_password(url) == url


def test_settings_are_searched(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)

    found = client.get("/settings/?q=webhook+attempts").text + client.get("/settings/?q=<nothing>").text

    assert "NOTIFICATION_ATTEMPTS" not in client.get("/settings/?q=zone").text
    assert "No setting matches" in found


def test_only_admins_read_them(people: People, as_person: AsPerson) -> None:
    pages = [as_person(getattr(people, one)).get("/settings/").status_code for one in PERSONS]
    answers = [client_of(getattr(people, one)).get("/api/settings/").status_code for one in PERSONS]

    assert pages == answers == [200, 403, 403, 403]
    assert Client().get("/settings/").status_code == 302
    assert as_person(people.admin).post("/settings/").status_code == 405
