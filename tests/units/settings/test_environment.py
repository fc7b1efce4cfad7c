"""How settings come out of the environment: defaults in the state directory, values that stop a process."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from controlplane.work.conf import work_options
from tests.fixtures.settings_again import settings_again

ROOT = Path(__file__).resolve().parents[3]


def shown_in(directory: Path, **environment: str) -> dict[str, Any]:
    base = settings_again("base", directory, **environment)
    named = {name: base["KILONOVA"][name] for name in ("LEASE_S", "QUOTA_RECHECK", "NOTIFICATION_EVENTS")}
    return {
        **named,
        "SQLITE_TIMEOUT_S": base["DATABASES"]["default"]["OPTIONS"]["timeout"],
        "IMAGE_DIR": str(base["KILONOVA"]["IMAGE_DIR"]),
        "DATABASE_URL": base["DATABASE_URL"],
        "STATE_DIR": str(base["STATE_DIR"]),
    }


def test_nothing_given_means_the_defaults_and_the_checkout(tmp_path: Path) -> None:
    assert shown_in(tmp_path, LEASE_S="") == {
        "LEASE_S": 30.0,
        "QUOTA_RECHECK": True,
        "NOTIFICATION_EVENTS": (),
        "SQLITE_TIMEOUT_S": 20.0,
        "IMAGE_DIR": f"{ROOT}/state/images",
        "DATABASE_URL": f"sqlite:///{ROOT}/state/kilonova.sqlite3",
        "STATE_DIR": f"{ROOT}/state",
    }


def test_state_directory_moves_what_lies_in_it(tmp_path: Path) -> None:
    """One that is relative lies where the process was started."""
    shown = shown_in(tmp_path, KILONOVA_STATE="here")
    assert shown["STATE_DIR"] == f"{tmp_path}/here"
    assert shown["IMAGE_DIR"] == f"{tmp_path}/here/images"
    assert shown["DATABASE_URL"] == f"sqlite:///{tmp_path}/here/kilonova.sqlite3"


def test_values_are_taken(tmp_path: Path) -> None:
    given = {"LEASE_S": "5", "QUOTA_RECHECK": "no", "NOTIFICATION_EVENTS": "a.*, b", "SQLITE_TIMEOUT_S": "90"}
    shown = shown_in(tmp_path, **given, IMAGE_DIR="/srv/images")
    assert (shown["LEASE_S"], shown["QUOTA_RECHECK"], shown["SQLITE_TIMEOUT_S"]) == (5.0, False, 90.0)
    assert (shown["NOTIFICATION_EVENTS"], shown["IMAGE_DIR"]) == (("a.*", "b"), "/srv/images")


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("LEASE_S", "soon", "LEASE_S must be a number >= 1, not 'soon'"),
        ("LEASE_S", "0.5", "LEASE_S must be a number >= 1, not '0.5': below 1"),
        ("MAX_ATTEMPTS", "101", "MAX_ATTEMPTS must be a whole number from 1 to 100, not '101': above 100"),
        ("QUOTA_RECHECK", "perhaps", "QUOTA_RECHECK must be yes or no, not 'perhaps'"),
        ("NOTIFICATION_FORMAT", "nova", "NOTIFICATION_FORMAT must be one of versioned, none, not 'nova': unknown"),
        ("METRICS_TOKEN", "short", "METRICS_TOKEN must be at least 16 characters of ASCII"),
    ],
)
def test_value_that_makes_no_sense_stops_the_process_by_name(
    tmp_path: Path, name: str, value: str, sentence: str
) -> None:
    with pytest.raises(ImproperlyConfigured, match=f"^{re.escape(sentence)}"):
        shown_in(tmp_path, **{name: value})


def test_options_follow_the_settings_that_a_test_puts_in_their_place() -> None:
    before = work_options()
    assert work_options() is before
    with override_settings(KILONOVA={**django_settings.KILONOVA, "LEASE_S": 1.5}):
        assert work_options().lease_s == 1.5
    assert work_options() == before
