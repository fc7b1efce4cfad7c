"""/api/instances/: create, read, act, delete; bad input and roles."""

import base64
import uuid
from typing import Any

import pytest
from rest_framework.test import APIClient

from servers.models import BuildRequest, ConsoleLog, Instance
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
BODY = {"name": "vm", "flavor": "m1.tiny", "image": "demo"}


@pytest.fixture
def who() -> world.People:
    return world.cloud()


def post(client: APIClient, **changes: Any) -> Any:
    return client.post("/api/instances/", {**BODY, **changes}, format="json")


def test_create_answers_202_with_uuid_state_and_location(who: world.People) -> None:
    answer = post(world.client_of(who.member), tags=["b", "a"], metadata={"k": "v"})
    body = answer.json()
    assert answer.status_code == 202
    assert answer["Location"].endswith(f"/api/instances/{body['id']}/")
    assert answer["X-OpenStack-Request-Id"].startswith("req-")
    assert (body["status"], body["vm_state"], body["task_state"]) == ("BUILD", "building", "scheduling")
    assert body["tags"] == ["a", "b"]
    assert body["flavor"]["name"] == "m1.tiny"
    assert body["fault"] is None
    assert BuildRequest.objects.get().instance_uuid == uuid.UUID(body["id"])


def test_instance_reads_the_same_before_and_after_it_has_a_row(who: world.People) -> None:
    client = world.client_of(who.member)
    before = post(client, tags=["x"]).json()
    listed = client.get("/api/instances/").json()
    assert [one["id"] for one in listed["results"]] == [before["id"]]
    world.pump()
    world.finish_builds()
    after = client.get(f"/api/instances/{before['id']}/").json()
    assert after["status"] == "ACTIVE"
    assert after["addresses"] == {"default": ["10.0.0.5"]}
    same = ("id", "name", "tags", "flavor", "image", "metadata", "project_id", "created_at")
    assert {key: after[key] for key in same if key != "created_at"} == {
        key: before[key] for key in same if key != "created_at"
    }


def test_host_is_told_to_admins_only(who: world.People) -> None:
    made = world.active(who.member)
    for caller, host in ((who.admin, "h1"), (who.member, None)):
        assert world.client_of(caller).get(f"/api/instances/{made.pk}/").json()["host"] == host


def test_batch_lists_all_its_instances(who: world.People) -> None:
    body = post(world.client_of(who.member), min_count=3).json()
    assert [one["name"] for one in body["instances"]] == ["vm-1", "vm-2", "vm-3"]


def test_list_filters_pages_and_orders(who: world.People) -> None:
    client = world.client_of(who.member)
    for name in ("beta", "alpha"):
        world.active(who.member, name)
    world.create(who.member, "gamma")
    names = lambda query: [one["name"] for one in client.get(f"/api/instances/?{query}").json()["results"]]  # noqa: E731
    assert names("") == ["gamma", "alpha", "beta"]
    assert names("status=ACTIVE") == ["alpha", "beta"]
    assert names("status=build") == ["gamma"]
    assert names("name=ALPH") == ["alpha"]
    assert names("status=ACTIVE&ordering=-name") == ["beta", "alpha"]
    page = client.get("/api/instances/?page_size=2&page=2").json()
    assert (page["count"], len(page["results"]), page["next"]) == (3, 1, None)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"flavor": "nosuch"}, "flavor"),
        ({"image": "nosuch"}, "image"),
        ({"min_count": 0}, "min_count"),
        ({"min_count": -3}, "min_count"),
        ({"min_count": 3, "max_count": 2}, "max_count"),
        ({"name": ""}, "name"),
        ({"name": " "}, "name"),
        ({"name": "x" * 256}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"user_data": "not base64 !!"}, "user_data"),
        ({"availability_zone": "moon"}, "availability_zone"),
        ({"metadata": {"k": 1}}, "metadata"),
        ({"metadata": []}, "metadata"),
        ({"tags": ["a,b"]}, "tags"),
        ({"key_name": "nosuch"}, "key_name"),
        ({"hints": {"nosuch": {"a": 1}}}, "hints.nosuch"),
        ({"hints": {"group": "nosuch"}}, "hints"),
        ({"hints": {"same_host": ["x"]}}, "hints.same_host"),
        ({"hints": {"different_host": [str(uuid.uuid4())]}}, "hints.different_host"),
        ({"flavour": "m1.tiny"}, "flavour"),
    ],
)
def test_bad_input_names_its_field_and_writes_nothing(who: world.People, changes: dict[str, Any], field: str) -> None:
    answer = post(world.client_of(who.member), **changes)
    error = answer.json()["error"]
    assert answer.status_code == 400
    assert field in error["reasons"], error
    assert error["request_id"] == answer["X-OpenStack-Request-Id"]
    assert not BuildRequest.objects.exists()


