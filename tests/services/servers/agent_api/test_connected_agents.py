"""Agents whose long polls are open are alive: all written at once, none whose host is another's, none that left."""

from collections.abc import Iterable
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from controlplane.work.models import NamedLease
from scheduling.models import Service
from servers.agent_api.host_ownership import host_ownership_claim
from servers.agent_door import connected
from servers.agent_door.connected import ConnectedAgents, agents_alive_write
from tests.fixtures.patience import eventually
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
IDS = {name: f"00000000-0000-0000-0000-0000000000{number:02}" for number, name in enumerate(("h1", "h2", "h3"))}


@pytest.fixture
def silent() -> None:
    """Three hosts with their agents, all last heard an hour ago."""
    world.cloud("h1", "h2", "h3")
    for host, agent_id in IDS.items():
        host_ownership_claim(host=host, agent_id=agent_id, guests=())
    Service.objects.update(last_seen_up=F("last_seen_up") - timedelta(hours=1))
    NamedLease.objects.update(until=F("until") - timedelta(hours=1))


def lately() -> set[str]:
    """Hosts that were seen within the last minutes."""
    newest = max(Service.objects.values_list("last_seen_up", flat=True))
    rows = Service.objects.filter(last_seen_up__gt=newest - timedelta(minutes=5), report_count__gt=0)
    return set(rows.values_list("host", flat=True))


@pytest.mark.usefixtures("silent")
def test_all_are_written_in_few_statements() -> None:
    with CaptureQueriesContext(connection) as queries:
        agents_alive_write([("h1", IDS["h1"]), ("h2", IDS["h2"])])
    assert len(queries) == 3
    assert lately() == {"h1", "h2"}


@pytest.mark.usefixtures("silent")
def test_agent_whose_host_is_another_s_is_not_alive_for_it() -> None:
    agents_alive_write([("h1", IDS["h2"]), ("h2", IDS["h2"]), ("h9", IDS["h1"])])
    assert lately() == {"h2"}


def test_who_waits_is_connected_and_who_left_is_not() -> None:
    now_s = [100.0]
    agents = ConnectedAgents(lambda _: None, between_polls_s=5.0, clock=lambda: now_s[0])
    first: Future[Any] = Future()
    second: Future[Any] = Future()
    agents.waits(("h1", "a"), first)
    agents.waits(("h1", "a"), second)
    first.cancel()
    now_s[0] += 6
    assert agents.alive() == [("h1", "a")]
    second.set_result([])
    assert agents.alive() == [("h1", "a")]
    now_s[0] += 6
    assert agents.alive() == []
    agents.close()


@pytest.mark.usefixtures("silent")
def test_connected_agents_are_written_each_interval(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "REPORT_INTERVAL_S": 0.1}
    written: list[list[tuple[str, str]]] = []

    def write(agents: Iterable[tuple[str, str]]) -> None:
        written.append(list(agents))

    agents = ConnectedAgents(write)
    agents.waits(("h1", IDS["h1"]), Future())
    eventually(lambda: len(written) >= 2)
    agents.close()
    assert written[:2] == [[("h1", IDS["h1"])]] * 2


@pytest.mark.parametrize(("interval_s", "down_s", "own_s"), [(10.0, 60.0, 30.0), (2.0, 60.0, 6.0), (10.0, 15.0, 10.0)])
def test_own_heartbeats_alone_keep_a_host_up(settings: Any, interval_s: float, down_s: float, own_s: float) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "REPORT_INTERVAL_S": interval_s, "SERVICE_DOWN_TIME_S": down_s}
    assert connected.own_heartbeat_s() == own_s < down_s
