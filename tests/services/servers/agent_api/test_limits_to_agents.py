"""What filters wrote as limits of the chosen host reaches its agent with the work, for the first host and the next."""

import pytest

from computeagent.protocol.work import WorkKind
from scheduling.policies.services.policies import policy_create
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)

FILTERS = ["ComputeFilter", "RamFilter", "CoreFilter"]


def test_build_carries_the_limits_of_its_host() -> None:
    policy_create(body={"filters": FILTERS}, activate=True)
    made = world.create(world.cloud("h1").member)[0]
    world.pump()
    taken = world.order(world.instance_of(made.pk).host, WorkKind.BUILD)
    assert taken.limits.keys() == {"memory_mb", "vcpu"}
    assert taken.limits["vcpu"] >= taken.guest.vcpus
    assert taken.arguments == {}


def test_next_host_gets_its_own_limits() -> None:
    policy_create(body={"filters": FILTERS}, activate=True)
    made = world.create(world.cloud("h1", "h2").member)[0]
    world.pump()
    first = world.instance_of(made.pk).host
    world.fail_build(first)
    world.pump()
    second = world.instance_of(made.pk).host
    assert second != first
    assert world.order(second, WorkKind.BUILD).limits.keys() == {"memory_mb", "vcpu"}


def test_default_filters_set_no_limit() -> None:
    made = world.create(world.cloud("h1").member)[0]
    world.pump()
    assert world.order(world.instance_of(made.pk).host, WorkKind.BUILD).limits == {}
