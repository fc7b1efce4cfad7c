"""Instances on hosts that do not report: everybody reads that they are silent, administrators how their hosts are."""

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from scheduling.conf import scheduling_options
from scheduling.fleet.services.service_states import service_disable, service_force_down
from scheduling.models import Service
from servers.models import Instance
from tests.fixtures.remembering import remembered
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
HOST = "planted-hypervisor"


@pytest.fixture
@remembered
def who() -> world.People:
    """One instance on a host, and one that waits for a host."""
    found = world.cloud(HOST)
    world.active(found.member, "runs")
    world.create(found.member, "pending")
    return found


def silence() -> str:
    """Nothing comes of the host any more: since when, as people read it."""
    too_long = timedelta(seconds=scheduling_options().service_down_time_s + 1)
    Service.objects.update(last_seen_up=F("last_seen_up") - too_long)
    seen = Service.objects.get(host=HOST).last_seen_up
    assert seen is not None
    return seen.strftime("%Y-%m-%d %H:%M:%S UTC")


def shown(caller: Any, name: str = "runs", **query: Any) -> dict[str, Any]:
    """The instance, the same in list and detail."""
    client = world.client_of(caller)
    listed = client.get("/api/instances/", query).json()["results"]
    one: dict[str, Any] = next(one for one in listed if one["name"] == name)
    assert client.get(f"/api/instances/{one['id']}/").json() == one
    return one


def names(caller: Any, **query: str) -> list[str]:
    answer = world.client_of(caller).get("/api/instances/", query)
    assert answer.status_code == 200, answer.content
    return sorted(one["name"] for one in answer.json()["results"])


def test_host_that_reports_says_nothing(who: world.People) -> None:
    assert [shown(caller)["host_status"] for caller in (who.admin, who.member, who.reader)] == ["UP", None, None]
    assert {shown(caller)["host_notice"] for caller in (who.admin, who.member, who.reader)} == {""}
    assert (shown(who.admin, "pending")["host_status"], shown(who.admin, "pending")["host_notice"]) == ("", "")


def test_silent_host_is_said_to_everybody_and_named_to_no_tenant(who: world.People) -> None:
    since = silence()
    for caller in (who.admin, who.member, who.reader):
        said = f"Its host has not reported since {since}. The last that is known of it is running."
        assert shown(caller)["host_notice"] == said
    assert shown(who.admin)["host_status"] == "UNKNOWN"
    assert {shown(caller)["host_status"] for caller in (who.member, who.reader)} == {None}
    assert HOST not in str([shown(who.member), shown(who.reader)])
    assert names(who.stranger) == []
    instance = Instance.objects.get(name="runs")
    assert world.client_of(who.stranger).get(f"/api/instances/{instance.pk}/").status_code == 404


def test_status_follows_nova_s_rule(who: world.People) -> None:
    service_disable(host=HOST, reason="repairs")
    assert (shown(who.admin)["host_status"], shown(who.admin)["host_notice"]) == ("MAINTENANCE", "")
    silence()
    assert shown(who.admin)["host_status"] == "MAINTENANCE"
    assert "has not reported since" in shown(who.admin)["host_notice"]
    service_force_down(host=HOST, forced_down=True)
    assert shown(who.admin)["host_status"] == "DOWN"
    assert shown(who.member)["host_notice"].startswith("Its host was declared dead. ")


def test_administrators_filter_by_it(who: world.People) -> None:
    assert names(who.admin, host_status="UP") == ["runs"]
    assert names(who.admin, host_status="UNKNOWN") == []
    silence()
    assert (names(who.admin, host_status="UP"), names(who.admin, host_status="UNKNOWN")) == ([], ["runs"])
    Service.objects.all().delete()  # not registered: nothing is known of it
    assert names(who.admin, host_status="UNKNOWN") == ["runs"]


@pytest.mark.parametrize("value", ["up", "GONE"])
def test_status_that_there_is_none_of_is_refused_with_its_field(who: world.People, value: str) -> None:
    answer = world.client_of(who.admin).get("/api/instances/", {"host_status": value})
    assert (answer.status_code, list(answer.json()["error"]["reasons"])) == (400, ["host_status"])


def test_tenants_have_no_such_filter(who: world.People) -> None:
    answers = [world.client_of(who.member).get("/api/instances/", {"host_status": one}) for one in ("UP", "DOWN")]
    assert len({(answer.status_code, str(answer.json().get("results"))) for answer in answers}) == 1


def test_stop_that_is_asked_of_a_silent_host_says_at_once_that_it_waits(who: world.People) -> None:
    since = silence()
    instance = Instance.objects.get(name="runs")
    client = world.client_of(who.member)
    asked = client.post(f"/api/instances/{instance.pk}/actions/", {"action": "stop"}, format="json")
    assert (asked.status_code, since in asked.json()["host_notice"]) == (202, True)
    journey = client.get(f"/api/instances/{instance.pk}/journey/")
    waits = {one["action"]: one["waits_for"] for one in journey.json()["actions"]}
    assert waits == {"create": "", "stop": f"It waits for its host, which has not reported since {since}."}
    assert HOST not in journey.content.decode()


def test_stop_that_its_host_can_begin_waits_for_nothing(who: world.People) -> None:
    instance = Instance.objects.get(name="runs")
    client = world.client_of(who.member)
    client.post(f"/api/instances/{instance.pk}/actions/", {"action": "stop"}, format="json")
    actions = client.get(f"/api/instances/{instance.pk}/journey/").json()["actions"]
    assert {one["waits_for"] for one in actions} == {""}


def test_list_costs_one_query_for_all_hosts(who: world.People, django_assert_max_num_queries: Any) -> None:
    for number in range(2):
        world.host(f"{HOST}-{number}")
        world.active(who.member, f"more-{number}")
    silence()
    client = world.client_of(who.member)
    with django_assert_max_num_queries(9):
        listed = client.get("/api/instances/", {"page_size": 100}).json()["results"]
    assert sum(bool(one["host_notice"]) for one in listed) == len(listed) == 4
