"""Browsers without a browser: a logged-in Django test client for each person of the small cloud."""

from collections.abc import Callable

import pytest
from django.test import Client

from controlplane.identity.domain import Caller
from controlplane.identity.models import User
from tests.worlds.cloud import People, cloud


@pytest.fixture
def people(db: None) -> People:
    return cloud("h1", "h2")


@pytest.fixture
def as_person() -> Callable[[Caller], Client]:
    def logged_in(caller: Caller) -> Client:
        client = Client()
        client.force_login(User.objects.get(pk=caller.user_id))
        return client

    return logged_in
