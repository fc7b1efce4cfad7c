"""Agents that begin long polls are alive at that moment: all written at once, none whose host is another's."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from controlplane.work.models import NamedLease
from scheduling.conf import scheduling_options
from scheduling.fleet.selectors.liveness import hosts_up
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


def up() -> set[str]:
    """Hosts that are up."""
    return hosts_up(IDS)


@pytest.mark.usefixtures("silent")
def test_all_are_written_in_few_statements() -> None:
    with CaptureQueriesContext(connection) as queries:
        agents_alive_write({("h1", IDS["h1"]): 0.0, ("h2", IDS["h2"]): 7.5})
    assert len(queries) == 3
    assert lately() == {"h1", "h2"}


@pytest.mark.usefixtures("silent")
def test_agent_whose_host_is_another_s_is_not_alive_for_it() -> None:
    agents_alive_write({("h1", IDS["h2"]): 0.0, ("h2", IDS["h2"]): 0.0, ("h9", IDS["h1"]): 0.0})
    assert lately() == {"h2"}


@pytest.mark.usefixtures("silent")
def test_what_is_written_is_when_it_asked_and_never_earlier_than_what_is_known() -> None:
    agents_alive_write({("h1", IDS["h1"]): 300.0, ("h2", IDS["h2"]): 0.0})
    agents_alive_write({("h2", IDS["h2"]): 300.0})
    h1, h2 = (Service.objects.get(host=host).last_seen_up for host in ("h1", "h2"))
    assert h1 is not None
    assert h2 is not None
    assert timedelta(seconds=290) < h2 - h1 <= timedelta(seconds=300)


@pytest.mark.usefixtures("silent")
def test_host_whose_agent_is_gone_is_down_after_the_documented_time_although_its_poll_is_open() -> None:
    down_s = scheduling_options().service_down_time_s
    now_s = [0.0]
    agents = ConnectedAgents(agents_alive_write, clock=lambda: now_s[0])
    agents.asks(("h1", IDS["h1"]))
    now_s[0] += 9.0
    agents.write()
    for seconds in range(9, 100, 10):  # its poll stays open, here or at a proxy, and nothing comes of it any more
        assert (up() == {"h1"}) == (seconds < down_s), f"after {seconds} s"
        now_s[0] += 10.0
        agents.write()
        Service.objects.update(last_seen_up=F("last_seen_up") - timedelta(seconds=10.0))
    agents.close()


@pytest.mark.usefixtures("silent")
def test_agents_that_could_not_be_written_are_written_with_the_moment_when_they_asked() -> None:
    now_s = [0.0]
    written: list[dict[tuple[str, str], float]] = []

    def write(agents: Mapping[tuple[str, str], float]) -> None:
        written.append(dict(agents))
        if len(written) == 1:
            raise OperationalError("the database is away")

    agents = ConnectedAgents(write, clock=lambda: now_s[0])
    agents.asks(("h1", "a"))
    agents.asks(("h2", "b"))
    agents.write()
    now_s[0] += 10.0
    agents.asks(("h2", "b"))
    agents.write()
    agents.write()
    agents.close()
    assert written == [{("h1", "a"): 0.0, ("h2", "b"): 0.0}, {("h1", "a"): 10.0, ("h2", "b"): 0.0}]


@pytest.mark.usefixtures("silent")
def test_connected_agents_are_written_each_interval(settings: Any) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "REPORT_INTERVAL_S": 0.1}
    written: list[set[tuple[str, str]]] = []

    def write(agents: Mapping[tuple[str, str], float]) -> None:
        written.append(set(agents))

    agents = ConnectedAgents(write)
    agents.asks(("h1", IDS["h1"]))
    eventually(lambda: len(written) == 1, "the agent is written down as alive")
    agents.asks(("h1", IDS["h1"]))
    eventually(lambda: len(written) == 2, "and again when it asks again")
    agents.close()
    assert written == [{("h1", IDS["h1"])}] * 2


@pytest.mark.parametrize(("down_s", "longest_s"), [(60.0, 20.0), (15.0, 5.0), (600.0, 60.0)])
def test_polls_end_well_before_a_silent_agent_is_down(settings: Any, down_s: float, longest_s: float) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "SERVICE_DOWN_TIME_S": down_s}
    assert connected.longest_poll_s() == longest_s < down_s / 2


@pytest.mark.parametrize(("interval_s", "down_s", "own_s"), [(10.0, 60.0, 30.0), (2.0, 60.0, 6.0), (10.0, 15.0, 10.0)])
def test_own_heartbeats_alone_keep_a_host_up(settings: Any, interval_s: float, down_s: float, own_s: float) -> None:
    settings.KILONOVA = {**settings.KILONOVA, "REPORT_INTERVAL_S": interval_s, "SERVICE_DOWN_TIME_S": down_s}
    assert connected.own_heartbeat_s() == own_s < down_s
