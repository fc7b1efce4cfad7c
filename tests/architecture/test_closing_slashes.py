"""Every route of /api/ answers without the slash at its end as with it, with every verb, and redirects nobody."""

import pytest

from tests.fixtures.api_routes import ApiCall, api_calls
from tests.worlds import cloud as world

UNKNOWN = "no_such_parameter"
"""The refusal of this parameter shows that the route was reached with the verb, and does nothing."""


@pytest.mark.django_db
@pytest.mark.parametrize("call", api_calls(), ids=str)
def test_same_answer_without_the_closing_slash(call: ApiCall) -> None:
    client = world.client_of(world.people().admin)
    assert call.path.endswith("/")
    for path in (call.path, call.path.removesuffix("/")):
        answer = client.generic(call.method, f"{path}?{UNKNOWN}=1", content_type="application/json")
        assert (answer.status_code, answer.headers.get("Location")) == (400, None), path
        assert answer.json()["error"]["reasons"].keys() == {UNKNOWN}, path
