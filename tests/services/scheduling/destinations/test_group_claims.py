"""Rules of groups are kept by the claim itself: a member that the filter cannot see yet counts all the same."""

import uuid

import pytest

from controlplane.kernel.errors import NoCapacity
from placement.domain import MAX_INT, Claim, CountLimit
from placement.services import allocations_claim, allocations_free
from scheduling.decisions.selectors.decisions import decision_content
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import alternate_claim, destinations_select
from scheduling.destinations.services.selections import selection_from_json, selection_to_json
from scheduling.domain.request.schedule_request import GroupSnapshot
from scheduling.errors import NoValidHost
from scheduling.models import ComputeNode, SchedulingDecision
from scheduling.policies.services.policies import policy_create
from tests.services.scheduling.fleet.fleet_world import PROJECT, USER, fleet, request

pytestmark = pytest.mark.django_db

GROUP = GroupSnapshot(uuid=str(uuid.UUID(int=9)), policy="anti-affinity", rules={"max_server_per_host": 1})
KEY = f"group:{GROUP.uuid}"
AFFINE = GroupSnapshot(uuid=str(uuid.UUID(int=10)), policy="affinity")
OLD = GroupSnapshot(uuid=AFFINE.uuid, policy="legacy")
TOGETHER = f"together:{AFFINE.uuid}"


def member_on(node: uuid.UUID) -> uuid.UUID:
    """Another scheduler's claim for the same group: no instance of it is on the host yet."""
    consumer = uuid.uuid4()
    allocations_claim([Claim(consumer, PROJECT, USER, {node: {"VCPU": 1}}, limits=(CountLimit(node, KEY, 1),))])
    return consumer


def fellow_on(node: uuid.UUID, key: str = TOGETHER) -> uuid.UUID:
    """The same for a group whose members must be together."""
    consumer = uuid.uuid4()
    limit = CountLimit(node, key, MAX_INT, together=True)
    allocations_claim([Claim(consumer, PROJECT, USER, {node: {"VCPU": 1}}, limits=(limit,))])
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


def test_member_follows_the_first_of_its_group_that_nobody_can_see_yet() -> None:
    fleet(6)
    fellow_on(node_of("cmp-04"))

    found = destinations_select(request=request(group=AFFINE), inputs=scheduling_inputs())

    assert found.instances[0].selected.host == "cmp-04"
    losses = decision_content(decision=SchedulingDecision.objects.get(pk=found.decision_id)).lost_claims
    # Equal hosts are drawn by lot: it lost one claim, or none when it drew the right host.
    assert [(one["rule"], one["home"]) for one in losses] in ([("together", str(node_of("cmp-04")))], [])


def test_member_whose_group_has_a_full_host_has_no_valid_host_and_the_reasons_say_so() -> None:
    fleet(2)
    node = node_of("cmp-01")
    fellow_on(node)
    allocations_claim([Claim(uuid.uuid4(), PROJECT, USER, {node: {"MEMORY_MB": 4096}})])

    with pytest.raises(NoValidHost) as refused:
        destinations_select(request=request(group=AFFINE), inputs=scheduling_inputs())

    content = decision_content(decision=SchedulingDecision.objects.get(pk=refused.value.decision_id))
    assert [(one["host"], one["rule"]) for one in content.lost_claims] == [("cmp-00", "together")]
    assert f"is on provider {node}" in content.lost_claims[0]["sentence"]


def test_batch_of_an_affinity_group_is_claimed_on_one_host() -> None:
    fleet(4)

    found = destinations_select(request=request(3, group=AFFINE), inputs=scheduling_inputs())

    assert len({one.selected.host for one in found.instances}) == 1


def test_alternate_away_from_the_group_is_refused_until_the_others_are_gone() -> None:
    fleet(2)
    (one,) = destinations_select(request=request(group=AFFINE), inputs=scheduling_inputs()).instances
    allocations_free([one.instance_uuid])
    alternate = selection_from_json(selection_to_json(one.alternates[0]))
    rival = fellow_on(one.selected.compute_node_uuid)

    with pytest.raises(NoCapacity, match="which is on provider"):
        alternate_claim(instance_uuid=one.instance_uuid, selection=alternate, project_id=PROJECT, user_id=USER)
    allocations_free([rival])
    alternate_claim(instance_uuid=one.instance_uuid, selection=alternate, project_id=PROJECT, user_id=USER)


def test_legacy_group_is_what_the_filter_of_the_policy_makes_it() -> None:
    fleet(3)
    policy_create(body={"filters": ["GroupAffinityFilter"]}, activate=True)
    fellow_on(node_of("cmp-02"))
    found = destinations_select(request=request(group=OLD), inputs=scheduling_inputs())
    assert found.instances[0].selected.host == "cmp-02"

    policy_create(body={"filters": ["GroupAntiAffinityFilter"]}, activate=True)
    three = {
        destinations_select(request=request(group=OLD), inputs=scheduling_inputs()).instances[0].selected.host
        for _ in range(3)
    }
    assert three == {"cmp-00", "cmp-01", "cmp-02"}
    with pytest.raises(NoValidHost):
        destinations_select(request=request(group=OLD), inputs=scheduling_inputs())
