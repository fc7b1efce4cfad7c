"""Filters of old, from the request to the host: RetryFilter and the two for legacy groups."""

import pytest

from controlplane.kernel.errors import InvalidFields, QuotaExceeded
from scheduling.models import DecisionReason
from scheduling.policies.services.policies import policy_create
from servers.models import Instance, ServerGroup
from tests.worlds import cloud as world

pytestmark = pytest.mark.django_db(transaction=True)


def policy(*filters: str) -> None:
    policy_create(body={"filters": ["ComputeFilter", *filters]}, activate=True)


def failed_on_every_host(*hosts: str) -> Instance:
    """An instance that each of these hosts gave back."""
    made = world.create(world.cloud(*hosts).member)[0]
    for _ in hosts:
        world.pump()
        (busy,) = world.hosts_with_work()
        world.fail_build(busy)
    world.pump()
    return Instance.objects.get(pk=made.pk)


def test_host_that_failed_is_refused_by_the_retry_filter_with_its_own_reason() -> None:
    policy("RetryFilter")
    made = failed_on_every_host("h1", "h2")
    reasons = DecisionReason.objects.filter(decision=made.decision_id).values_list("stage", "reason", "hosts")
    assert list(reasons) == [("RetryFilter", "tried_before", 2)]


def test_host_that_failed_is_ignored_where_the_policy_has_no_retry_filter() -> None:
    made = failed_on_every_host("h1", "h2")
    reasons = DecisionReason.objects.filter(decision=made.decision_id).values_list("reason", "hosts")
    assert list(reasons) == [("ignored", 2)]


def test_next_host_is_taken_after_the_retry_filter_refused_the_first() -> None:
    policy("RetryFilter")
    made = world.create(world.cloud("h1", "h2").member)[0]
    world.pump()
    (first,) = world.hosts_with_work()
    Instance.objects.update(alternates=[])
    world.fail_build(first)
    world.pump()
    assert {first, world.instance_of(made.pk).host} == {"h1", "h2"}


def test_members_of_a_legacy_group_go_to_hosts_of_their_own() -> None:
    policy("GroupAntiAffinityFilter")
    who = world.cloud("h1", "h2", "h3")
    hosts = [world.active(who.member, f"vm{at}", hints={"group": "web"}).host for at in range(3)]
    assert sorted(hosts) == ["h1", "h2", "h3"]
    assert world.active(who.member, "one too many", hints={"group": "web"}).vm_state == "error"


def test_members_of_a_legacy_group_stay_together() -> None:
    policy("GroupAffinityFilter")
    who = world.cloud("h1", "h2", "h3")
    hosts = {world.active(who.member, f"vm{at}", hints={"group": "web"}).host for at in range(3)}
    assert len(hosts) == 1


def test_batch_of_a_legacy_group_is_spread() -> None:
    policy("GroupAntiAffinityFilter")
    who = world.cloud("h1", "h2")
    world.create(who.member, min_count=2, hints={"group": "web"})
    world.pump()
    assert sorted(Instance.objects.values_list("host", flat=True)) == ["h1", "h2"]


def test_legacy_group_is_the_projects_own() -> None:
    policy("GroupAntiAffinityFilter")
    who = world.cloud("h1")
    assert world.active(who.member, hints={"group": "web"}).host == "h1"
    assert world.active(who.stranger, hints={"group": "web"}).host == "h1"
    assert sorted(ServerGroup.objects.values_list("name", "policy")) == [("web", "legacy")] * 2


def test_group_that_no_filter_knows_by_name_is_refused() -> None:
    who = world.cloud("h1")
    with pytest.raises(InvalidFields) as refused:
        world.create(who.member, hints={"group": "web"})
    assert list(refused.value.errors) == ["hints"]
    assert not ServerGroup.objects.exists()


def test_id_of_no_group_is_not_taken_for_a_name() -> None:
    policy("GroupAntiAffinityFilter")
    who = world.cloud("h1")
    with pytest.raises(InvalidFields) as refused:
        world.create(who.member, hints={"group": "11111111-0000-4000-8000-000000000001"})
    assert list(refused.value.errors) == ["hints"]


@pytest.mark.parametrize("name", ["", " ", "a\x00b", "x" * 256])
def test_name_that_is_none_is_refused(name: str) -> None:
    policy("GroupAntiAffinityFilter")
    who = world.cloud("h1")
    with pytest.raises(InvalidFields) as refused:
        world.create(who.member, hints={"group": name})
    assert list(refused.value.errors) == ["hints"]


def test_legacy_groups_count_against_the_quota_of_groups(settings: object) -> None:
    policy("GroupAntiAffinityFilter")
    who = world.cloud("h1")
    settings.KILONOVA = {**settings.KILONOVA, "DEFAULT_QUOTA_SERVER_GROUPS": 1}  # type: ignore[attr-defined]
    world.create(who.member, hints={"group": "web"})
    with pytest.raises(QuotaExceeded):
        world.create(who.member, hints={"group": "db"})
