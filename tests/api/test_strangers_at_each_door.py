"""What somebody who is not logged in sends is neither echoed nor logged at length, whichever door it comes to."""

import json
import logging
from typing import Any

import pytest
from django.test import Client

from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db

MUCH = "x" * 200_000
SOME_HUNDRED = "x" * 1001
LINE = 500
TOKENS = "/identity/v3/auth/tokens"


def by_password(**user: object) -> dict[str, Any]:
    return {"auth": {"identity": {"methods": ["password"], "password": {"user": {"password": "p", **user}}}}}


def by_credential(**key: object) -> dict[str, Any]:
    methods = ["application_credential"]
    return {"auth": {"identity": {"methods": methods, "application_credential": {"secret": MUCH, **key}}}}


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        (TOKENS, by_password(name=MUCH, domain={"id": "default"})),
        (TOKENS, by_password(id=MUCH)),
        (TOKENS, by_password(name="a", domain={"id": MUCH})),
        (TOKENS, by_password(name="a", domain={"name": MUCH}, password=MUCH)),
        (TOKENS, by_credential(id=MUCH)),
        (TOKENS, by_credential(name=MUCH, user={"name": MUCH})),
        (TOKENS, {"auth": {"identity": {"methods": [MUCH]}}}),
        (TOKENS, {"auth": {"identity": {"methods": ["token"], "token": {"id": MUCH}}}}),
        (TOKENS, {**by_password(name="a"), "scope": {"project": {"id": MUCH}}}),
        (TOKENS, {MUCH: 1}),
        (TOKENS, MUCH),
        ("/api/tokens/", {"username": MUCH, "password": MUCH}),
        ("/api/tokens/", {"username": "a", "password": "p", "project": MUCH}),
        ("/api/tokens/", {"username": "a", "password": "p", MUCH: 1}),
        ("/api/tokens/", {"username": [MUCH], "password": "p"}),
        ("/api/tokens/", MUCH),
        ("/api/instances/", {"name": MUCH}),
    ],
)
def test_body_of_a_stranger(caplog: pytest.LogCaptureFixture, path: str, sent: object) -> None:
    world.people()
    with caplog.at_level(logging.INFO):
        answer = Client().post(path, json.dumps(sent), content_type="application/json")
    assert 400 <= answer.status_code < 500
    assert SOME_HUNDRED not in answer.content.decode()
    assert max((len(one.getMessage()) for one in caplog.records), default=0) < LINE


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/login/", {"username": MUCH, "password": MUCH}),
        ("/login/", {"username": "a", "password": "p", "next": "/" + MUCH}),
        ("/login/", {"username": "a", "password": "p", MUCH: "x"}),
        ("/login/code/", {"code": MUCH}),
        ("/admin/login/", {"username": MUCH, "password": MUCH, "next": "/" + MUCH}),
        ("/theme/", {"theme": MUCH, "next": "/" + MUCH}),
        ("/language/", {"language": MUCH, "next": "/" + MUCH}),
    ],
)
def test_form_of_a_stranger(caplog: pytest.LogCaptureFixture, path: str, sent: dict[str, str]) -> None:
    world.people()
    with caplog.at_level(logging.INFO):
        answer = Client().post(path, sent)
    assert answer.status_code < 500
    assert SOME_HUNDRED not in answer.content.decode() + "".join(answer.headers.values())
    assert max((len(one.getMessage()) for one in caplog.records), default=0) < LINE


def test_name_that_is_too_long_is_refused_by_the_log_in_page() -> None:
    said = Client().post("/login/", {"username": MUCH, "password": "p"}).content.decode()
    assert "The username or the password is wrong." in said
