"""An instance keeps the zone that it was made in: its host's zone does not change under it, by whatever door."""

from collections.abc import Callable
from uuid import UUID

import pytest

from scheduling.errors import HostInUse
from scheduling.fleet.selectors.zones import zone_of_host
from scheduling.fleet.services.aggregates import (
    aggregate_create_whole,
    aggregate_host_add,
    aggregate_host_remove,
    aggregate_save,
    aggregate_update,
)
from scheduling.models import Aggregate
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)
Change = Callable[[UUID], object]
ZONE = {"availability_zone": "az2"}

CHANGES: dict[str, Change] = {
    "renamed": lambda pk: aggregate_update(aggregate_id=pk, metadata=ZONE),
    "no zone any more": lambda pk: aggregate_update(aggregate_id=pk, metadata={"availability_zone": None}),
    "saved with another": lambda pk: aggregate_save(aggregate_id=pk, name="rack", metadata=ZONE),
    "saved without the host": lambda pk: aggregate_save(
        aggregate_id=pk, name="rack", metadata={"availability_zone": "az1"}, hosts_removed=["h1"]
    ),
    "host taken out": lambda pk: aggregate_host_remove(aggregate_id=pk, host="h1"),
}


def zoned() -> UUID:
    return aggregate_create_whole(name="rack", metadata={"availability_zone": "az1"}, hosts=["h1"]).pk


@pytest.mark.parametrize("name", CHANGES)
def test_zone_with_instances_is_kept_and_the_refusal_has_the_numbers(name: str) -> None:
    who = world.cloud("h1", "h2")
    aggregate_id = zoned()
    made = world.active(who.member, availability_zone="az1")
    with pytest.raises(HostInUse, match=r"1 host\(s\) with 1 instance\(s\)") as caught:
        CHANGES[name](aggregate_id)
    said = caught.value.extra
    assert (said["host"], said["instances"], said["zone"]) == ("h1", 1, "az1")
    assert (zone_of_host(host="h1"), made.availability_zone) == ("az1", "az1")
    assert Aggregate.objects.get(pk=aggregate_id).availability_zone == "az1"


@pytest.mark.parametrize("name", CHANGES)
def test_zone_without_instances_changes(name: str) -> None:
    world.cloud("h1", "h2")
    CHANGES[name](zoned())
    assert zone_of_host(host="h1") != "az1"


def test_host_of_the_default_zone_with_instances_is_moved_into_none() -> None:
    who = world.cloud("h1")
    world.active(who.member)
    with pytest.raises(HostInUse, match="h1 from nova to az1"):
        zoned()
    other = aggregate_create_whole(name="rack", metadata={"availability_zone": "az1"}).pk
    with pytest.raises(HostInUse):
        aggregate_host_add(aggregate_id=other, host="h1")
    assert zone_of_host(host="h1") == "nova"


def test_aggregates_that_change_no_zone_are_free() -> None:
    who = world.cloud("h1")
    aggregate_id = zoned()
    world.active(who.member, availability_zone="az1")
    aggregate_update(aggregate_id=aggregate_id, name="shelf", metadata={"ssd": "true"})
    second = aggregate_create_whole(name="second", metadata={"availability_zone": "az1"}, hosts=["h1"]).pk
    aggregate_host_remove(aggregate_id=aggregate_id, host="h1")
    third = aggregate_create_whole(name="third", metadata={"gpu": "yes"}, hosts=["h1"]).pk
    aggregate_host_remove(aggregate_id=third, host="h1")
    assert (zone_of_host(host="h1"), Aggregate.objects.get(pk=second).members.count()) == ("az1", 1)
