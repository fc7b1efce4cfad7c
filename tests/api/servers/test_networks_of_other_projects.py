"""Administrators make security groups, routers and floating addresses of other projects; nobody else does."""

from typing import Any
from uuid import uuid4

import pytest

from tests.worlds import routing
from tests.worlds.cloud import People, client_of, people

pytestmark = pytest.mark.django_db(transaction=True)
DOORS = ("security-groups", "routers", "floating-ips")


@pytest.fixture
def crowd() -> People:
    return people()


def body_of(door: str, project: object) -> dict[str, Any]:
    if door == "floating-ips":
        return {"network": str(routing.outside(name=f"public-{uuid4().hex[:6]}").pk), "project": str(project)}
    return {"name": "new", "project": str(project)}


@pytest.mark.parametrize("door", DOORS)
def test_project_is_named_by_administrators_alone(crowd: People, door: str) -> None:
    theirs = crowd.stranger.project_id
    for caller in (crowd.member, crowd.reader):
        refused = client_of(caller).post(f"/api/{door}/", body_of(door, theirs), format="json")
        assert refused.status_code == 403, refused.content
    refused = client_of(crowd.member).post(f"/api/{door}/", body_of(door, theirs), format="json")
    assert refused.json()["error"]["field"] == "project"


@pytest.mark.parametrize("door", DOORS)
def test_thing_that_an_administrator_makes_is_the_named_projects(crowd: People, door: str) -> None:
    theirs = crowd.stranger.project_id
    made = client_of(crowd.admin).post(f"/api/{door}/", body_of(door, theirs), format="json")
    assert made.status_code == 201, made.content
    assert made.json()["project"] == str(theirs)
    path = f"/api/{door}/{made.json()['id']}/"
    assert client_of(crowd.stranger).get(path).status_code == 200
    assert client_of(crowd.member).get(path).status_code == 404
    changed = client_of(crowd.admin).patch(path, {"project": str(crowd.member.project_id)}, format="json")
    assert (changed.status_code, changed.json()["error"]["field"]) == (400, "project")


@pytest.mark.parametrize("door", DOORS)
def test_own_project_may_be_named_and_one_that_is_not_there_may_not(crowd: People, door: str) -> None:
    own = client_of(crowd.member).post(f"/api/{door}/", body_of(door, crowd.member.project_id), format="json")
    assert own.status_code == 201, own.content
    nowhere = client_of(crowd.admin).post(f"/api/{door}/", body_of(door, uuid4()), format="json")
    assert nowhere.status_code == 404, nowhere.content
