"""Limits of single users and of the default class: set, shown, taken back, and held to by every create."""

from typing import Any

import pytest

from controlplane.identity.domain import Caller
from controlplane.identity.domain.quota import USER_LIMITS
from controlplane.identity.models import Project, QuotaClass, UserQuota
from controlplane.identity.services import quota_class_set
from controlplane.kernel.errors import InvalidFields, NotFound, QuotaExceeded
from servers.instances.domain.instance_create import InstanceCreate
from servers.instances.services.create import instances_create
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def path(caller: Caller) -> str:
    return f"/api/projects/{caller.project_id}/users/{caller.user_id}/quota/"


def create(caller: Caller, **more: Any) -> int:
    wanted = InstanceCreate(name="vm", flavor="m1.tiny", image="demo", **more)
    return len(instances_create(caller=caller, wanted=wanted))


def test_user_is_held_to_his_own_limits_and_others_are_not() -> None:
    who = world.cloud()
    admin = world.client_of(who.admin)
    answer = admin.patch(path(who.member), {"instances": 2}, format="json")
    assert answer.json() == {
        "limits": dict.fromkeys(USER_LIMITS, -1) | {"instances": 2},
        "used": dict.fromkeys(USER_LIMITS, 0),
    }
    assert create(who.member, min_count=1, max_count=5) == 2
    with pytest.raises(QuotaExceeded, match="Over the user's quota: instances: 1 asked for, 2 of 2 in use") as caught:
        create(who.member)
    assert (caught.value.field, caught.value.extra["limit"]) == ("instances", 2)
    assert create(who.admin) == 1  # of the same project
    shown = world.client_of(who.member).get("/api/quota/").json()
    assert (shown["user_limits"]["instances"], shown["user_used"]["instances"]) == (2, 2)
    assert shown["used"]["instances"] == 3
    world.pump()  # rows count as requests do
    with pytest.raises(QuotaExceeded):
        create(who.member)
    assert admin.delete(path(who.member)).status_code == 204
    assert admin.get(path(who.member)).json()["limits"] is None
    assert create(who.member) == 1


def test_limits_are_between_what_the_user_has_and_what_the_project_may() -> None:
    who = world.cloud()
    Project.objects.filter(pk=who.member.project_id).update(quota_cores=8)
    create(who.member, min_count=2)
    admin = world.client_of(who.admin)
    refused = admin.patch(path(who.member), {"instances": 1, "cores": 9}, format="json")
    assert refused.status_code == 400
    errors = refused.json()["error"]["reasons"]
    assert errors == {
        "instances": ["Is 1; the user has 2 already."],
        "cores": ["Is 9; the project's own limit is 8."],
    }
    assert admin.patch(path(who.member), {"instances": 1, "force": True}, format="json").status_code == 200
    assert admin.patch(path(who.member), {"ram_mib": -2}, format="json").status_code == 400
    assert admin.patch(path(who.member), {"disks": 1}, format="json").status_code == 400
    assert admin.patch(path(who.member), {"instances": None, "cores": -1}, format="json").status_code == 200
    row = UserQuota.objects.get()
    assert (row.instances, row.cores) == (None, -1)


def test_default_class_counts_for_projects_without_limits_of_their_own() -> None:
    who = world.cloud()
    admin = world.client_of(who.admin)
    before = admin.get("/api/quota-classes/default/").json()
    answer = admin.patch("/api/quota-classes/default/", {"instances": 1}, format="json")
    assert answer.json() == {**before, "instances": 1}
    create(who.member)
    with pytest.raises(QuotaExceeded, match="instances: 1 asked for, 1 of 1 in use"):
        create(who.member)
    Project.objects.filter(pk=who.member.project_id).update(quota_instances=2)
    create(who.member)
    assert admin.delete("/api/quota-classes/default/").status_code == 204
    assert admin.get("/api/quota-classes/default/").json() == before
    assert not QuotaClass.objects.exists()


def test_no_other_class_is_in_force() -> None:
    who = world.cloud()
    admin = world.client_of(who.admin)
    assert admin.get("/api/quota-classes/gold/").status_code == 404
    assert admin.patch("/api/quota-classes/gold/", {"instances": 1}, format="json").status_code == 404
    with pytest.raises(NotFound):
        quota_class_set(name="gold", limits={})
    with pytest.raises(InvalidFields):
        quota_class_set(name="default", limits={"instances": -2})


@pytest.mark.parametrize("role", ["member", "reader", "stranger"])
def test_only_admins_set_and_read_limits_of_users(role: str) -> None:
    who = world.cloud()
    client = world.client_of(getattr(who, role))
    assert client.get(path(who.member)).status_code == 403
    assert client.patch(path(who.member), {"instances": 1}, format="json").status_code == 403
    assert client.delete(path(who.member)).status_code == 403
    assert client.patch("/api/quota-classes/default/", {"instances": 1}, format="json").status_code == 403
    assert client.get("/api/quota-classes/default/").status_code == 200
    assert not UserQuota.objects.exists()


def test_user_or_project_that_does_not_exist_is_not_found() -> None:
    who = world.cloud()
    admin = world.client_of(who.admin)
    nobody = f"/api/projects/{who.member.project_id}/users/00000000-0000-0000-0000-000000000001/quota/"
    assert admin.patch(nobody, {"instances": 1}, format="json").status_code == 404
    nowhere = f"/api/projects/00000000-0000-0000-0000-000000000001/users/{who.member.user_id}/quota/"
    assert admin.get(nowhere).status_code == 404
