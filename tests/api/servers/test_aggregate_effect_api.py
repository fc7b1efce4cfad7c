"""/api/aggregates/effect/, .../ID/effect/ and .../ID/save/: what a change would do, and the change as a whole."""

import pytest

from scheduling.fleet.services.aggregates import aggregate_create_whole
from scheduling.models import Aggregate, AggregateHost
from tests.worlds.cloud import People, active, client_of, cloud

pytestmark = pytest.mark.django_db
PERSONS = ("admin", "member", "reader", "stranger")


@pytest.fixture
def people() -> People:
    return cloud("h1", "h2")


def test_the_effect_of_a_new_one(people: People) -> None:
    active(people.member)
    body = {"name": "rack", "metadata": {"availability_zone": "az1", "ssd": "1"}, "hosts_added": ["h1", "h2"]}

    answer = client_of(people.admin).post("/api/aggregates/effect/", body, format="json").json()

    (move,) = answer["moves"]
    assert (move["before"], move["after"], move["hosts"], move["instances"]) == ("nova", "az1", ["h1", "h2"], 1)
    assert [(one["key"], one["change"]) for one in answer["metadata"]] == [("availability_zone", "new"), ("ssd", "new")]
    assert not Aggregate.objects.exists()


def test_the_effect_of_a_change_with_its_room(people: People) -> None:
    rack = aggregate_create_whole(name="rack", metadata={}, hosts=["h1"])
    body = {"name": "rack", "metadata": {"filter_tenant_id": "x"}, "room": True}

    answer = client_of(people.admin).post(f"/api/aggregates/{rack.pk}/effect/", body, format="json").json()

    assert answer["room"] == [{"flavor": "m1.tiny", "before": 30, "after": 15}]


def test_it_is_saved_as_a_whole_or_not_at_all(people: People) -> None:
    admin = client_of(people.admin)
    aggregate_create_whole(name="other", metadata={"availability_zone": "az2"}, hosts=["h2"])
    rack = aggregate_create_whole(name="rack", metadata={"old": "1"}, hosts=["h1"])
    path = f"/api/aggregates/{rack.pk}/save/"
    clash = {"name": "new", "metadata": {"availability_zone": "az1"}, "hosts_added": ["h2"]}

    refused = admin.post(path, clash, format="json")
    before = Aggregate.objects.get(pk=rack.pk).name
    saved = admin.post(path, {"name": "new", "metadata": {"a": "1"}, "hosts_removed": ["h1"]}, format="json")

    assert (refused.status_code, refused.json()["error"]["code"], before) == (409, "zone_conflict", "rack")
    assert (saved.status_code, saved.json()["metadata"], saved.json()["hosts"]) == (200, {"a": "1"}, [])
    assert not AggregateHost.objects.filter(aggregate=rack).exists()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": ""}, "name"),
        ({"hosts_added": ["nowhere"]}, "hosts"),
        ({"metadata": {"availability_zone": "a:b"}}, "metadata"),
        ({"hosts_adde": ["h1"]}, "hosts_adde"),
    ],
)
def test_what_cannot_be_is_refused_by_field(change: dict[str, object], field: str, people: People) -> None:
    answer = client_of(people.admin).post("/api/aggregates/effect/", {"name": "rack", **change}, format="json")

    assert answer.status_code == 400
    assert field in str(answer.json()["error"])


def test_a_save_over_somebody_elses_is_a_conflict(people: People) -> None:
    rack = aggregate_create_whole(name="rack", metadata={}, hosts=[])
    body = {"name": "rack", "unchanged_since": "2020-01-01T00:00:00Z"}

    assert client_of(people.admin).post(f"/api/aggregates/{rack.pk}/save/", body, format="json").status_code == 409


@pytest.mark.parametrize("path", ["effect/", "{pk}/effect/", "{pk}/save/"])
def test_only_admins_may(path: str, people: People) -> None:
    rack = aggregate_create_whole(name="rack", metadata={}, hosts=[])
    there = f"/api/aggregates/{path.format(pk=rack.pk)}"

    found = [client_of(getattr(people, one)).post(there, {"name": "two"}, format="json").status_code for one in PERSONS]

    assert found == [200, 403, 403, 403]
