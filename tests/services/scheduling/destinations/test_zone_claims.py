"""The zone that an instance is scheduled into is its host's: whoever is faster, the claim or the change of the zone."""

import uuid
from collections.abc import Callable

import pytest

from controlplane.kernel.errors import NoCapacity
from placement.selectors import allocations_by_consumer
from placement.services import allocations_free
from scheduling.decisions.selectors.decisions import decision_content
from scheduling.destinations.selectors.inputs import SchedulingInputs, scheduling_inputs
from scheduling.destinations.services.select import alternate_claim, destinations_select
from scheduling.destinations.services.selections import selection_from_json, selection_to_json
from scheduling.errors import HostInUse, NoValidHost
from scheduling.fleet.cache.fleet_cache import fleet_cache
from scheduling.fleet.services.aggregates import aggregate_create_whole, aggregate_host_remove, aggregate_update
from scheduling.models import Aggregate, SchedulingDecision
from scheduling.policies.services.policies import policy_create
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER, fleet, request

pytestmark = pytest.mark.django_db(transaction=True)  # inside one the fleet is read anew at each look


def zoned(*hosts: str) -> uuid.UUID:
    return aggregate_create_whole(name="rack", metadata={"availability_zone": "az1"}, hosts=hosts).pk


def looked() -> SchedulingInputs:
    """A look at the fleet as it is now, by which a choice can go later."""
    inputs = scheduling_inputs(is_retry=False)
    with fleet_cache().refreshed(inputs.poll):
        return inputs


CHANGES: dict[str, tuple[Callable[[uuid.UUID], object], str]] = {
    "renamed": (lambda pk: aggregate_update(aggregate_id=pk, metadata={"availability_zone": "az2"}), "az2"),
    "host taken out": (lambda pk: aggregate_host_remove(aggregate_id=pk, host="cmp-00"), "nova"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_zone_with_a_claim_and_no_row_yet_is_kept(change: str) -> None:
    fleet(1)
    aggregate_id = zoned("cmp-00")
    found = destinations_select(request=request(), inputs=scheduling_inputs())
    assert found.instances[0].selected.availability_zone == "az1"

    with pytest.raises(HostInUse, match=r"1 host\(s\) with 1 instance\(s\)"):
        CHANGES[change][0](aggregate_id)
    allocations_free([found.instances[0].instance_uuid])
    CHANGES[change][0](aggregate_id)


@pytest.mark.parametrize("filters", [[], ["NumInstancesFilter"]], ids=["short claim", "claim with rules"])
@pytest.mark.parametrize("change", CHANGES)
def test_zone_that_changes_while_a_host_is_chosen_is_seen_by_the_claim(change: str, filters: list[str]) -> None:
    fleet(1)
    policy_create(body={"filters": filters}, activate=True)
    change_make, now = CHANGES[change]
    aggregate_id = zoned("cmp-00")
    inputs = looked()
    change_make(aggregate_id)

    found = destinations_select(request=request(), inputs=inputs)

    assert found.instances[0].selected.availability_zone == now
    content = decision_content(decision=SchedulingDecision.objects.get(pk=found.decision_id))
    lost = [(one["host"], one["rule"], one["reason"], one["wanted"], one["free"]) for one in content.lost_claims]
    assert lost == [("cmp-00", "zone", "wrong_zone", "az1", now)]


def test_request_for_the_zone_that_is_gone_finds_no_host_and_holds_nothing() -> None:
    fleet(1)
    aggregate_id = zoned("cmp-00")
    inputs = looked()
    CHANGES["renamed"][0](aggregate_id)

    with pytest.raises(NoValidHost):
        destinations_select(request=request(availability_zone="az1"), inputs=inputs)

    assert allocations_by_consumer() == {}


def test_alternate_that_has_left_its_zone_is_refused() -> None:
    fleet(2)
    aggregate_id = zoned("cmp-00", "cmp-01")
    (one,) = destinations_select(request=request(), inputs=scheduling_inputs()).instances
    allocations_free([one.instance_uuid])
    alternate = selection_from_json(selection_to_json(one.alternates[0]))
    CHANGES["renamed"][0](aggregate_id)

    with pytest.raises(NoCapacity, match="zone: wants az1, is in az2"):
        alternate_claim(instance_uuid=one.instance_uuid, selection=alternate, project_id=PROJECT, user_id=USER)

    assert allocations_by_consumer() == {}


def test_zone_of_the_policy_for_hosts_in_none_is_no_change() -> None:
    fleet(2)
    policy_create(body={"options": {"default_availability_zone": "east"}}, activate=True)
    (one,) = destinations_select(request=request(), inputs=scheduling_inputs()).instances
    assert (one.selected.availability_zone, Aggregate.objects.count()) == ("east", 0)
    allocations_free([one.instance_uuid])
    alternate_claim(instance_uuid=one.instance_uuid, selection=one.alternates[0], project_id=PROJECT, user_id=USER)
