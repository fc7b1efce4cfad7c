"""Counts over the whole fleet."""

import pytest

from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.fleet.selectors.hosts import fleet_stats, hosts_schedulable_count
from scheduling.fleet.services.service_states import service_disable, service_force_down
from tests.services.scheduling.fleet.fleet_world import fleet, request

pytestmark = pytest.mark.django_db


def test_empty_fleet_counts_nothing() -> None:
    stats = fleet_stats()
    assert (stats.hosts, stats.up, stats.down, stats.disabled, stats.usage) == (0, 0, 0, 0, {})


def test_hosts_are_counted_by_state() -> None:
    fleet(4, running_guests=2)
    service_disable(host="cmp-00")
    service_force_down(host="cmp-01", forced_down=True)
    stats = fleet_stats()
    assert (stats.hosts, stats.up, stats.down, stats.disabled, stats.running_guests) == (4, 3, 1, 1, 8)
    assert hosts_schedulable_count() == 2


def test_usage_is_summed_over_hosts() -> None:
    fleet(2)
    destinations_select(request=request(2), inputs=scheduling_inputs())
    assert fleet_stats().usage["MEMORY_MB"] == {"total": 9216, "capacity": 8192, "used": 2048, "free": 6144}
