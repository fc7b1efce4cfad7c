"""Every route of /api/ answers without the slash at its end as with it, with every verb, and redirects nobody."""

from typing import Any

import pytest

from tests.fixtures.api_routes import ApiCall, api_calls
from tests.worlds import cloud as world

UNKNOWN = "no_such_parameter"
"""The refusal of this parameter shows that the route was reached with the verb, and does nothing."""


def _answer(client: Any, call: ApiCall, path: str) -> tuple[int, str | None, list[str]]:
    """Status, where it redirects to, and the parameters that are refused."""
    answer = client.generic(call.method, f"{path}?{UNKNOWN}=1", content_type="application/json")
    reasons = answer.json()["error"]["reasons"] if answer.status_code == 400 else {}
    return answer.status_code, answer.headers.get("Location"), list(reasons)


@pytest.mark.django_db
def test_same_answer_without_the_closing_slash() -> None:
    client = world.client_of(world.people().admin)
    assert all(call.path.endswith("/") for call in api_calls())
    found = {str(call): _answer(client, call, call.path.removesuffix("/")) for call in api_calls()}
    assert {call: answer for call, answer in found.items() if answer != (400, None, [UNKNOWN])} == {}