def test_name_of_a_megabyte_is_refused_in_a_short_answer(who: world.People) -> None:
    answer = post(world.client_of(who.member), name="x" * 2**20)
    assert answer.status_code == 400
    assert len(answer.content) < 2000
    assert answer.json()["error"]["field"] == "name"


def test_user_data_comes_through_as_it_was_sent(who: world.People) -> None:
    text = base64.b64encode(b"#!/bin/sh\necho hello\n").decode()
    made = post(world.client_of(who.member), user_data=text).json()
    world.pump()
    assert Instance.objects.get(pk=made["id"]).user_data == text
    assert text not in str(made)


def test_image_too_big_for_the_flavor_is_refused_with_numbers(who: world.People) -> None:
    world.image("big", virtual_size_bytes=5 * 2**30)
    world.image("hungry", min_ram_mib=4096)
    client = world.client_of(who.member)
    assert "5.0 GiB" in post(client, image="big").json()["error"]["message"]
    assert "4096 MiB" in post(client, image="hungry").json()["error"]["message"]


def test_flavor_without_a_root_disk_is_for_admins_whatever_the_image(who: world.People) -> None:
    world.flavor("diskless", root_gib=0)
    world.image("vast", virtual_size_bytes=2**56)
    refused = post(world.client_of(who.member), flavor="diskless", image="vast")
    error = refused.json()["error"]
    assert (refused.status_code, error["code"], error["field"]) == (403, "forbidden", "flavor")
    assert "root disk of 0 GiB" in error["message"]
    assert not BuildRequest.objects.exists()
    assert post(world.client_of(who.admin), flavor="diskless").status_code == 202


def test_what_no_guest_can_be_given_is_refused_before_a_host_is_chosen(who: world.People) -> None:
    world.flavor("limited", extra_specs={"quota:cpu_limit": "1000"})
    world.image("floppy", properties={"hw_floppy_bus": "fdc"})

    for changes, reported in (
        ({"image": "floppy"}, "hw_floppy_bus=fdc"),
        ({"flavor": "limited"}, "quota:cpu_limit=1000"),
    ):
        answer = post(world.client_of(who.member), **changes)
        assert answer.status_code == 400
        assert reported in str(answer.json()["error"])
    assert not BuildRequest.objects.exists()


def test_image_that_is_not_active_is_refused(who: world.People) -> None:
    world.image("raw", status="queued")
    assert "queued" in post(world.client_of(who.member), image="raw").json()["error"]["message"]


def test_over_quota_says_asked_used_and_limit(who: world.People) -> None:
    answer = post(world.client_of(who.member), min_count=21)
    error = answer.json()["error"]
    assert answer.status_code == 403
    assert (error["code"], error["requested"], error["used"], error["limit"]) == ("quota_exceeded", 21, 0, 20)
    assert not BuildRequest.objects.exists()


