"""Anti-affinity is guarded by the claim itself: a member that the filter cannot see yet counts all the same."""

import uuid

import pytest

from controlplane.kernel.errors import NoCapacity
from placement.domain import Claim, CountLimit
from placement.services import allocations_claim, allocations_free
from scheduling.decisions.selectors.decisions import decision_content
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import alternate_claim, destinations_select
from scheduling.destinations.services.selections import selection_from_json, selection_to_json
from scheduling.domain.request.schedule_request import GroupSnapshot
from scheduling.errors import NoValidHost
from scheduling.models import ComputeNode, SchedulingDecision
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER, fleet, request

pytestmark = pytest.mark.django_db

GROUP = GroupSnapshot(uuid=str(uuid.UUID(int=9)), policy="anti-affinity", rules={"max_server_per_host": 1})
KEY = f"group:{GROUP.uuid}"


def member_on(node: uuid.UUID) -> uuid.UUID:
    """Another scheduler's claim for the same group: no instance of it is on the host yet."""
    consumer = uuid.uuid4()
    allocations_claim([Claim(consumer, PROJECT, USER, {node: {"VCPU": 1}}, limits=(CountLimit(node, KEY, 1),))])
    return consumer


def node_of(host: str) -> uuid.UUID:
    return ComputeNode.objects.get(host=host).pk


def test_host_that_another_scheduler_just_gave_to_the_group_is_passed_over_at_once() -> None:
    fleet(2)
    member_on(node_of("cmp-00"))

    found = destinations_select(request=request(group=GROUP), inputs=scheduling_inputs())

    assert found.instances[0].selected.host == "cmp-01"
    losses = decision_content(decision=SchedulingDecision.objects.get(pk=found.decision_id)).lost_claims
    # Equal hosts are drawn by lot: the full one lost once when it was drawn first, and never twice.
    assert [one["rule"] for one in losses] in (["count_limit"], [])


def test_group_without_a_free_host_has_no_valid_host() -> None:
    fleet(1)
    member_on(node_of("cmp-00"))

    with pytest.raises(NoValidHost):
        destinations_select(request=request(group=GROUP), inputs=scheduling_inputs())


def test_members_of_one_batch_go_to_different_hosts() -> None:
    fleet(2)

    found = destinations_select(request=request(2, group=GROUP), inputs=scheduling_inputs())

    assert {one.selected.host for one in found.instances} == {"cmp-00", "cmp-01"}


def test_alternate_that_got_a_member_meanwhile_is_refused_until_that_one_ends() -> None:
    fleet(2)
    (one,) = destinations_select(request=request(group=GROUP), inputs=scheduling_inputs()).instances
    allocations_free([one.instance_uuid])
    alternate = selection_from_json(selection_to_json(one.alternates[0]))
    rival = member_on(alternate.compute_node_uuid)

    with pytest.raises(NoCapacity, match="has 1 of 1"):
        alternate_claim(instance_uuid=one.instance_uuid, selection=alternate, project_id=PROJECT, user_id=USER)
    allocations_free([rival])
    alternate_claim(instance_uuid=one.instance_uuid, selection=alternate, project_id=PROJECT, user_id=USER)


def test_selection_kept_before_there_were_limits_can_be_read() -> None:
    fleet(1)
    stored = selection_to_json(destinations_select(request=request(), inputs=scheduling_inputs()).instances[0].selected)
    del stored["count_limits"]

    assert selection_from_json(stored).count_limits == {}
