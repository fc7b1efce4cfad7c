"""The late check of a group's rule: of those that race, whoever came first stays, and nobody approves each other."""

import pytest

from servers.agent_api.group_check import group_refusal
from servers.catalog.services.server_group import server_group_create
from servers.models import Instance
from servers.states import VmState
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def members_on(policy: str, *hosts: str) -> list[Instance]:
    """Members of one group in the order in which they were asked for, all being built, on these hosts."""
    who = world.cloud("h1", "h2", "h3", "h4")
    group = server_group_create(caller=who.member, name="g", policy=policy)
    # The claims would keep the rule; so members join it when they are there.
    made = [world.create(who.member, f"vm{at}")[0] for at in range(len(hosts))]
    world.pump()
    for one, host in zip(made, hosts, strict=True):
        Instance.objects.filter(pk=one.pk).update(host=host)
        group.members.create(instance_uuid=one.pk)
    return [Instance.objects.get(pk=one.pk) for one in made]


def approved(members: list[Instance]) -> list[bool]:
    return [not group_refusal(one) for one in members]


def test_two_pairs_on_two_hosts_do_not_approve_each_other() -> None:
    assert approved(members_on("affinity", "h1", "h2", "h2", "h1")) == [True, False, False, True]


def test_of_two_that_race_into_an_affinity_group_one_stays() -> None:
    first, second = members_on("affinity", "h1", "h2")

    assert approved([second, first]) == [False, True]
    assert "1 members of group g came before" in group_refusal(second)


def test_of_two_that_race_to_one_host_of_an_anti_affinity_group_one_stays() -> None:
    first, second = members_on("anti-affinity", "h1", "h1")

    assert approved([second, first]) == [False, True]
    assert "1 of at most 1 members of group g are on this host" in group_refusal(second)


@pytest.mark.parametrize(("policy", "host"), [("affinity", "h2"), ("anti-affinity", "h1")])
def test_who_is_built_came_before_whoever_was_asked_for_earlier(policy: str, host: str) -> None:
    early, built = members_on(policy, "h1", host)
    Instance.objects.filter(pk=built.pk).update(vm_state=VmState.ACTIVE)

    assert approved([early, built]) == [False, True]
