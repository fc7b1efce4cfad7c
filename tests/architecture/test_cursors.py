"""Every list of /api/ is walked by cursors, in an order that leaves no two rows the same."""

from typing import Any

import pytest

from controlplane.infra.api.cursors import PARAM
from tests.fixtures.api_routes import ApiCall, api_calls
from tests.worlds import cloud as world

LISTS = [call for call in api_calls() if call.method == "GET" and PARAM in call.parameters]
NUMBERED = frozenset[str]()
"""Lists that are no rows of a table, and so have numbers of pages alone."""


def test_lists_are_found() -> None:
    assert len(LISTS) > 30


@pytest.mark.django_db
@pytest.mark.parametrize("call", LISTS, ids=str)
def test_list_is_walked_by_cursors(call: ApiCall) -> None:
    client: Any = world.client_of(world.people().admin)
    answer = client.get(f"{call.path}?{PARAM}=")
    if answer.status_code == 404:  # of something that is not there
        return
    assert answer.status_code == (400 if str(call) in NUMBERED else 200), answer.json()
