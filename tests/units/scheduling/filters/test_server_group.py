import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.filters.server_group import ServerGroupAffinityFilter, ServerGroupAntiAffinityFilter
from tests.units.scheduling.worlds import group, host, reasons, refused, request, table

FLEET = table(
    host("none"), host("one", instances=frozenset({"m1", "x"})), host("two", instances=frozenset({"m2", "m3"}))
)
MEMBERS = ("m1", "m2", "m3")


@pytest.mark.parametrize(
    ("maximum", "refused_hosts"), [(None, {"one", "two"}), (1, {"one", "two"}), (2, {"two"}), (3, set())]
)
def test_anti_affinity_counts_members_on_the_host(maximum: int | None, refused_hosts: set[str]) -> None:
    rules = {} if maximum is None else {"max_server_per_host": maximum}
    asked = request(group=group("anti-affinity", members=MEMBERS, **rules))
    assert set(refused(ServerGroupAntiAffinityFilter(), FLEET, asked)) == refused_hosts


def test_anti_affinity_lets_an_instance_stay_where_it_is() -> None:
    asked = request(instance_uuids=("m2",), group=group("anti-affinity", members=MEMBERS))
    assert reasons(ServerGroupAntiAffinityFilter(), FLEET, asked) == {"one": RefusalReason.GROUP_ANTI_AFFINITY}


@pytest.mark.parametrize("policy", ["affinity", "soft-anti-affinity"])
def test_anti_affinity_ignores_other_policies(policy: str) -> None:
    assert refused(ServerGroupAntiAffinityFilter(), FLEET, request(group=group(policy, members=MEMBERS))) == {}


def test_anti_affinity_says_how_many_are_there() -> None:
    asked = request(group=group("anti-affinity", members=MEMBERS))
    refusal = refused(ServerGroupAntiAffinityFilter(), FLEET, asked)["two"]
    assert (refusal.available, refusal.wanted) == (2, 1)


def test_affinity_stays_on_the_groups_hosts() -> None:
    asked = request(group=group("affinity", hosts=("two", "one")))
    assert reasons(ServerGroupAffinityFilter(), FLEET, asked) == {"none": RefusalReason.GROUP_AFFINITY}


def test_affinity_of_a_group_without_hosts_passes_everywhere() -> None:
    assert refused(ServerGroupAffinityFilter(), FLEET, request(group=group("affinity"))) == {}


def test_affinity_ignores_other_policies() -> None:
    asked = request(group=group("soft-affinity", hosts=("one",)))
    assert refused(ServerGroupAffinityFilter(), FLEET, asked) == {}


def test_no_group_passes() -> None:
    assert refused(ServerGroupAffinityFilter(), FLEET, request()) == {}
    assert refused(ServerGroupAntiAffinityFilter(), FLEET, request()) == {}
