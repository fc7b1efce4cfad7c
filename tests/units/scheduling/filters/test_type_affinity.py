import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.filters.type_affinity import AggregateTypeAffinityFilter, TypeAffinityFilter
from tests.units.scheduling.worlds import aggregate, flavor, host, policy, reasons, refused, request, run, table

HOSTS = (
    host("empty"),
    host("same", flavor_ids=frozenset({"1"})),
    host("other", flavor_ids=frozenset({"2"})),
    host("mixed", flavor_ids=frozenset({"1", "2"})),
)


def test_host_may_hold_one_flavor_only() -> None:
    found = reasons(TypeAffinityFilter(), table(*HOSTS), request(flavor=flavor(id="1")))
    assert found == dict.fromkeys(("other", "mixed"), RefusalReason.OTHER_FLAVOR_ON_HOST)


def test_refusal_names_the_other_flavors() -> None:
    refusal = refused(TypeAffinityFilter(), table(*HOSTS), request(flavor=flavor(id="3")))["mixed"]
    assert (refusal.wanted, refusal.available) == ("3", "1, 2")


def test_instances_of_one_batch_go_together() -> None:
    trace = run(table(host("a")), request(3), policy("TypeAffinityFilter"))
    assert len(trace.selections) == 3


@pytest.mark.parametrize(
    ("name", "refused_hosts"),
    [("m1.small", {"large"}), ("m1.large", set()), ("m1.tiny", {"small", "large"}), ("m1", {"small", "large"})],
)
def test_aggregate_names_the_flavors_it_takes(name: str, refused_hosts: set[str]) -> None:
    fleet = table(
        host("small"),
        host("large"),
        host("any"),
        aggregates=(
            aggregate("s", "small", instance_type="m1.small, m1.medium"),
            aggregate("l", "small", "large", instance_type="m1.large"),
            aggregate("x", "any", disk="ssd"),
        ),
    )
    found = reasons(AggregateTypeAffinityFilter(), fleet, request(flavor=flavor(name=name)))
    assert found == dict.fromkeys(refused_hosts, RefusalReason.FLAVOR_NOT_ALLOWED)


def test_empty_list_of_an_aggregate_takes_no_flavor() -> None:
    fleet = table(host("a"), aggregates=(aggregate("x", "a", instance_type=""),))
    assert set(refused(AggregateTypeAffinityFilter(), fleet, request())) == {"a"}


def test_aggregates_are_asked_once_for_a_batch_and_hosts_every_time() -> None:
    assert AggregateTypeAffinityFilter.run_filter_once_per_request
    assert not TypeAffinityFilter.run_filter_once_per_request
