"""The least number that a host's aggregates give is its limit; what is no number leaves the default."""

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.policy import PolicyOptions
from scheduling.filters.aggregate_numbers import finite
from scheduling.filters.base import Filter
from scheduling.filters.io_ops import AggregateIoOpsFilter, IoOpsFilter
from scheduling.filters.num_instances import AggregateNumInstancesFilter, NumInstancesFilter
from tests.units.scheduling.worlds import aggregate, every, host, policy, refused, request, run, spec_of, table

OPTIONS = PolicyOptions(max_instances_per_host=5, max_io_ops_per_host=5)
COUNTED = [
    (AggregateNumInstancesFilter(), "max_instances_per_host", "num_instances", RefusalReason.NUM_INSTANCES),
    (AggregateIoOpsFilter(), "max_io_ops_per_host", "num_io_ops", RefusalReason.IO_OPS),
]


def fleet(key: str, column: str, count: int, *values: str) -> HostTable:
    """One host that holds `count`, in an aggregate for each of `values`, beside one in no aggregate that holds none."""
    sets = tuple(aggregate(f"set-{at}", "a", **{key: value}) for at, value in enumerate(values))
    return table(host("a", **{column: count}), host("b"), aggregates=sets)


@pytest.mark.parametrize(("rule", "key", "column", "reason"), COUNTED)
@pytest.mark.parametrize(
    ("values", "limit"),
    [
        ((), 5),
        (("3",), 3),
        (("9",), 9),
        (("7", "3", "4"), 3),
        (("3", "many"), 5),
        (("3", "2.5"), 5),  # whole numbers only
        (("3,2",), 5),  # no list
        (("",), 5),
        (("0",), 0),
    ],
)
def test_least_of_the_aggregates_is_the_limit(
    rule: Filter, key: str, column: str, reason: RefusalReason, values: tuple[str, ...], limit: int
) -> None:
    below, at = fleet(key, column, limit - 1, *values), fleet(key, column, limit, *values)
    assert limit == 0 or "a" not in refused(rule, below, request(), OPTIONS)
    refusal = refused(rule, at, request(), OPTIONS)["a"]
    assert (refusal.reason, refusal.wanted, refusal.available) == (reason, limit, limit)


@pytest.mark.parametrize(("rule", "key", "column", "reason"), COUNTED)
def test_value_that_is_no_number_leaves_a_remark(rule: Filter, key: str, column: str, reason: RefusalReason) -> None:
    trace = run(fleet(key, column, 1, "many"), request(), policy(rule.name))
    assert trace.notes == (f"{key} of aggregate set-0 is no number that can be used: 'many'; the default counts",)


@pytest.mark.parametrize(("rule", "column"), [(NumInstancesFilter(), "num_instances"), (IoOpsFilter(), "num_io_ops")])
def test_plain_form_does_not_look_at_aggregates(rule: Filter, column: str) -> None:
    key = "max_instances_per_host" if column == "num_instances" else "max_io_ops_per_host"
    assert refused(rule, fleet(key, column, 4, "2"), request(), OPTIONS) == {}


def test_hosts_with_different_limits_each_name_their_own() -> None:
    snapshot = table(
        host("a", num_instances=9),
        host("b", num_instances=9),
        aggregates=(
            aggregate("x", "a", max_instances_per_host="3"),
            aggregate("y", "b", max_instances_per_host="4"),
        ),
    )
    found = refused(AggregateNumInstancesFilter(), snapshot, request())
    assert {name: refusal.wanted for name, refusal in found.items()} == {"a": 3, "b": 4}


@pytest.mark.parametrize("rule", [each[0] for each in COUNTED])
def test_instances_of_the_batch_count(rule: Filter) -> None:
    options = PolicyOptions(max_instances_per_host=1, max_io_ops_per_host=1)
    trace = run(table(host("a"), host("b")), request(2), policy(rule.name, options=options))
    assert {each.selected.host for each in trace.selections} == {"a", "b"}


@pytest.mark.parametrize("text", ["nan", "inf", "x", ""])
def test_only_finite_numbers_are_numbers(text: str) -> None:
    with pytest.raises(ValueError, match=r"finite|convert"):
        finite(text)


def test_no_hosts_left_is_no_problem() -> None:
    nobody = every(table(host("a"))).where(every(table(host("a"))).of(table(host("a")).num_instances) > 0)
    assert AggregateNumInstancesFilter().refusals(nobody, spec_of(request())) == []
