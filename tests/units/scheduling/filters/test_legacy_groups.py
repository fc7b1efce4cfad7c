import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.filters.legacy_groups import GroupAffinityFilter, GroupAntiAffinityFilter
from tests.units.scheduling.worlds import chosen, group, host, policy, reasons, refused, request, run, table

FLEET = table(host("none"), host("one", instances=frozenset({"m1"})), host("two", instances=frozenset({"m2", "m3"})))
GROUP = group("legacy", hosts=("one", "two"), members=("m1", "m2", "m3"), max_server_per_host=5)


def test_legacy_affinity_stays_on_the_groups_hosts() -> None:
    assert reasons(GroupAffinityFilter(), FLEET, request(group=GROUP)) == {"none": RefusalReason.GROUP_AFFINITY}


def test_legacy_anti_affinity_leaves_the_groups_hosts_whatever_the_rule_says() -> None:
    found = refused(GroupAntiAffinityFilter(), FLEET, request(group=GROUP))
    assert {name: refusal.available for name, refusal in found.items()} == {"one": 1, "two": 2}
    assert found["one"].reason is RefusalReason.GROUP_ANTI_AFFINITY


@pytest.mark.parametrize("rule", [GroupAffinityFilter(), GroupAntiAffinityFilter()])
@pytest.mark.parametrize(
    "asked", [None, group("legacy"), group("affinity", hosts=("one",)), group("anti-affinity", hosts=("one",))]
)
def test_legacy_filters_pass_other_groups_and_those_without_hosts(rule: GroupAffinityFilter, asked: object) -> None:
    assert refused(rule, FLEET, request(group=asked)) == {}


def test_legacy_anti_affinity_spreads_a_batch() -> None:
    trace = run(table(host("a"), host("b")), request(2, group=group("legacy")), policy("GroupAntiAffinityFilter"))
    assert sorted(chosen(trace)) == ["a", "b"]


def test_legacy_affinity_keeps_a_batch_together() -> None:
    trace = run(table(host("a"), host("b")), request(2, group=group("legacy")), policy("GroupAffinityFilter"))
    assert len(set(chosen(trace))) == 1
