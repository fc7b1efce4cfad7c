"""Lists of instances that have no row yet: all are counted, filtered and paged in the database."""

import uuid
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.identity.models import Project
from servers.models import BuildRequest, Instance
from tests.fixtures.remembering import remembered
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
MANY = 1001


@pytest.fixture
@remembered
def who() -> world.People:
    who = world.cloud()
    Project.objects.update(quota_instances=-1, quota_cores=-1, quota_ram_mib=-1)
    return who


def requests(who: world.People, count: int, **body: Any) -> list[BuildRequest]:
    """As many requests as asked for, like one that a create wrote."""
    pattern = BuildRequest.objects.get(instance_uuid=world.create(who.member)[0].pk)
    BuildRequest.objects.filter(pk=pattern.pk).delete()
    rows = []
    for index in range(count):
        uid = uuid.uuid4()
        shown = {**pattern.instance_body, "id": str(uid), "name": f"vm-{index}", "user_data": "x" * 100, **body}
        rows.append(
            BuildRequest(
                instance_uuid=uid,
                project_id=pattern.project_id,
                user_id=pattern.user_id,
                reservation_id=pattern.reservation_id,
                batch_index=index,
                request_id=pattern.request_id,
                vcpus=1,
                memory_mib=1,
                instance_body=shown,
            )
        )
    return BuildRequest.objects.bulk_create(rows)


def test_more_than_a_thousand_are_all_counted_and_each_is_on_one_page(who: world.People) -> None:
    made = {str(world.active(who.member, "with a row").pk)}  # first: the conductor would give a row to those that wait
    made |= {str(one.instance_uuid) for one in requests(who, MANY)}
    assert Instance.objects.count() == 1
    client = world.client_of(who.member)
    listed: list[str] = []
    address = "/api/instances/?page_size=500"
    while address:
        page = client.get(address).json()
        assert page["count"] == MANY + 1
        listed += [one["id"] for one in page["results"]]
        address = page["next"]
    assert (len(listed), set(listed)) == (MANY + 1, made)


def test_a_page_reads_only_its_own_bodies(who: world.People) -> None:
    requests(who, 30)
    client = world.client_of(who.member)
    with CaptureQueriesContext(connection) as asked:
        assert len(client.get("/api/instances/?page_size=2&page=3").json()["results"]) == 2
    reading = [query["sql"] for query in asked.captured_queries if '"instance_body"' in query["sql"]]
    assert [sql.endswith("LIMIT 2 OFFSET 4") for sql in reading] == [True]


def test_a_page_costs_the_same_queries_however_many_wait(who: world.People) -> None:
    client, costs = world.client_of(who.member), []
    for count in (20, 60):
        requests(who, count)
        with CaptureQueriesContext(connection) as asked:
            client.get("/api/instances/?page_size=10")
        costs.append(len(asked))
    assert costs[0] == costs[1]


FILTERS = {
    "name=VM-1": 11,
    "name=100%25": 0,
    "status=build": 20,
    "status=ACTIVE": 0,
    "vm_state=building": 20,
    "flavor=m1.tiny": 20,
    "flavor=m1": 0,
    "image={image}": 20,
    "image={other}": 0,
    "reservation_id={reservation}": 20,
    "reservation_id={other}": 0,
    "request_id={request}": 20,
    "request_id=req-other": 0,
    "tag=web": 0,
    "name=vm-1&status=BUILD&vm_state=building": 11,
    "created_after=2020-01-01T00:00:00Z": 20,
    "created_before=2020-01-01T00:00:00Z": 0,
    "ordering=name&page_size=5": 20,
}


def test_filters_of_a_list_hold_for_what_waits(who: world.People) -> None:
    one = requests(who, 20)[0]
    values = {"image": one.instance_body["image_id"], "other": uuid.uuid4(), "reservation": one.reservation_id}
    client = world.client_of(who.member)
    for query, found in FILTERS.items():
        asked = query.format(request=one.request_id, **values)
        assert client.get(f"/api/instances/?{asked}").json()["count"] == found, query


@pytest.mark.parametrize("status", ["nonsense", "ACTIV", "%20ACTIVE%20x"])
def test_status_that_there_is_not_is_refused_and_not_an_empty_list(who: world.People, status: str) -> None:
    answer = world.client_of(who.member).get(f"/api/instances/?status={status}")
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == "status"
    assert "ACTIVE" in answer.json()["error"]["message"]


def test_list_of_everybodys_has_what_waits_of_every_project(who: world.People) -> None:
    requests(who, 3)
    world.create(who.stranger)
    assert world.client_of(who.admin).get("/api/instances/?all_projects=1").json()["count"] == 4
    assert world.client_of(who.member).get("/api/instances/?all_projects=0").json()["count"] == 3
