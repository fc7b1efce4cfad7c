import random

import numpy as np
import pytest

from scheduling.domain.hosts.host_state import HostState
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.domain.trace.weighing import Ranking, best_few, best_first
from scheduling.engine import DEFAULT_POLICY, HostRow, InventoryRow
from scheduling.engine.rank import Ranker
from scheduling.weighers.registry import weigher_get
from tests.units.scheduling.worlds import aggregate, chosen, every, host, policy, request, run, spec_of, table

SCORES = np.array([random.Random(3).choice((0.0, 1.0, 1.5, 2.0)) for _ in range(200)])


@pytest.mark.parametrize("count", [1, 2, 5, 24, 25, 26, 200, 300])
def test_few_best_are_the_head_of_the_whole_order(count: int) -> None:
    assert best_few(SCORES, count).tolist() == best_first(SCORES)[:count].tolist()


def test_order_by_scores_alone_has_no_head_of_its_own() -> None:
    assert Ranking(np.arange(200), SCORES).head().tolist() == []


def test_head_is_the_order_up_to_the_last_host_that_moved() -> None:
    order = best_first(SCORES)
    order[[0, 3]] = order[[3, 0]]
    assert Ranking(np.arange(200), SCORES, order).head().tolist() == order[:4].tolist()


def varied(count: int) -> list[HostRow]:
    rng = random.Random(5)
    return [
        host(
            f"h{at:02}",
            ram=InventoryRow(65536, used=rng.randrange(32768)),
            vcpu=InventoryRow(32, used=rng.randrange(8)),
            disk=InventoryRow(500, used=rng.randrange(99)),
            hypervisor_version=rng.randrange(3),
            failed_builds=rng.randrange(2),
        )
        for at in range(count)
    ]


def test_each_instance_of_a_batch_is_ranked_as_if_nothing_was_ranked_before() -> None:
    fleet = table(*varied(12), aggregates=(aggregate("fast", "h01", "h03", cpu_weight_multiplier="3.5"),))
    asked = request(5)
    trace = run(fleet, asked, DEFAULT_POLICY)
    weighers = [(weigher_get(each.name), each.multiplier) for each in DEFAULT_POLICY.weighers]
    for each, made in zip(trace.rounds, trace.selections, strict=True):
        alone = Ranker(weighers, DEFAULT_POLICY, random.Random(1)).rank(every(fleet), spec_of(asked))
        assert each.ranking is not None
        assert each.ranking.scores.tolist() == alone.scores.tolist()
        assert [one.raw.tolist() for one in each.ranking.weighers] == [one.raw.tolist() for one in alone.weighers]
        row = fleet.rows_of_hosts([made.selected.host])[0]
        amounts = {"VCPU": 2, "MEMORY_MB": 2048, "DISK_GB": 10}
        fleet = fleet.consume(row, flavor=asked.flavor, amounts=amounts, instance_uuid=made.instance_uuid)


def test_what_a_placement_leaves_as_it_is_is_weighed_once_in_a_batch() -> None:
    rounds = run(
        table(*varied(4)), request(2), policy(weighers={"HypervisorVersionWeigher": 1, "RAMWeigher": 1})
    ).rounds
    (version, ram), (version_again, ram_again) = (each.ranking.weighers for each in rounds if each.ranking)
    assert version_again is version
    assert ram_again is not ram


def test_host_that_is_full_after_some_of_the_batch_gets_no_more() -> None:
    fleet = table(host("big", ram=InventoryRow(32768)), host("small", ram=InventoryRow(2048)))
    trace = run(
        fleet, request(3), policy("NumInstancesFilter", options=DEFAULT_POLICY.options, weighers={"RAMWeigher": -1.0})
    )
    assert chosen(trace) == ["small", "big", "big"]


class Remembers:
    """Writes a limit on the first instance alone, and tells how many instances it saw on each host."""

    seen: list[tuple[int, str, int, dict[str, object]]] = []

    def host_passes(self, host_state: HostState, spec_obj: RequestSpecView) -> bool:
        self.seen.append((spec_obj.index, host_state.host, host_state.num_instances, dict(host_state.limits)))
        if not spec_obj.index:
            host_state.limits["mark"] = host_state.host
        return True


def test_per_host_filter_sees_what_the_batch_changed_and_limits_of_no_other_instance() -> None:
    Remembers.seen.clear()
    fleet = table(host("a"), host("b", ram=InventoryRow(16384)))
    trace = run(fleet, request(2), policy(f"{__name__}.Remembers"))
    assert [one.selected.limits for one in trace.selections] == [{"mark": "a"}, {}]
    assert [one for one in Remembers.seen if one[0] == 1] == [(1, "a", 1, {}), (1, "b", 0, {})]


def test_only_leaves_those_that_are_still_in_the_race() -> None:
    hosts = every(table(*(host(f"h{at}") for at in range(5)))).only(np.array([1, 3]))
    assert hosts.rows.tolist() == [1, 3]
    assert hosts.only(np.array([0, 3, 4])).rows.tolist() == [3]
