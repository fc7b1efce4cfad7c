"""What would make it fit, one rule at a time: the change that is told first, its kind and its size."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.kernel.reasons import RefusalReason
from scheduling.engine import GroupSnapshot, HostRow, ImageSnapshot, InventoryRow, Policy, PolicyOptions
from scheduling.whatif.domain.nearest_fit.change import ChangeKind, Trial
from scheduling.whatif.domain.nearest_fit.rules import rules_refusing
from scheduling.whatif.domain.nearest_fit.search import Fit, fits_anywhere, fits_on_host
from scheduling.whatif.domain.nearest_fit.weights import multipliers_to_win
from scheduling.whatif.domain.world import World
from tests.units.scheduling.answer_worlds import trial, world
from tests.units.scheduling.worlds import aggregate, flavor, group, host, policy, request

NEW = "new-0"


def findings(where: World, tried: Trial, name: str = "a", **more: Any) -> list[Fit]:
    return fits_on_host(where, tried, where.by_host[name], **more)


def sentences(fits: list[Fit], kind: ChangeKind | None = None) -> list[str]:
    return [fit.sentence for fit in fits if kind is None or fit.kinds == {kind}]


def on(row: HostRow, asked: dict[str, Any], *filters: str, **rules: Any) -> list[Fit]:
    return findings(world(row), trial(request(**asked), policy(*filters, **rules)))


@pytest.mark.parametrize(
    ("room", "less", "freed", "ratio"),
    [
        ({"vcpu": InventoryRow(16, 15)}, "ask for 1 vCPU instead of 2", "free 1 vCPU on a", "VCPU on a from 1 to 1.07"),
        (
            {"ram": InventoryRow(4096, 3072)},
            "ask for 1 GiB of memory instead of 2 GiB",
            "free 1 GiB of memory on a",
            "MEMORY_MB on a from 1 to 1.25",
        ),
        (
            {"disk": InventoryRow(100, 96)},
            "ask for 4 GiB of disk instead of 10 GiB",
            "free 6 GiB of disk on a",
            "DISK_GB on a from 1 to 1.06",
        ),
    ],
)
def test_room_is_made_by_asking_for_less_freeing_or_a_higher_ratio(
    room: dict[str, InventoryRow], less: str, freed: str, ratio: str
) -> None:
    fits = on(host("a", **room), {})
    assert less in sentences(fits, ChangeKind.REQUEST)
    assert set(sentences(fits, ChangeKind.FLEET)) == {freed, f"raise the allocation ratio of {ratio}"}


def test_override_in_the_flavor_is_lowered_where_it_stands() -> None:
    fits = on(host("a"), {"specs": {"resources:VCPU": "20"}})
    assert fits[-1].trial.policy == policy()
    changed = next(fit for fit in fits if fit.kinds == {ChangeKind.REQUEST}).trial.request.flavor
    assert changed.extra_specs == {"resources:VCPU": "16"}


def test_piece_that_is_too_large_is_made_smaller() -> None:
    row = host("a", vcpu=InventoryRow(16, allocation_ratio=4.0, max_unit=16, step_size=4))
    fits = on(row, {"flavor": flavor(vcpus=18)})
    assert sentences(fits) == ["ask for 16 vCPU instead of 18"]


def test_disabled_host_is_to_be_enabled() -> None:
    assert sentences(on(host("a", enabled=False), {}, "ComputeFilter")) == ["enable a"]


def test_down_host_is_to_be_brought_up_and_its_filter_stays_on() -> None:
    assert sentences(on(host("a", up=False), {}, "ComputeFilter")) == ["bring the compute service of a up"]


def test_wrong_zone_is_another_zone_or_a_move_of_the_host() -> None:
    zones = [aggregate("one", "a", availability_zone="az1"), aggregate("two", availability_zone="az2")]
    where = world(host("a"), aggregates=zones)
    fits = findings(where, trial(request(availability_zone="az2")))
    assert sentences(fits, ChangeKind.REQUEST) == ["ask for zone az1 instead of az2"]
    assert sentences(fits, ChangeKind.FLEET) == ["move a to zone az2 (aggregate two)"]
    busy = world(host("a", num_instances=1), aggregates=zones)
    assert sentences(findings(busy, trial(request(availability_zone="az2"))), ChangeKind.FLEET) == []


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"specs": {"trait:HW_X": "required"}}, "do not require the trait HW_X"),
        ({"required_traits": frozenset({"HW_X"})}, "do not require the trait HW_X"),
        ({"image": ImageSnapshot(properties={"trait:HW_X": "required"})}, "do not require the trait HW_X"),
        ({"specs": {"trait:HW_Y": "forbidden"}}, "do not forbid the trait HW_Y"),
    ],
)
def test_trait_is_dropped_wherever_it_was_asked_for(asked: dict[str, Any], sentence: str) -> None:
    assert sentences(on(host("a", traits=frozenset({"HW_Y"})), asked)) == [sentence]


@pytest.mark.parametrize(
    ("hints", "name"),
    [({"same_host": ("i1",)}, "SameHostFilter"), ({"different_host": ("i2",)}, "DifferentHostFilter")],
)
def test_hint_is_dropped_or_its_filter_is_off(hints: dict[str, tuple[str, ...]], name: str) -> None:
    row = host("a", instances=frozenset({"i2"}))
    fits = on(row, {"hints": hints}, name)
    assert sentences(fits, ChangeKind.REQUEST) == [f"drop the hint {next(iter(hints))}"]
    assert sentences(fits, ChangeKind.POLICY) == [f"switch the filter {name} off"]


@pytest.mark.parametrize(
    ("members", "name", "others"),
    [
        (group("affinity", hosts=("b",)), "ServerGroupAffinityFilter", []),
        (
            group("anti-affinity", members=("i2",)),
            "ServerGroupAntiAffinityFilter",
            ["use a server group with max_server_per_host 2 instead of 1"],
        ),
    ],
)
def test_group_is_left_or_changed_or_its_filter_is_off(members: GroupSnapshot, name: str, others: list[str]) -> None:
    where = world(host("a", instances=frozenset({"i2"})), host("b"))
    fits = findings(where, trial(request(group=members), policy(name)))
    assert sentences(fits, ChangeKind.REQUEST) == ["ask outside the server group group-1", *others]
    assert sentences(fits, ChangeKind.POLICY) == [f"switch the filter {name} off"]


@pytest.mark.parametrize(
    ("row", "name", "option"),
    [
        (host("a", num_instances=50), "NumInstancesFilter", "max_instances_per_host from 50 to 51"),
        (host("a", num_io_ops=9), "IoOpsFilter", "max_io_ops_per_host from 8 to 10"),
    ],
)
def test_limit_is_raised_just_enough(row: HostRow, name: str, option: str) -> None:
    fits = on(row, {}, name)
    assert sentences(fits, ChangeKind.POLICY) == [f"raise the policy's {option}", f"switch the filter {name} off"]


def test_extra_spec_about_aggregates_is_dropped() -> None:
    fits = on(host("a"), {"specs": {"ssd": "true"}}, "AggregateInstanceExtraSpecsFilter")
    assert sentences(fits, ChangeKind.REQUEST) == ["use a flavor without the extra spec ssd"]


def test_ignored_host_is_not_to_be_ignored() -> None:
    assert sentences(on(host("a"), {"ignore_hosts": ("a",)})) == ["name no hosts to ignore or force"]


def test_several_refusals_need_several_changes_and_sizes_add_up() -> None:
    fits = on(host("a", enabled=False, vcpu=InventoryRow(16, 15)), {}, "ComputeFilter")
    assert fits[0].size == pytest.approx(min(fit.size for fit in fits))
    assert fits[0].sentence == "enable a and raise the allocation ratio of VCPU on a from 1 to 1.07"
    assert fits[0].size == pytest.approx(1.07)


def test_smaller_flavor_on_offer_is_told_and_a_larger_one_is_not() -> None:
    small, large = flavor(id="s", name="small", vcpus=1), flavor(id="l", name="large", vcpus=9)
    where = world(host("a", vcpu=InventoryRow(16, 15)))
    fits = findings(where, trial(), offers=[large, small])
    assert "use the flavor small (1 vCPU, 2 GiB memory, 10 GiB disk)" in sentences(fits)
    assert not any("large" in sentence for sentence in sentences(fits))


def test_host_that_takes_it_needs_no_change() -> None:
    assert on(host("a"), {}) == []


def test_every_refusing_rule_is_told_and_room_by_class() -> None:
    row = host("a", enabled=False, vcpu=InventoryRow(16, 15), ram=InventoryRow(1024), num_instances=60)
    tried = trial(request(availability_zone="az9"), policy("ComputeFilter", "NumInstancesFilter"))
    where = world(row)
    reasons = [one.reason for one in rules_refusing(where, tried, where.rows[0])]
    assert reasons == [
        RefusalReason.DISABLED,
        RefusalReason.VCPU_SHORT,
        RefusalReason.RAM_SHORT,
        RefusalReason.DISABLED,
        RefusalReason.NUM_INSTANCES,
    ]


def test_host_without_refusal_has_no_refusing_rule() -> None:
    where = world(host("a"))
    assert rules_refusing(where, trial(), where.rows[0]) == []


def test_multiplier_makes_the_loser_win() -> None:
    where = world(host("a", num_io_ops=0, ram=InventoryRow(8192)), host("b", num_io_ops=5))
    rules = policy(weighers={"RAMWeigher": 2.0, "IoOpsWeigher": -1.0})
    fits = multipliers_to_win(where, trial(rules=rules), where.by_host["a"])
    assert [fit.steps[0].what for fit in fits] == ["multiplier", "multiplier"]
    assert fits[0].sentence.startswith("set the multiplier of RAMWeigher from 2 to ")
    assert fits[0].trace.selections[0].selected.host == "a"


def test_winner_needs_no_multiplier() -> None:
    where = world(host("a", ram=InventoryRow(8192)), host("b"))
    assert multipliers_to_win(where, trial(), where.by_host["b"]) == []


def test_batch_is_told_fewer_smaller_more_room_and_more_hosts() -> None:
    where = world(host("a"))
    asked = request(count=3, flavor=flavor(vcpus=6))
    fits = fits_anywhere(where, Trial(asked, policy()))
    assert set(sentences(fits)) >= {
        "ask for 2 instead of 3 instances",
        "ask for 5 vCPU instead of 6",
        "raise the allocation ratio of VCPU on a from 1 to 1.13",
        "add 1 host like a",
    }


def test_least_number_of_hosts_is_told() -> None:
    where = world(host("a", vcpu=InventoryRow(4, 4)))
    fits = fits_anywhere(where, Trial(request(count=5), policy()))
    assert "add 3 hosts like a" in sentences(fits)


def test_nothing_is_told_where_there_is_no_host() -> None:
    assert fits_anywhere(world(), Trial(request(), policy())) == []


def test_limits_of_a_policy_are_its_own() -> None:
    rules = replace(policy("NumInstancesFilter"), options=PolicyOptions(max_instances_per_host=1))
    fits = findings(world(host("a", num_instances=3)), Trial(request(), rules))
    changed = [fit.trial.policy for fit in fits if fit.steps[0].what == "max_instances_per_host"]
    assert [one.options.max_instances_per_host for one in changed] == [4]
    assert isinstance(changed[0], Policy)
