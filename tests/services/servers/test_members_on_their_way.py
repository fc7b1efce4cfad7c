"""A group's member that has a claim and no instance row yet counts as being where its claim is."""

import pytest

from placement.domain import Claim
from placement.services import allocations_claim
from scheduling.models import ComputeNode
from scheduling.policies.selectors.policies import attempts_allowed
from servers.instances.selectors.scheduling_facts import schedule_request
from servers.models import RequestSpec, ServerGroup
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def test_affinity_follows_a_member_that_is_only_claimed() -> None:
    who = world.cloud("h1", "h2", "h3")
    group = ServerGroup.objects.create(
        name="together", policy="affinity", project_id=who.member.project_id, user_id=who.member.user_id
    )
    first, second = (world.create(who.member, name, hints={"group": str(group.pk)})[0] for name in ("a", "b"))
    node = ComputeNode.objects.get(host="h2").pk
    allocations_claim([Claim(first.pk, who.member.project_id, who.member.user_id, {node: {"VCPU": 1}})])
    asked = schedule_request(
        RequestSpec.objects.get(instance_uuid=second.pk), [second.pk], "req-1", attempts=attempts_allowed()
    )
    assert asked.group is not None
    assert asked.group.hosts == ("h2",)


def test_own_claim_of_an_earlier_run_does_not_tie_the_instance_to_its_host() -> None:
    who = world.cloud("h1", "h2")
    group = ServerGroup.objects.create(
        name="together", policy="affinity", project_id=who.member.project_id, user_id=who.member.user_id
    )
    made = world.create(who.member, hints={"group": str(group.pk)})[0]
    node = ComputeNode.objects.get(host="h2").pk
    allocations_claim([Claim(made.pk, who.member.project_id, who.member.user_id, {node: {"VCPU": 1}})])
    asked = schedule_request(
        RequestSpec.objects.get(instance_uuid=made.pk), [made.pk], "req-1", attempts=attempts_allowed()
    )
    assert asked.group is not None
    assert asked.group.hosts == ()
