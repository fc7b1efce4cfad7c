"""The audit names groups whose rule is broken and hosts above a limit, with the numbers, and changes nothing."""

import pytest

from scheduling.policies.services.policies import policy_create
from servers.catalog.services.server_group import server_group_create
from servers.models import Instance, ServerGroup
from servers.repair.services.audit import Violation, audit_findings
from servers.repair.services.neighbour_audit import neighbour_faults
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def members_on(who: world.People, policy: str, *hosts: str) -> ServerGroup:
    """A group whose members stand wrong, as those of a time when no claim kept its rule."""
    group = server_group_create(caller=who.member, name=f"g-{policy}", policy=policy)
    for at, host in enumerate(hosts):
        made = world.active(who.member, f"{policy}-{at}")
        Instance.objects.filter(pk=made.pk).update(host=host)
        group.members.create(instance_uuid=made.pk)
    return group


def faults() -> list[Violation]:
    instances = list(Instance.objects.filter(deleted_at__isnull=True))
    return [Violation(*fault) for fault in neighbour_faults(instances)]


def test_groups_that_stand_wrong_are_named_with_their_hosts() -> None:
    who = world.cloud("h1", "h2")
    torn = members_on(who, "affinity", "h1", "h1", "h2")
    crowded = members_on(who, "anti-affinity", "h1", "h1")
    members_on(who, "soft-affinity", "h1", "h2")

    found = {one.subject: (one.invariant, one.message) for one in faults()}

    assert found == {
        str(torn.pk): (
            1,
            "is server group g-affinity of members that must be on one host, and has 2 on h1, 1 on h2",
        ),
        str(crowded.pk): (1, "is server group g-anti-affinity, and has 2 of at most 1 members on h1"),
    }
    assert found.keys() <= {one.subject for one in audit_findings()}
    members = next(one.evidence["members"] for one in faults() if one.subject == str(torn.pk))
    assert {host: len(there) for host, there in members.items()} == {"h1": 2, "h2": 1}


def test_groups_that_keep_their_rules_are_not_named() -> None:
    who = world.cloud("h1", "h2")
    members_on(who, "affinity", "h2", "h2")
    members_on(who, "anti-affinity", "h1", "h2")
    assert faults() == []


def test_legacy_group_is_judged_by_the_filter_of_the_policy() -> None:
    who = world.cloud("h1", "h2")
    group = members_on(who, "affinity", "h1", "h2")
    ServerGroup.objects.filter(pk=group.pk).update(policy="legacy")
    assert faults() == []
    policy_create(body={"filters": ["GroupAffinityFilter"]}, activate=True)
    assert [one.subject for one in faults()] == [str(group.pk)]
    policy_create(body={"filters": ["GroupAntiAffinityFilter"]}, activate=True)
    assert faults() == []


def test_hosts_above_a_limit_of_the_active_policy_are_named() -> None:
    who = world.cloud("h1", "h2")
    for name in ("a", "b", "c"):
        Instance.objects.filter(pk=world.active(who.member, name).pk).update(host="h1")
    assert faults() == []
    policy_create(body={"filters": ["NumInstancesFilter"], "options": {"max_instances_per_host": 3}}, activate=True)
    assert faults() == []

    policy_create(body={"filters": ["NumInstancesFilter"], "options": {"max_instances_per_host": 2}}, activate=True)

    (one,) = faults()
    assert (one.invariant, one.subject) == (1, "h1")
    assert one.message == "holds 3 of at most 2 instances by NumInstancesFilter"
    assert (one.evidence["has"], one.evidence["limit"]) == (3, 2)


def test_host_of_several_flavors_is_named_where_it_may_have_one() -> None:
    who = world.cloud("h1")
    world.active(who.member, "a")
    Instance.objects.filter(pk=world.active(who.member, "b").pk).update(flavor_id=who.member.project_id)
    assert faults() == []

    policy_create(body={"filters": ["TypeAffinityFilter"]}, activate=True)

    (one,) = faults()
    assert (one.subject, "TypeAffinityFilter allows one" in one.message) == ("h1", True)
