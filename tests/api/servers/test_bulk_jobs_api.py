"""POST /api/bulk-jobs/ and its pages, by administrator, member, reader and stranger."""

from typing import Any

import pytest
from django.test import Client

from controlplane.identity.models import User
from servers.models import BulkJob, BulkJobItem, Instance
from tests.services.servers.bulk.test_bulk_jobs import rows
from tests.worlds import cloud as world
from tests.worlds.admin_actions import ask, confirm

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/api/bulk-jobs/"
LIST = "/admin/servers/instance/"


@pytest.fixture
def people() -> world.People:
    return world.cloud("h1")


def page_of(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def body(instances: list[Instance], action: str = "lock", **more: Any) -> dict[str, Any]:
    return {"action": action, "instances": [str(one.pk) for one in instances], **more}


def test_a_member_asks_follows_and_sees_each_item(people: world.People) -> None:
    client = world.client_of(people.member)
    answer = client.post(PATH, body(rows(people.member, "active", "active")))
    assert answer.status_code == 202
    job = answer.json()
    assert (job["state"], job["counts"]["waiting"], job["user_name"]) == ("running", 2, "mary")
    world.pump()
    assert client.get(f"{PATH}{job['id']}/").json()["state"] == "done"
    items = client.get(f"{PATH}{job['id']}/items/", {"state": "done"}).json()["results"]
    assert [(one["position"], one["name"], one["state"]) for one in items] == [(1, "vm-1", "done"), (2, "vm-2", "done")]
    assert client.get(f"{PATH}{job['id']}/items/", {"state": "odd"}).status_code == 400
    assert client.post(f"{PATH}{job['id']}/retry/").status_code == 409
    assert client.post(f"{PATH}{job['id']}/cancel/").status_code == 409


def test_who_may_ask_and_who_may_look(people: world.People) -> None:
    instances = rows(people.member, "active")
    assert world.client_of(people.reader).post(PATH, body(instances)).status_code == 403
    job = world.client_of(people.member).post(PATH, body(instances)).json()
    assert world.client_of(people.stranger).get(f"{PATH}{job['id']}/").status_code == 404
    assert world.client_of(people.stranger).post(f"{PATH}{job['id']}/cancel/").status_code == 404
    assert world.client_of(people.reader).get(PATH).json()["count"] == 0
    assert world.client_of(people.admin).get(PATH).json()["count"] == 1
    assert world.client_of(people.admin).post(f"{PATH}{job['id']}/cancel/").json()["state"] == "cancelled"


def test_all_that_a_filter_matches(people: world.People) -> None:
    rows(people.member, "active", "stopped", "active")
    rows(people.stranger, "active")
    client = world.client_of(people.member)
    made = client.post(PATH, {"action": "lock", "filter": "vm_state=active"}).json()
    assert made["item_count"] == 2
    assert client.post(PATH, {"action": "lock", "filter": "host=h1"}).status_code == 400
    refused = client.post(PATH, {"action": "lock", "filter": "", "all_projects": True})
    assert refused.status_code == 403
    everywhere = {"action": "lock", "filter": "vm_state=active", "all_projects": True}
    assert world.client_of(people.admin).post(PATH, everywhere).json()["item_count"] == 3


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"action": "rebuild"}, "action"),
        ({"instances": []}, "instances"),
        ({"instances": ["x"]}, "instances.0"),
        ({"filter": ""}, "ids"),
        ({"kind": "cow"}, "kind"),
        ({"kind": "volume"}, "instances"),
        ({"note": "why"}, "note"),
        ({"action": "delete"}, "confirm"),
        ({"action": "delete", "confirm": 7}, "confirm"),
        ({"whatever": 1}, "whatever"),
    ],
)
def test_bad_input_names_the_field(people: world.People, change: dict[str, Any], field: str) -> None:
    answer = world.client_of(people.member).post(PATH, {**body(rows(people.member, "active")), **change})
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == field
    assert not BulkJob.objects.exists()


