"""POST /api/instances/{id}/schedule-again/: for members of its project and admins."""

import pytest

from controlplane.identity.domain import Caller
from servers.models import Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def in_cell0(who: world.People) -> str:
    world.flavor("huge", vcpus=8)
    made = world.create(who.member, flavor="huge")[0]
    world.pump()
    return f"/api/instances/{made.pk}/schedule-again/"


@pytest.mark.parametrize(("name", "status"), [("admin", 202), ("member", 202), ("reader", 403), ("stranger", 404)])
def test_role_decides_who_may(name: str, status: int) -> None:
    who = world.cloud("small")
    path, caller = in_cell0(who), getattr(who, name)
    assert isinstance(caller, Caller)
    answer = world.client_of(caller).post(path)
    assert answer.status_code == status
    if status == 202:
        assert (answer.json()["status"], answer.json()["task_state"]) == ("BUILD", "scheduling")
    else:
        assert Instance.objects.get().vm_state == "error"


def test_second_request_is_a_conflict_in_words() -> None:
    who = world.cloud("small")
    path, client = in_cell0(who), world.client_of(who.member)
    client.post(path)
    answer = client.post(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")
    assert "waits to be scheduled already" in answer.json()["error"]["message"]


def test_caller_without_a_token_is_sent_away() -> None:
    who = world.cloud("small")
    client = world.client_of(who.member)
    path = in_cell0(who)
    client.credentials()
    assert client.post(path).status_code in {401, 403}
