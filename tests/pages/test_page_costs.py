"""A list costs as many queries with ten rows as with two."""

from collections.abc import Callable

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.identity.domain import Caller
from tests.worlds.cloud import People, active, create, finish_builds, host, pump

AsPerson = Callable[[Caller], Client]


def queries(client: Client, path: str) -> int:
    client.get(path)  # what is read once per process is read now
    with CaptureQueriesContext(connection) as seen:
        assert client.get(path).status_code == 200
    return len(seen)


PATHS = ["/", "/instances/", "/instances/?all_projects=1", "/decisions/", "/hosts/h1/", "/projects/", "/flavors/"]


def test_ten_instances_cost_the_queries_of_two(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    for number in range(2):
        active(people.member, f"early-{number}")
    create(people.member, "early-pending")
    few = {path: queries(client, path) for path in PATHS}
    for number in range(6):
        active(people.member, f"late-{number}")
    create(people.member, "pending")

    assert {path: count for path in PATHS if (count := queries(client, path)) > few[path]} == {}


def test_ten_hosts_cost_the_queries_of_two(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    few, few_versions = queries(client, "/hosts/"), queries(client, "/hosts/versions/?behind=false")
    for number in range(8):
        host(f"more-{number}")

    assert queries(client, "/hosts/") == few
    assert queries(client, "/hosts/versions/?behind=false") == few_versions


def test_a_decision_about_ten_instances_costs_the_queries_of_one_about_one(people: People, as_person: AsPerson) -> None:
    client = as_person(people.admin)
    single = active(people.member)
    made = create(people.member, "many", min_count=5, max_count=5)
    pump()
    finish_builds()
    made[0].refresh_from_db()

    few = queries(client, f"/decisions/{single.decision_id}/")

    assert queries(client, f"/decisions/{made[0].decision_id}/") == few
