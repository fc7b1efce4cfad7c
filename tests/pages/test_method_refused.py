"""An address that only takes forms, opened in a browser."""

import pytest
from django.test import Client

from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("is_logged_in", [True, False])
@pytest.mark.parametrize("path", ["/policies/defaults/", "/logout/", "/theme/"])
def test_address_for_forms_says_so_on_a_page(path: str, is_logged_in: bool) -> None:
    client = Client()
    if is_logged_in:
        world.people()
        client.login(username="root", password=world.PASSWORD)
    answer = client.get(path)
    assert answer.status_code == 405
    assert "This address cannot be opened" in answer.text
    assert answer["Allow"] == "POST"


def test_page_that_takes_no_post_says_so() -> None:
    assert "does not answer POST" in Client().post("/healthz").text
