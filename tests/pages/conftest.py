"""Browsers without a browser: a logged-in Django test client for each person of the small cloud."""

from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.template.base import Variable, VariableDoesNotExist
from django.test import Client

from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from tests.fixtures.remembering import remembered
from tests.worlds.cloud import People, cloud

OURS = ("controlplane", "servers", "scheduling", "placement", "computeagent")


@pytest.fixture(autouse=True)
def templates_name_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Django shows nothing, silently, where a template names what an object does not have, so that what was renamed in
    Python alone is missed on the page. Here such a page fails, where the object is of a class of ours.
    """
    found = Variable._resolve_lookup

    def strictly(self: Variable, context: Any) -> Any:
        try:
            return found(self, context)
        except VariableDoesNotExist as error:
            owner = type(error.params[-1])
            if owner.__module__.partition(".")[0] in OURS:
                raise AssertionError(f"A template wants {self.var}, and {owner.__name__} has no such thing.") from error
            raise

    monkeypatch.setattr(Variable, "_resolve_lookup", strictly)


@pytest.fixture
def people(db: None) -> People:
    return cloud("h1", "h2")


@pytest.fixture
def as_person() -> Callable[[Caller], Client]:
    def logged_in(caller: Caller) -> Client:
        client = Client()
        client.cookies[settings.SESSION_COOKIE_NAME] = session_of(caller)
        return client

    return logged_in


@remembered
def session_of(caller: Caller) -> str:
    """The key of a session as a log-in of this person gives one."""
    client = Client()
    client.force_login(User.objects.get(pk=caller.user_id))
    return client.cookies[settings.SESSION_COOKIE_NAME].value
