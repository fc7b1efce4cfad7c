"""The fleet by zone and resource, over the hosts that are up."""

import pytest

from placement.selectors import ResourceSum
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.fleet.selectors.hosts import hosts_schedulable_count
from scheduling.fleet.selectors.liveness import hosts_silent
from scheduling.fleet.selectors.zone_usage import FleetUsage, fleet_usage_by_zone
from scheduling.fleet.services.aggregates import aggregate_create, aggregate_host_add
from scheduling.fleet.services.service_states import service_disable, service_force_down
from tests.services.scheduling.fleet.fleet_world import fleet, request

pytestmark = pytest.mark.django_db


def usage() -> FleetUsage:
    return fleet_usage_by_zone(silent=hosts_silent())


def test_empty_fleet_has_no_zones() -> None:
    assert (usage().whole.hosts, usage().whole.usage, usage().zones) == (0, {}, ())


def test_a_host_that_is_down_is_counted_as_down_and_its_room_is_left_out() -> None:
    fleet(4)
    before = usage().whole.usage["MEMORY_MB"]
    service_disable(host="cmp-00")
    service_force_down(host="cmp-01", forced_down=True)
    whole = usage().whole
    assert (whole.hosts, whole.up, whole.down, whole.disabled) == (4, 3, 1, 1)
    assert whole.usage["MEMORY_MB"] == ResourceSum(before.total * 3 // 4, before.capacity * 3 // 4, 0)
    assert hosts_silent()["cmp-01"].is_forced_down
    assert hosts_schedulable_count() == 2


def test_hosts_in_no_zone_of_an_aggregate_are_in_the_default_one() -> None:
    fleet(3)
    zone = aggregate_create(name="one", metadata={"availability_zone": "az-1"})
    aggregate_host_add(aggregate_id=zone.pk, host="cmp-00")
    destinations_select(request=request(2), inputs=scheduling_inputs())
    found = usage()
    assert [(each.name, each.hosts) for each in found.zones] == [("az-1", 1), ("nova", 2)]
    by_zone = [each.usage["MEMORY_MB"] for each in found.zones]
    assert sum(each.used for each in by_zone) == found.whole.usage["MEMORY_MB"].used == 2048
    assert sum(each.capacity for each in by_zone) == found.whole.usage["MEMORY_MB"].capacity
    assert found.whole.usage["VCPU"].ratio > 1
