"""Batches over random trees and pools: what Placement's search allows is placed, what it does not is refused."""

from collections import Counter
from dataclasses import replace
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from placement.candidates import ProviderFacts, candidates_find, columns_of
from scheduling.domain.request.candidate_query import candidate_query
from scheduling.domain.request.resources import resource_request
from scheduling.engine import Outcome, ScheduleRequest
from tests.units.scheduling.placement_worlds import POOL, child, pool, root, schedule_on, usage
from tests.units.scheduling.worlds import flavor, request

World = tuple[tuple[ProviderFacts, ...], tuple[ProviderFacts, ...]]
SPECS = [
    {},
    {"resources1:VGPU": "1"},
    {"resources1:VGPU": "1", "trait1:CUSTOM_A": "required"},
    {"resources1:VGPU": "1", "resources2:VGPU": "1", "group_policy": "isolate"},
    {"resources1:VGPU": "1", "resources2:VGPU": "2", "group_policy": "none"},
    {"resources:VGPU": "1", "trait:CUSTOM_A": "required"},
]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Up to four compute nodes, each with up to three devices, some of them on a pool of disk."""
    roots, others = [], []
    for number in range(1, draw(st.integers(1, 4)) + 1):
        is_pooled = draw(st.booleans())
        disk = {} if is_pooled and draw(st.booleans()) else {"DISK_GB": usage(20, draw(st.integers(0, 20)))}
        room = {"VCPU": usage(4, draw(st.integers(0, 4))), "MEMORY_MB": usage(8192), **disk}
        made = root(number, aggregates=(POOL,) if is_pooled else (), traits=draw(traits()), **room)
        roots.append(made)
        for at in range(draw(st.integers(0, 3))):
            total = draw(st.integers(1, 3))
            vgpu = usage(total, draw(st.integers(0, total)))
            others.append(child(100 * number + at, made, traits=draw(traits()), VGPU=vgpu))
    if draw(st.booleans()):
        others.append(pool(9000, DISK_GB=draw(st.integers(1, 40))))
    return tuple(roots), tuple(others)


def traits() -> st.SearchStrategy[tuple[str, ...]]:
    return st.sampled_from([(), ("CUSTOM_A",)])


@st.composite
def batches(draw: st.DrawFn) -> ScheduleRequest:
    """One to four instances; as many as find a host will do."""
    asked = request(draw(st.integers(1, 4)), specs=draw(st.sampled_from(SPECS)), min_count=1, num_alternates=1)
    return replace(asked, flavor=flavor(vcpus=1, root_gib=10, extra_specs=asked.flavor.extra_specs))


def claimed(asked: ScheduleRequest, world: World) -> list[dict[UUID, dict[str, int]]]:
    """What each placed instance would claim."""
    trace = schedule_on(asked, *_spread(world))
    return [
        {UUID(provider): classes for provider, classes in each.selected.allocations.items()}
        or {UUID(each.selected.compute_node_uuid): dict(trace.resources)}
        for each in trace.selections
    ]


def _spread(world: World) -> tuple[tuple[ProviderFacts, ...], ...]:
    roots, others = world
    return (roots, *others)  # type: ignore[return-value]


def candidates_of(asked: ScheduleRequest, providers: list[ProviderFacts]) -> set[frozenset[tuple[UUID, str, int]]]:
    """All that the search offers, each as {(provider, class, amount)}."""
    query = candidate_query(asked, resource_request(asked))
    answer = candidates_find(columns_of(providers), query)
    return {_parts(one.allocations) for one in answer.candidates}


def _parts(allocations: object) -> frozenset[tuple[UUID, str, int]]:
    return frozenset(
        (provider, name, amount)
        for provider, classes in dict(allocations).items()  # type: ignore[call-overload]
        for name, amount in classes.items()
    )


def with_taken(providers: list[ProviderFacts], taken: Counter[tuple[UUID, str]]) -> list[ProviderFacts]:
    """The same providers with more in use."""
    return [
        replace(
            one,
            inventories={
                name: replace(each, used=each.used + taken[one.uuid, name]) for name, each in one.inventories.items()
            },
        )
        for one in providers
    ]


@given(world=worlds(), asked=batches())
def test_each_instance_of_a_batch_gets_what_the_search_offers_after_the_ones_before_it(
    world: World, asked: ScheduleRequest
) -> None:
    providers = [*world[0], *world[1]]
    taken: Counter[tuple[UUID, str]] = Counter()
    got = claimed(asked, world)
    for allocations in got:
        assert _parts(allocations) in candidates_of(asked, with_taken(providers, taken))
        for provider, classes in allocations.items():
            taken.update({(provider, name): amount for name, amount in classes.items()})
    if len(got) < len(asked.instance_uuids):
        left = candidates_of(asked, with_taken(providers, taken))
        # A device may be in use by others, yet never is a host left out that the search still offers.
        assert not left


@given(world=worlds(), asked=batches())
def test_every_host_without_a_candidate_is_refused_by_the_placement_stage(world: World, asked: ScheduleRequest) -> None:
    roots = world[0]
    offered = {provider for one in candidates_of(asked, [*roots, *world[1]]) for provider, _, _ in one}
    trace = schedule_on(replace(asked, instance_uuids=asked.instance_uuids[:1]), *_spread(world))
    refused = {UUID(int=int(trace.hosts[row].removeprefix("host-"))): one for row, one in trace.refusals()}
    assert set(refused) == {one.uuid for one in roots} - offered
    assert {one.stage for one in refused.values()} <= {"placement"}
    assert (trace.outcome is Outcome.SELECTED) == bool(offered & {one.uuid for one in roots})
