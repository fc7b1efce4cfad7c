"""Aggregates, zones, and Placement in step with them."""

import uuid

import pytest

from controlplane.kernel.errors import Conflict, Invalid, NotFound
from placement.selectors import provider_aggregates_by_uuid
from scheduling.errors import HostInUse, ZoneConflict
from scheduling.fleet.selectors.hosts import host_get
from scheduling.fleet.selectors.zones import zone_list, zone_of_host, zones_by_host
from scheduling.fleet.services.aggregates import (
    aggregate_create,
    aggregate_delete,
    aggregate_host_add,
    aggregate_host_remove,
    aggregate_update,
)
from scheduling.fleet.services.service_states import service_disable
from scheduling.models import Aggregate, AggregateHost, ComputeNode
from tests.services.scheduling.fleet.fleet_world import fleet

pytestmark = pytest.mark.django_db


def test_added_host_is_in_the_zone_and_in_placements_aggregate() -> None:
    fleet(2)
    made = aggregate_create(name="rack-1", availability_zone="az1")
    aggregate_host_add(aggregate_id=made.id, host="cmp-00")
    node = ComputeNode.objects.get(host="cmp-00").id
    assert (zone_of_host(host="cmp-00"), zone_of_host(host="cmp-01")) == ("az1", "nova")
    assert provider_aggregates_by_uuid() == {node: {made.id}}


def test_zones_of_some_hosts_are_those_of_all() -> None:
    """On PostgreSQL a statement of its own asks for some."""
    hosts = fleet(4)
    first = aggregate_create(name="rack-1", availability_zone="az1")
    second = aggregate_create(name="rack-2", availability_zone="az2")
    none = aggregate_create(name="fast")
    for made, host in ((first, "cmp-00"), (second, "cmp-01"), (none, "cmp-02"), (none, "cmp-00")):
        aggregate_host_add(aggregate_id=made.id, host=host)
    assert zones_by_host() == zones_by_host(hosts=hosts) == {"cmp-00": "az1", "cmp-01": "az2"}
    assert (zones_by_host(hosts=["cmp-01", "cmp-02", "x"]), zones_by_host(hosts=[])) == ({"cmp-01": "az2"}, {})


def test_removed_host_is_back_in_the_default_zone() -> None:
    fleet(1)
    made = aggregate_create(name="rack-1", availability_zone="az1")
    aggregate_host_add(aggregate_id=made.id, host="cmp-00")
    aggregate_host_remove(aggregate_id=made.id, host="cmp-00")
    assert (host_get(host="cmp-00").availability_zone, provider_aggregates_by_uuid()) == ("nova", {})


def test_host_in_a_second_zone_is_refused_with_both_names() -> None:
    fleet(1)
    first = aggregate_create(name="one", availability_zone="az1")
    second = aggregate_create(name="two", availability_zone="az2")
    aggregate_host_add(aggregate_id=first.id, host="cmp-00")
    with pytest.raises(ZoneConflict, match="in availability zone az1") as caught:
        aggregate_host_add(aggregate_id=second.id, host="cmp-00")
    assert (caught.value.extra["zone"], caught.value.extra["wanted_zone"]) == ("az1", "az2")
    assert not AggregateHost.objects.filter(aggregate=second).exists()


def test_host_may_be_in_two_aggregates_of_one_zone() -> None:
    fleet(1)
    for name in ("one", "two"):
        aggregate_host_add(aggregate_id=aggregate_create(name=name, availability_zone="az1").id, host="cmp-00")
    assert zone_of_host(host="cmp-00") == "az1"


def test_changed_zone_that_would_split_a_host_is_refused() -> None:
    fleet(1)
    first = aggregate_create(name="one", availability_zone="az1")
    second = aggregate_create(name="two")
    for aggregate in (first, second):
        aggregate_host_add(aggregate_id=aggregate.id, host="cmp-00")
    with pytest.raises(ZoneConflict):
        aggregate_update(aggregate_id=second.id, metadata={"availability_zone": "az2"})
    assert Aggregate.objects.get(pk=second.pk).metadata == {}


def test_metadata_is_merged_and_null_removes() -> None:
    made = aggregate_create(name="one", metadata={"ssd": "true", "gpu": "no"})
    assert aggregate_update(aggregate_id=made.id, metadata={"gpu": None, "a": "b"}).metadata == {
        "ssd": "true",
        "a": "b",
    }


def test_aggregate_with_hosts_is_not_deleted() -> None:
    fleet(1)
    made = aggregate_create(name="one")
    aggregate_host_add(aggregate_id=made.id, host="cmp-00")
    with pytest.raises(HostInUse):
        aggregate_delete(aggregate_id=made.id)


def test_unknown_host_is_refused() -> None:
    with pytest.raises(NotFound, match="no host ghost"):
        aggregate_host_add(aggregate_id=aggregate_create(name="one").id, host="ghost")


def test_host_added_twice_is_a_conflict() -> None:
    fleet(1)
    made = aggregate_create(name="one")
    aggregate_host_add(aggregate_id=made.id, host="cmp-00")
    with pytest.raises(Conflict):
        aggregate_host_add(aggregate_id=made.id, host="cmp-00")


@pytest.mark.parametrize("metadata", [{"availability_zone": "a:b"}, {"availability_zone": " "}, {"k": "v" * 256}])
def test_bad_metadata_is_refused(metadata: dict[str, str]) -> None:
    with pytest.raises(Invalid) as caught:
        aggregate_create(name="one", metadata=metadata)
    assert caught.value.field == "metadata"


def test_taken_name_is_a_conflict() -> None:
    aggregate_create(name="one")
    with pytest.raises(Conflict):
        aggregate_create(name="one")


def test_unknown_aggregate_is_not_found() -> None:
    with pytest.raises(NotFound):
        aggregate_delete(aggregate_id=uuid.uuid4())


def test_zone_whose_hosts_are_disabled_is_not_available() -> None:
    fleet(2)
    made = aggregate_create(name="one", availability_zone="az1")
    aggregate_host_add(aggregate_id=made.id, host="cmp-00")
    service_disable(host="cmp-00")
    zones = {zone.name: (zone.is_available, zone.hosts) for zone in zone_list()}
    assert zones == {"az1": (False, ("cmp-00",)), "nova": (True, ("cmp-01",))}


@pytest.mark.parametrize("zone", ["", " ", "a:b", " rack", "rack\t1", "z\x00"])
def test_zone_that_nobody_could_ask_for_is_not_made(zone: str) -> None:
    with pytest.raises(Invalid, match="A zone's name has"):
        aggregate_create(name="rack", availability_zone=zone)
