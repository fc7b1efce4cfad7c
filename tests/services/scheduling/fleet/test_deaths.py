"""A host that dies is told of once, as is its return: whoever looks, how often, and however many died together."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from controlplane.notifications.models import Notification
from controlplane.notifications.webhooks import patterns_forget
from controlplane.work.jobs import PERIODIC_TASKS
from scheduling.conf import scheduling_options
from scheduling.fleet.services.deaths import service_deaths_note
from scheduling.fleet.services.heartbeats import service_heartbeat
from scheduling.fleet.services.hosts import host_delete
from scheduling.fleet.services.service_states import service_force_down
from scheduling.models import ComputeNode, Service
from tests.services.scheduling.fleet.fleet_world import fleet

pytestmark = pytest.mark.django_db(transaction=True)
LOOKERS = 4


@pytest.fixture
def emitted(notifying: Any) -> None:
    notifying(EVENTS=("service.down", "service.up"))


def silence(*hosts: str, seconds: float | None = None) -> None:
    """Nothing came of these (of all, where none is named) for so long; by default for longer than a host may be so."""
    rows = Service.objects.filter(host__in=hosts) if hosts else Service.objects.all()
    too_long = scheduling_options().service_down_time_s + 1
    rows.update(last_seen_up=F("last_seen_up") - timedelta(seconds=too_long if seconds is None else seconds))


def told() -> list[tuple[str, str]]:
    """(event, host) of all that was emitted, in its order."""
    rows = Notification.objects.order_by("created_at", "publisher_id")
    return [(row.event_type, row.payload["nova_object.data"]["host"]) for row in rows]


@pytest.mark.usefixtures("emitted")
def test_host_that_dies_and_returns_is_told_of_once_each() -> None:
    fleet(2)
    assert service_deaths_note() == 0
    silence("cmp-00")
    assert [service_deaths_note() for _ in range(2)] == [1, 0]
    assert told() == [("service.down", "cmp-00")]
    service_heartbeat(host="cmp-00")
    assert [service_deaths_note() for _ in range(2)] == [1, 0]
    assert told() == [("service.down", "cmp-00"), ("service.up", "cmp-00")]
    silence("cmp-00")
    service_deaths_note()
    assert told()[2:] == [("service.down", "cmp-00")]


@pytest.mark.usefixtures("emitted")
def test_event_says_what_is_known_of_the_host() -> None:
    fleet(1)
    ComputeNode.objects.update(running_guests=7)
    silence()
    service_deaths_note()
    row = Notification.objects.get()
    assert (row.priority, row.publisher_id, row.project_id) == ("ERROR", "nova-compute:cmp-00", None)
    kind = tuple(row.payload[f"nova_object.{key}"] for key in ("namespace", "name", "version"))
    assert kind == ("kilonova", "ServiceLivenessPayload", "1.0")
    data = row.payload["nova_object.data"]
    assert (data["host"], data["forced_down"], data["running_guests"]) == ("cmp-00", False, 7)
    seen = Service.objects.get().last_seen_up
    assert seen is not None
    assert data["last_seen_up"] == seen.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.usefixtures("emitted")
def test_short_silence_is_no_death_and_a_forced_down_host_is_dead_at_once() -> None:
    fleet(2)
    silence("cmp-00", seconds=scheduling_options().service_down_time_s / 2)
    service_force_down(host="cmp-01", forced_down=True)
    service_deaths_note()
    assert told() == [("service.down", "cmp-01")]
    service_force_down(host="cmp-01", forced_down=False)
    service_deaths_note()
    assert told()[1:] == [("service.up", "cmp-01")]


@pytest.mark.usefixtures("emitted")
def test_host_that_never_reported_has_not_died_and_one_that_was_removed_is_forgotten() -> None:
    fleet(2)
    Service.objects.filter(host="cmp-00").update(last_seen_up=None)
    silence("cmp-01")
    host_delete(host="cmp-01")
    assert service_deaths_note() == 0


@pytest.mark.usefixtures("emitted")
def test_conductor_that_is_killed_on_the_way_neither_loses_nor_doubles_it() -> None:
    fleet(1)
    silence()
    with pytest.raises(RuntimeError), transaction.atomic():
        service_deaths_note()
        raise RuntimeError
    assert (told(), Service.objects.get().down_noted_at) == ([], None)
    service_deaths_note()
    assert told() == [("service.down", "cmp-00")]


@pytest.mark.usefixtures("emitted")
def test_many_deaths_cost_as_many_statements_as_one() -> None:
    fleet(30)
    silence("cmp-00")
    counts = []
    for hosts in (("cmp-00",), tuple(f"cmp-{number:02}" for number in range(1, 30))):
        silence(*hosts)
        patterns_forget()  # known for two seconds otherwise, which may end between the two
        with CaptureQueriesContext(connection) as queries:
            assert service_deaths_note() == len(hosts)
        counts.append(len(queries))
    assert counts[1] == counts[0] < 12
    assert len(told()) == 30


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite in memory is one connection")
@pytest.mark.usefixtures("emitted")
def test_several_conductors_at_once_tell_of_each_once() -> None:
    hosts = fleet(20)
    silence()
    noted: list[int] = []

    def look() -> None:
        try:
            noted.append(service_deaths_note())
        finally:
            connection.close()

    threads = [threading.Thread(target=look) for _ in range(LOOKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    service_deaths_note()  # what somebody held at that moment is left to the next look
    assert sorted(told()) == [("service.down", host) for host in hosts]


def test_deaths_that_nobody_wants_to_be_told_of_are_not_told_later(notifying: Any) -> None:
    fleet(1)
    silence()
    assert service_deaths_note() == 1
    notifying(EVENTS=("service.down",))
    assert (service_deaths_note(), told()) == (0, [])


def test_conductors_look_by_themselves() -> None:
    task = PERIODIC_TASKS["hosts that are down"]
    assert (task.run, task.asks) == (service_deaths_note, "")
    assert task.every_s < scheduling_options().report_interval_s
