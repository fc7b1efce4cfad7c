"""Every list of /api/ is walked by cursors, in an order that leaves no two rows the same."""

from typing import Any

import pytest

from controlplane.infra.api.cursors import PARAM
from tests.fixtures.api_routes import api_calls
from tests.worlds import cloud as world

LISTS = [call for call in api_calls() if call.method == "GET" and PARAM in call.parameters]
NUMBERED = frozenset[str]()
"""Lists that are no rows of a table, and so have numbers of pages alone."""


def test_lists_are_found() -> None:
    assert len(LISTS) > 30


@pytest.mark.django_db
def test_lists_are_walked_by_cursors() -> None:
    client: Any = world.client_of(world.people().admin)
    found = {str(call): client.get(f"{call.path}?{PARAM}=").status_code for call in LISTS}
    # 404: of something that is not there.
    wrong = {call: status for call, status in found.items() if status != (400 if call in NUMBERED else 200)}
    assert set(wrong.values()) <= {404}, wrong
    assert len(wrong) < len(LISTS) / 2
