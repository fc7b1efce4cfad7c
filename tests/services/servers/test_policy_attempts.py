"""How many hosts are tried for one instance is what the active policy says; the setting counts without one."""

import pytest

from scheduling.policies.selectors.policies import attempts_allowed
from scheduling.policies.services.policies import policy_create
from servers.instances.selectors.scheduling_facts import schedule_request
from servers.models import RequestSpec
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def test_policy_of_one_attempt_ends_at_the_first_failure() -> None:
    policy_create(body={"max_attempts": 1}, activate=True)
    made = world.create(world.cloud("h1", "h2").member)[0]
    world.pump()
    world.fail_build(world.instance_of(made.pk).host, message="disk full")
    world.pump()
    instance = world.instance_of(made.pk)
    assert (instance.vm_state, instance.attempts) == ("error", 1)


def test_policy_of_more_attempts_than_the_setting_goes_on() -> None:
    policy_create(body={"max_attempts": 4}, activate=True)
    made = world.create(world.cloud("h1", "h2", "h3", "h4").member)[0]
    world.pump()
    for _ in range(3):
        world.fail_build(world.instance_of(made.pk).host)
        world.pump()
    instance = world.instance_of(made.pk)
    assert (instance.vm_state, instance.attempts) == ("building", 4)


def test_as_many_alternates_are_asked_for_as_attempts_are_left() -> None:
    policy_create(body={"max_attempts": 6}, activate=True)
    made = world.create(world.cloud("h1").member)[0]
    asked = schedule_request(
        RequestSpec.objects.get(instance_uuid=made.pk), [made.pk], "req-1", attempts=attempts_allowed()
    )
    assert asked.num_alternates == 5
