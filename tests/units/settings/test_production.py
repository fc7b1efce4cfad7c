"""What production settings demand, believe and promise."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
GIVEN = {
    "SECRET_KEY": "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR",
    "DATABASE_URL": "postgres://kilonova@localhost/kilonova",
    "ALLOWED_HOSTS": "kn.example",
}
SHOWN = """
import json
import controlplane.settings.prod as prod
names = [name for name in dir(prod) if name.startswith("SECURE_")]
print(json.dumps({name: getattr(prod, name) for name in names}))
"""


def run(code: list[str], **environment: str) -> "subprocess.CompletedProcess[str]":
    own = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        [sys.executable, *code], cwd=ROOT, env=own | environment, capture_output=True, text=True, check=False
    )


def settings_with(**environment: str) -> dict[str, Any]:
    found = run(["-c", SHOWN], **GIVEN, **environment)
    assert found.returncode == 0, found.stderr
    shown: dict[str, Any] = json.loads(found.stdout)
    return shown


def deploy_check(**environment: str) -> str:
    named = {"DJANGO_SETTINGS_MODULE": "controlplane.settings.prod", **GIVEN, **environment}
    return run(["manage.py", "check", "--deploy", "--fail-level", "WARNING"], **named).stderr


def test_database_must_be_given() -> None:
    """Otherwise a forgotten line means an empty SQLite file beside the code."""
    found = run(["-c", SHOWN], **{name: value for name, value in GIVEN.items() if name != "DATABASE_URL"})
    assert found.returncode != 0
    assert "DATABASE_URL must be set" in found.stderr


def test_keys_before_are_a_list_and_whole() -> None:
    given = {**GIVEN, "SECRET_KEY_FALLBACKS": f"{'a' * 50}, {'b' * 50}"}
    code = "import controlplane.settings.prod as prod; print(prod.SECRET_KEY_FALLBACKS)"
    assert run(["-c", code], **given).stdout.strip() == str(["a" * 50, "b" * 50])
    refused = run(["-c", code], **{**given, "SECRET_KEY_FALLBACKS": f"{'a' * 50},{'b' * 20}"})
    assert refused.returncode != 0
    assert "SECRET_KEY_FALLBACKS must be keys of at least 50 characters" in refused.stderr
    assert "b" * 20 not in refused.stderr


def test_header_of_a_proxy_is_believed_only_where_there_is_one() -> None:
    assert "SECURE_PROXY_SSL_HEADER" not in settings_with()
    assert settings_with(TRUSTED_PROXIES="1")["SECURE_PROXY_SSL_HEADER"] == ["HTTP_X_FORWARDED_PROTO", "https"]


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
