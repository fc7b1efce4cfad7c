"""/api/policies/: who may, what it answers, and that versions keep their lives."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.policies.selectors.policies import policy_active
from scheduling.policies.services.policies import policy_create, policy_validate
from tests.services.scheduling.fleet.fleet_world import fleet, request

pytestmark = pytest.mark.django_db

Clients = Callable[[str], APIClient]
URL = "/api/policies/"
WRITES = ["validate", "activate", "rollback", "retire", "shadow"]
READS = ["", "shadow-report/", "shadow-results/"]


def made(admin: APIClient, **given: Any) -> dict[str, Any]:
    answer = admin.post(URL, {"body": {}, **given})
    assert answer.status_code == 201
    body: dict[str, Any] = answer.json()
    return body


def validated(admin: APIClient, **body: Any) -> str:
    pk: str = made(admin, body=body)["id"]
    assert admin.post(f"{URL}{pk}/validate/").json()["valid"]
    return pk


def act(admin: APIClient, pk: str, verb: str, **given: Any) -> Any:
    return admin.post(f"{URL}{pk}/{verb}/", given)


@pytest.mark.parametrize("person", ["member", "reader", "stranger"])
def test_tenants_neither_see_nor_change_policies(client_of: Clients, person: str) -> None:
    row, client = policy_create(body={}), client_of(person)
    policy_validate(policy_id=row.pk)
    answers = [client.get(f"{URL}{row.pk}/{each}") for each in READS]
    answers += [client.get(URL), client.post(URL, {"body": {}}), client.post(f"{URL}rollback/")]
    answers += [client.patch(f"{URL}{row.pk}/", {"comment": "x"}), client.delete(f"{URL}{row.pk}/")]
    answers += [client.post(f"{URL}{row.pk}/{verb}/", {"share": 1}) for verb in [*WRITES, "preview"]]
    answers += [client.delete(f"{URL}{row.pk}/shadow/")]
    assert {answer.status_code for answer in answers} == {403}
    row.refresh_from_db()
    assert (row.state, row.shadow, row.comment) == ("validated", False, "")


def test_nobody_gets_in_without_a_token() -> None:
    assert APIClient().get(URL).status_code == 401


def test_list_is_paged_filtered_and_ordered(admin: APIClient) -> None:
    for name in ("a", "a", "b"):
        made(admin, name=name)
    page = admin.get(f"{URL}?page_size=2&ordering=-version").json()
    assert (page["count"], len(page["results"]), page["results"][0]["label"]) == (3, 2, "a-v2")
    assert [row["label"] for row in admin.get(URL, {"name": "b"}).json()["results"]] == ["b-v1"]
    assert admin.get(URL, {"state": "active"}).json()["count"] == 0


def test_made_version_is_a_draft_of_the_caller(admin: APIClient) -> None:
    body = made(admin, name="gpu", comment="try", body={"host_subset_size": 2})
    assert (body["label"], body["state"], body["author"], body["comment"]) == ("gpu-v1", "draft", "admin", "try")


def test_copy_takes_the_body_of_another_version(admin: APIClient) -> None:
    source = made(admin, body={"host_subset_size": 7})
    copy = admin.post(URL, {"copy_of": source["id"]}).json()
    assert (copy["label"], copy["body"]) == ("default-v2", {"host_subset_size": 7})


def test_body_and_copy_together_are_refused(admin: APIClient) -> None:
    answer = admin.post(URL, {"copy_of": str(uuid.uuid4()), "body": {}})
    assert (answer.status_code, list(answer.json()["error"]["reasons"])) == (400, ["copy_of"])


def test_unknown_version_is_not_found(admin: APIClient) -> None:
    pk = uuid.uuid4()
    answers = [admin.get(f"{URL}{pk}/{each}") for each in READS]
    bodies = {"shadow": {"share": 1}}
    answers += [act(admin, str(pk), verb, **bodies.get(verb, {})) for verb in [*WRITES, "preview"]]
    assert {answer.status_code for answer in answers} == {404}


def test_validation_answers_every_problem_with_field_and_code(admin: APIClient) -> None:
    pk = made(admin, body={"filters": ["NoSuchFilter"], "max_attempts": 0})["id"]
    body = admin.post(f"{URL}{pk}/validate/").json()
    assert (body["valid"], body["state"]) == (False, "draft")
    assert [(one["field"], one["code"]) for one in body["problems"]] == [
        ("filters.NoSuchFilter", "plugin_not_found"),
        ("max_attempts", "out_of_range"),
    ]


def test_draft_is_changed_under_its_revision(admin: APIClient) -> None:
    pk = made(admin)["id"]
    assert admin.patch(f"{URL}{pk}/", {"comment": "one", "revision": 1}).json()["revision"] == 2
    answer = admin.patch(f"{URL}{pk}/", {"comment": "two", "revision": 1})
    assert (answer.status_code, answer.json()["error"]["revision"]) == (409, 2)


def test_draft_is_deleted(admin: APIClient) -> None:
    pk = made(admin)["id"]
    assert admin.delete(f"{URL}{pk}/").status_code == 204
    assert admin.get(f"{URL}{pk}/").status_code == 404


def test_version_is_activated_and_then_immutable(admin: APIClient) -> None:
    pk = validated(admin, host_subset_size=2)
    assert act(admin, pk, "activate").json()["state"] == "active"
    assert policy_active().host_subset_size == 2
    answers = [admin.patch(f"{URL}{pk}/", {"comment": "x"}), admin.delete(f"{URL}{pk}/")]
    assert {answer.status_code for answer in answers} == {409}


def test_activation_in_place_of_another_version_than_the_active_is_refused(admin: APIClient) -> None:
    first, second = validated(admin), validated(admin)
    act(admin, first, "activate", replaces=None)
    answer = act(admin, second, "activate", replaces=None)
    assert (answer.status_code, answer.json()["error"]["active"]) == (409, "default-v1")
    assert act(admin, second, "activate", replaces=first).status_code == 200


def test_draft_is_not_activated(admin: APIClient) -> None:
    assert act(admin, made(admin)["id"], "activate").status_code == 409


def test_roll_back_to_a_version_and_to_the_last_one(admin: APIClient) -> None:
    pks = [validated(admin) for _ in range(3)]
    for pk in pks:
        act(admin, pk, "activate")
    assert act(admin, pks[0], "rollback").json()["label"] == "default-v1"
    assert admin.post(f"{URL}rollback/").json()["label"] == "default-v3"


def test_retired_active_version_leaves_the_defaults(admin: APIClient) -> None:
    pk = validated(admin)
    act(admin, pk, "activate")
    assert act(admin, pk, "retire").json()["state"] == "retired"
    assert policy_active().version == "defaults"


def test_preview_says_what_would_change_and_on_what_fleet(admin: APIClient) -> None:
    fleet(3)
    destinations_select(request=request(), inputs=scheduling_inputs())
    pk = made(admin, body={"filters": ["AllHostsFilter"]})["id"]
    body = act(admin, pk, "preview", last=10).json()
    assert (body["policy"], body["basis"], body["cases"][0]["against"]) == ("default-v1", "stored_fleet", "defaults")
    assert (body["decisions"], body["counts"]["same"]) == (1, 1)
    assert "on the fleet that they saw" in body["note"]


@pytest.mark.parametrize("last", [0, 201, "many"])
def test_preview_of_too_few_or_too_many_is_refused(admin: APIClient, last: Any) -> None:
    answer = act(admin, made(admin)["id"], "preview", last=last)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "last")


def test_preview_of_a_wrong_body_names_its_fields(admin: APIClient) -> None:
    answer = act(admin, made(admin, body={"filters": ["NoSuchFilter"]})["id"], "preview")
    assert (answer.status_code, list(answer.json()["error"]["reasons"])) == (400, ["filters.NoSuchFilter"])


def test_shadow_is_started_and_ended(admin: APIClient) -> None:
    pk = validated(admin)
    started = act(admin, pk, "shadow", share=0.5).json()
    assert (started["shadow"], started["shadow_share"]) == (True, 0.5)
    assert admin.delete(f"{URL}{pk}/shadow/").json()["shadow"] is False
    assert admin.delete(f"{URL}{pk}/shadow/").status_code == 409


@pytest.mark.parametrize("share", [-0.1, 1.1, "x", None])
def test_share_outside_of_0_to_1_is_refused(admin: APIClient, share: Any) -> None:
    answer = act(admin, validated(admin), "shadow", share=share)
    assert (answer.status_code, answer.json()["error"]["field"]) == (400, "share")


def test_shadow_report_and_results_are_told(admin: APIClient) -> None:
    pk = validated(admin)
    report = admin.get(f"{URL}{pk}/shadow-report/").json()
    assert (report["runs"], report["agreement"], report["moves"]) == (0, None, [])
    assert admin.get(f"{URL}{pk}/shadow-results/", {"outcome": "same"}).json()["count"] == 0