@pytest.mark.parametrize("raw", [b"{", b"\xff\xfe", b"[1]", b'"x"', b"null"])
def test_body_that_is_no_json_object_is_a_400(who: world.People, raw: bytes) -> None:
    answer = world.client_of(who.member).post("/api/instances/", raw, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["error"]["request_id"]


def test_strangers_instance_does_not_exist(who: world.People) -> None:
    made = world.active(who.member)
    stranger = world.client_of(who.stranger)
    for path, method in (("", "get"), ("", "delete"), ("console-log/", "get"), ("journey/", "get")):
        answer = getattr(stranger, method)(f"/api/instances/{made.pk}/{path}")
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    acted = stranger.post(f"/api/instances/{made.pk}/actions/", {"action": "stop"}, format="json")
    assert acted.status_code == 404
    assert stranger.get("/api/instances/").json()["count"] == 0
    refused = stranger.get("/api/instances/?all_projects=1")
    assert (refused.status_code, refused.json()["error"]["field"]) == (403, "all_projects")
    assert world.client_of(who.admin).get("/api/instances/?all_projects=1").json()["count"] == 1


def test_reader_reads_and_may_not_write(who: world.People) -> None:
    made = world.active(who.member)
    reader = world.client_of(who.reader)
    assert reader.get(f"/api/instances/{made.pk}/").status_code == 200
    for answer in (
        post(reader),
        reader.delete(f"/api/instances/{made.pk}/"),
        reader.post(f"/api/instances/{made.pk}/actions/", {"action": "stop"}, format="json"),
    ):
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")
    assert Instance.objects.get().task_state == ""


def test_scheduler_hints_may_be_called_by_openstacks_name(who: world.People) -> None:
    answer = post(world.client_of(who.member), scheduler_hints={"nosuch": None})
    assert "hints.nosuch" in answer.json()["error"]["reasons"]


def test_without_a_token_nothing_is_told(who: world.People) -> None:
    answer = APIClient().get("/api/instances/")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"]


def test_member_may_not_force_a_host(who: world.People) -> None:
    assert post(world.client_of(who.member), availability_zone="nova:h1").status_code == 403
    assert post(world.client_of(who.admin), availability_zone="nova:h1").status_code == 202
    assert (
        post(world.client_of(who.admin), availability_zone="nova:mars").json()["error"]["field"] == "availability_zone"
    )


def test_actions_say_what_is_not_possible(who: world.People) -> None:
    made = world.active(who.member)
    client = world.client_of(who.member)
    path = f"/api/instances/{made.pk}/actions/"
    assert client.post(path, {"action": "fly"}, format="json").json()["error"]["field"] == "action"
    conflict = client.post(path, {"action": "start"}, format="json")
    assert (conflict.status_code, conflict.json()["error"]["vm_state"]) == (409, "active")
    stopped = client.post(path, {"action": "stop"}, format="json")
    assert (stopped.status_code, stopped.json()["task_state"]) == (202, "powering-off")


def test_console_log_gives_the_last_lines(who: world.People) -> None:
    made = world.active(who.member)
    ConsoleLog.objects.create(instance_uuid=made.pk, output="one\ntwo\nthree\n")
    client = world.client_of(who.member)
    assert client.get(f"/api/instances/{made.pk}/console-log/?lines=2").json() == {"output": "two\nthree", "size": 14}
    assert client.get(f"/api/instances/{made.pk}/console-log/?lines=0").status_code == 400


def test_delete_ends_with_404(who: world.People) -> None:
    made = post(world.client_of(who.member)).json()
    client = world.client_of(who.member)
    assert client.delete(f"/api/instances/{made['id']}/").status_code == 204
    assert client.get(f"/api/instances/{made['id']}/").status_code == 404
    assert client.delete(f"/api/instances/{made['id']}/").status_code == 404


def test_failed_instance_tells_its_fault_and_decision(who: world.People) -> None:
    world.flavor("huge", vcpus=32)
    client = world.client_of(who.member)
    made = post(client, flavor="huge").json()
    world.pump()
    body = client.get(f"/api/instances/{made['id']}/").json()
    assert body["status"] == "ERROR"
    assert body["fault"]["message"].startswith("No host fits: ")
    assert "h1" not in str(body)
    decision = client.get(f"/api/decisions/{body['decision']}/").json()
    assert "vcpu" in str(decision).lower()


def test_journey_tells_actions_attempts_and_steps(who: world.People) -> None:
    made = world.active(who.member)
    reported = world.client_of(who.admin).get(f"/api/instances/{made.pk}/journey/").json()
    assert [(one["action"], one["result"]) for one in reported["actions"]] == [("create", "success")]
    assert [(one["host"], one["outcome"]) for one in reported["attempts"]] == [("h1", "active")]
    hidden = world.client_of(who.member).get(f"/api/instances/{made.pk}/journey/").json()
    assert hidden["attempts"][0]["host"] is None


def test_list_costs_the_same_queries_for_two_and_for_twenty(
    who: world.People, django_assert_max_num_queries: Any
) -> None:
    client = world.client_of(who.member)
    world.active(who.member, min_count=2)
    world.pump()
    world.finish_builds()
    for size in (2, 20):
        while Instance.objects.count() < size:
            world.create(who.member, min_count=min(2, size - Instance.objects.count()))
            world.pump()
        with django_assert_max_num_queries(7):
            assert client.get("/api/instances/?page_size=100").json()["count"] == size
