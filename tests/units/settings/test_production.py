"""What production settings demand, believe and promise."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from tests.fixtures.settings_again import settings_again

ROOT = Path(__file__).resolve().parents[3]
GIVEN = {
    "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR",
    "DATABASE_URL": "postgres://kilonova@localhost/kilonova",
    "ALLOWED_HOSTS": "kn.example",
}


def run(code: list[str], **environment: str) -> "subprocess.CompletedProcess[str]":
    own = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, *code], cwd=ROOT, env=own | environment, capture_output=True, text=True, check=False
    )


def settings_with(**environment: str) -> dict[str, Any]:
    return settings_again("prod", ROOT, **{**GIVEN, **environment})


def deploy_check(**environment: str) -> str:
    named = {"DJANGO_SETTINGS_MODULE": "controlplane.settings.prod", **GIVEN, **environment}
    return run(["manage.py", "check", "--deploy", "--fail-level", "WARNING"], **named).stderr


def test_database_must_be_given() -> None:
    """Otherwise a forgotten line means an empty SQLite file beside the code."""
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL must be set"):
        settings_again("prod", ROOT, **{name: value for name, value in GIVEN.items() if name != "DATABASE_URL"})


def test_keys_before_are_a_list_and_whole() -> None:
    keys = f"{'a' * 50}, {'b' * 50}"
    assert settings_with(SECRET_KEY_FALLBACKS=keys)["SECRET_KEY_FALLBACKS"] == ["a" * 50, "b" * 50]


def test_process_with_a_short_key_stops_and_does_not_show_it() -> None:
    given = {**GIVEN, "SECRET_KEY_FALLBACKS": f"{'a' * 50},{'b' * 20}"}
    refused = run(["-c", "import controlplane.settings.prod"], **given)
    assert refused.returncode != 0
    assert "SECRET_KEY_FALLBACKS must be keys of at least 50 characters" in refused.stderr
    assert "b" * 20 not in refused.stderr


def test_header_of_a_proxy_is_believed_only_where_there_is_one() -> None:
    assert "SECURE_PROXY_SSL_HEADER" not in settings_with()
    assert settings_with(TRUSTED_PROXIES="1")["SECURE_PROXY_SSL_HEADER"] == ("HTTP_X_FORWARDED_PROTO", "https")


def test_https_is_promised_for_this_name_alone() -> None:
    """Sibling sites of the domain are not ours to promise for, and a preload list forgets nothing for months."""
    shown = settings_with()
    assert shown["SECURE_HSTS_SECONDS"] == 31_536_000
    assert not shown["SECURE_HSTS_INCLUDE_SUBDOMAINS"]
    assert not shown["SECURE_HSTS_PRELOAD"]


@pytest.mark.parametrize(
    ("name", "value", "setting", "expected"),
    [
        ("HSTS_SECONDS", "60", "SECURE_HSTS_SECONDS", 60),
        ("HSTS_INCLUDE_SUBDOMAINS", "yes", "SECURE_HSTS_INCLUDE_SUBDOMAINS", True),
        ("HSTS_PRELOAD", "yes", "SECURE_HSTS_PRELOAD", True),
    ],
)
def test_promise_can_be_changed(name: str, value: str, setting: str, expected: object) -> None:
    assert settings_with(**{name: value})[setting] == expected


@pytest.mark.long
def test_deploy_check_warns_of_a_proxy_that_nobody_counted() -> None:
    assert "identity.W001" in deploy_check()
    assert deploy_check(TRUSTED_PROXIES="1") == ""