def test_on_the_page_what_destroys_is_named_counted_and_asked(people: world.People) -> None:
    instances = rows(people.member, "error", "error", host="")
    client = page_of("mary")
    page = client.get("/instances/").content.decode()
    assert f'value="{instances[0].pk}"' in page
    assert 'name="action"' in page
    ids = [str(one.pk) for one in instances]
    asked = client.post("/bulk-jobs/new/", {"action": "delete", "item": ids})
    text = asked.content.decode()
    assert "vm-1" in text
    assert "vm-2" in text
    assert "Delete 2 instances" in text
    assert not BulkJob.objects.exists()
    answer = client.post("/bulk-jobs/new/", {"action": "delete", "ids": " ".join(ids), "confirm": "2"})
    job = BulkJob.objects.get()
    assert answer["Location"] == f"/bulk-jobs/{job.pk}/"
    world.pump()
    assert not Instance.objects.filter(deleted_at__isnull=True).exists()
    shown = client.get(f"/bulk-jobs/{job.pk}/").content.decode()
    assert "2 of 2 ended" in shown
    assert "Delete 2 instances" in client.get("/bulk-jobs/").content.decode()


@pytest.mark.parametrize(("name", "offered"), [("mary", True), ("rita", False)])
def test_list_offers_to_schedule_again_and_to_mark_crashes_to_who_may(
    people: world.People, name: str, offered: bool
) -> None:
    rows(people.member, "error", host="")
    page = page_of(name).get("/instances/").content.decode()
    options = {action: f'<option value="{action}">' in page for action in ("schedule_again", "crash_seen")}
    assert options == {"schedule_again": offered, "crash_seen": offered}


def test_above_ten_a_word_is_typed(people: world.People) -> None:
    ids = " ".join(str(one.pk) for one in rows(people.member, *["error"] * 11, host=""))
    client = page_of("mary")
    form = {"action": "delete", "ids": ids, "confirm": "11"}
    refused = client.post("/bulk-jobs/new/", {**form, "word": "yes"}).content.decode()
    assert "Nothing was done: type delete to confirm." in refused
    assert not BulkJob.objects.exists()
    client.post("/bulk-jobs/new/", {**form, "word": "delete"})
    assert BulkJob.objects.get().item_count == 11


def test_what_destroys_nothing_begins_at_once_also_for_all_that_match(people: world.People) -> None:
    rows(people.member, "active", "stopped", "active")
    client = page_of("mary")
    form = {"action": "lock", "everything": "1", "filters": "vm_state=active&page=1&sort=name"}
    assert client.post("/bulk-jobs/new/", form).status_code == 302
    job = BulkJob.objects.get()
    assert job.item_count == 2
    client.post(f"/bulk-jobs/{job.pk}/act/", {"action": "cancel"})
    assert set(BulkJobItem.objects.values_list("state", flat=True)) == {"cancelled"}
    assert client.post(f"/bulk-jobs/{job.pk}/act/", {"action": "sing"}).status_code == 400


def test_readers_have_no_boxes_and_are_refused(people: world.People) -> None:
    [one] = rows(people.member, "active")
    client = page_of("rita")
    assert 'form="bulk"' not in client.get("/instances/").content.decode()
    assert client.post("/bulk-jobs/new/", {"action": "lock", "item": [str(one.pk)]}).status_code == 403
    assert page_of("stan").get("/bulk-jobs/").status_code == 200


def test_pages_cost_a_constant_number_of_queries(people: world.People, django_assert_max_num_queries: Any) -> None:
    client = page_of("mary")
    world.client_of(people.member).post(PATH, body(rows(people.member, *["active"] * 40)))
    client.get("/bulk-jobs/")
    with django_assert_max_num_queries(15):
        client.get("/bulk-jobs/")
    with django_assert_max_num_queries(15):
        client.get(f"/bulk-jobs/{BulkJob.objects.get().pk}/")


def test_the_django_admin_asks_and_begins_one_job(people: world.People) -> None:
    User.objects.create_superuser("boss", password=world.PASSWORD)
    client = page_of("boss")
    instances = rows(people.member, "error", "error", host="")
    asked = ask(client, LIST, "delete_instances", [str(one.pk) for one in instances])
    assert not BulkJob.objects.exists()
    confirm(client, LIST, asked)
    job = BulkJob.objects.get()
    assert (job.action, job.item_count, job.user_name) == ("delete", 2, "boss")
    world.pump()
    assert not Instance.objects.filter(deleted_at__isnull=True).exists()
    assert client.get(f"/admin/servers/bulkjob/{job.pk}/change/").status_code == 200
