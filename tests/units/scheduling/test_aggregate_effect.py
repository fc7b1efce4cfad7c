"""The effect of a changed aggregate: who moves between zones, who would be in two, and what reads its metadata."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from scheduling.domain.policy import DEFAULT_POLICY, Policy, PolicyOptions
from scheduling.fleet.domain.aggregate_keys import KNOWN_KEYS, readers_of
from scheduling.whatif.domain.aggregate_effect import AggregateDraft, AggregateNow, effect_of

HOSTS = ["h1", "h2", "h3", "h10"]
ZONES = st.sampled_from([None, "az1", "az2"])


def now(*hosts: str, zone: str | None = None, elsewhere: Mapping[str, tuple[str, str]] | None = None) -> AggregateNow:
    return AggregateNow({"availability_zone": zone} if zone else {}, frozenset(hosts), elsewhere or {})


def draft(zone: str | None = None, added: tuple[str, ...] = (), removed: tuple[str, ...] = ()) -> AggregateDraft:
    return AggregateDraft("rack", {"availability_zone": zone} if zone else {}, added, removed)


def test_hosts_that_come_in_leave_the_default_zone() -> None:
    effect = effect_of(now("h1", zone="az1"), draft("az1", ("h10", "h2")), DEFAULT_POLICY)

    assert [(one.before, one.after, one.hosts) for one in effect.moves] == [("nova", "az1", ("h2", "h10"))]
    assert (effect.added, effect.members) == (("h2", "h10"), 3)


def test_a_changed_zone_moves_those_that_stay_and_lets_go_those_that_leave() -> None:
    effect = effect_of(now("h1", "h2", zone="az1"), draft("az2", (), ("h2",)), DEFAULT_POLICY)

    assert {(one.before, one.after): one.hosts for one in effect.moves} == {
        ("az1", "az2"): ("h1",),
        ("az1", "nova"): ("h2",),
    }


def test_a_host_of_another_zone_clashes_and_does_not_count_as_moved() -> None:
    effect = effect_of(now(elsewhere={"h1": ("other", "az2")}), draft("az1", ("h1", "h2")), DEFAULT_POLICY)

    assert [(one.host, one.aggregate, one.zone) for one in effect.clashes] == [("h1", "other", "az2")]
    assert effect.hosts_moved == ("h2",)


def test_an_aggregate_without_a_zone_moves_nobody() -> None:
    effect = effect_of(now(elsewhere={"h1": ("other", "az2")}), draft(None, ("h1", "h2")), DEFAULT_POLICY)

    assert (effect.moves, effect.clashes) == ((), ())


@given(st.sets(st.sampled_from(HOSTS)), st.sets(st.sampled_from(HOSTS)), st.sets(st.sampled_from(HOSTS)), ZONES, ZONES)
def test_undoing_a_change_moves_the_same_hosts_back(
    members: set[str], added: set[str], removed: set[str], old: str | None, new: str | None
) -> None:
    removed -= added
    effect = effect_of(now(*members, zone=old), draft(new, tuple(added), tuple(removed)), DEFAULT_POLICY)
    then = now(*((members | added) - removed), zone=new)
    back = effect_of(then, draft(old, effect.removed, effect.added), DEFAULT_POLICY)

    assert {(one.after, one.before): one.hosts for one in back.moves} == {
        (one.before, one.after): one.hosts for one in effect.moves
    }
    assert back.members == len(members)


def test_metadata_says_what_is_new_gone_and_changed() -> None:
    before = AggregateNow({"ssd": "true", "gone": "1", "same": "1"}, frozenset(), {})
    after = AggregateDraft("rack", {"ssd": "false", "same": "1", "fresh": "1"})

    effect = effect_of(before, after, DEFAULT_POLICY)

    assert {one.key: one.change for one in effect.metadata} == {
        "fresh": "new",
        "gone": "gone",
        "same": "as it is",
        "ssd": "changed",
    }


def test_readers_are_on_as_the_policy_has_them() -> None:
    def on(key: str, value: str, policy: Policy = DEFAULT_POLICY) -> set[str]:
        return {one.name for one in readers_of(key, value, policy) if one.is_on}

    isolating = Policy(options=PolicyOptions(enable_isolated_aggregate_filtering=True))
    extra = "AggregateInstanceExtraSpecsFilter"
    assert on("filter_tenant_id", "abc") == {"AggregateMultiTenancyIsolation", extra}
    assert on("cpu_allocation_ratio", "4") == {extra}
    assert on("cpu_allocation_ratio", "4", Policy(filters=("AggregateCoreFilter",))) == {"AggregateCoreFilter"}
    assert on("ram_weight_multiplier", "-1") == {"RAMWeigher", extra}
    assert on("trait:CUSTOM_GPU", "required", isolating) == {"isolate_aggregates", extra}
    assert on("trait:CUSTOM_GPU", "required") == {extra}
    assert on("availability_zone", "az1") == {"map_az_to_placement_aggregate"}


def test_each_known_key_has_a_reader_of_its_own() -> None:
    assert [key for key in KNOWN_KEYS if len(readers_of(key, "1", DEFAULT_POLICY)) < 2] == []
