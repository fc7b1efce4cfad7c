"""What is told of a fit is true when it is run, and capacity is what successive runs really place."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.kernel.errors import Invalid
from scheduling.domain.request.schedule_request import Destination
from scheduling.domain.trace.trace import Outcome
from scheduling.engine import AggregateRow, FlavorSnapshot, HostRow, Policy, PolicyOptions, ScheduleRequest
from scheduling.whatif.domain.capacity import capacity
from scheduling.whatif.domain.edits import world_edited
from scheduling.whatif.domain.nearest_fit.change import Trial
from scheduling.whatif.domain.nearest_fit.search import fits_anywhere, fits_on_host
from scheduling.whatif.domain.nearest_fit.weights import multipliers_to_win
from scheduling.whatif.domain.world import World, world_run
from tests.properties.scheduling.fleets import AGGREGATES, FLAVORS, host_rows, requests
from tests.units.scheduling.answer_worlds import world

RULES = Policy(
    filters=(
        "ComputeFilter",
        "NumInstancesFilter",
        "IoOpsFilter",
        "AggregateInstanceExtraSpecsFilter",
        "AggregateMultiTenancyIsolation",
        "SameHostFilter",
        "DifferentHostFilter",
        "ServerGroupAntiAffinityFilter",
        "ServerGroupAffinityFilter",
    ),
    options=PolicyOptions(max_instances_per_host=14),
)
OFFERS = st.lists(FLAVORS, max_size=3).map(lambda each: [replace(one, id=f"o{at}") for at, one in enumerate(each)])


def is_contradiction(where: World, asked: ScheduleRequest) -> bool:
    try:
        world_run(where, asked, RULES)
    except Invalid:
        return True
    return False


@settings(max_examples=25, deadline=None)
@given(rows=host_rows(), aggregates=AGGREGATES, asked=requests(), offers=OFFERS)
def test_every_told_change_makes_the_batch_fit_when_it_is_run(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, offers: list[FlavorSnapshot]
) -> None:
    where = world(*rows, aggregates=aggregates)
    if is_contradiction(where, asked):
        return
    fits = fits_anywhere(where, Trial(asked, RULES), offers)
    sizes = [fit.size for fit in fits]
    assert sizes == sorted(sizes)
    for fit in fits:
        then = fit.trial
        trace = world_run(world_edited(where, then.edits), then.request, then.policy, seed=7)
        assert trace.outcome is Outcome.SELECTED, fit.sentence


@settings(max_examples=25, deadline=None)
@given(rows=host_rows(), aggregates=AGGREGATES, asked=requests(), offers=OFFERS, at=st.integers(0, 7))
def test_every_told_change_makes_the_host_take_one_when_it_is_run(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, offers: list[FlavorSnapshot], at: int
) -> None:
    where = world(*rows, aggregates=aggregates)
    if is_contradiction(where, asked):
        return
    row = where.rows[at % len(where.rows)]
    for fit in fits_on_host(where, Trial(asked, RULES), row, offers):
        then = fit.trial
        aimed = replace(
            then.request,
            instance_uuids=("x",),
            min_count=None,
            requested_destination=Destination(row.host, row.nodename),
        )
        trace = world_run(world_edited(where, then.edits), aimed, then.policy, seed=7)
        assert [one.selected.host for one in trace.selections] == [row.host], fit.sentence


@settings(max_examples=25, deadline=None)
@given(rows=host_rows(), aggregates=AGGREGATES, asked=requests(), at=st.integers(0, 7))
def test_every_told_multiplier_makes_the_host_win_when_it_is_run(
    rows: list[HostRow], aggregates: list[AggregateRow], asked: ScheduleRequest, at: int
) -> None:
    where = world(*rows, aggregates=aggregates)
    if is_contradiction(where, asked):
        return
    row = where.rows[at % len(where.rows)]
    for fit in multipliers_to_win(where, Trial(asked, RULES), row):
        one = replace(asked, instance_uuids=("x",), min_count=None)
        trace = world_run(where, one, fit.trial.policy, seed=7)
        assert [each.selected.host for each in trace.selections] == [row.host], fit.sentence


@settings(max_examples=25, deadline=None)
@given(rows=host_rows(), aggregates=AGGREGATES, flavor=FLAVORS, project=st.sampled_from(["p1", "p3"]))
def test_capacity_is_what_successive_runs_place(
    rows: list[HostRow], aggregates: list[AggregateRow], flavor: FlavorSnapshot, project: str
) -> None:
    flavor = replace(flavor, memory_mib=max(flavor.memory_mib, 256))
    asked = ScheduleRequest("r", project, "u", ("one",), flavor)
    where = world(*rows, aggregates=aggregates)
    if is_contradiction(where, asked):
        return
    room = capacity(where, asked, RULES)
    batch = replace(asked, instance_uuids=tuple(f"i{at}" for at in range(room.total.count + 3)), min_count=1)
    placed = world_run(where, batch, RULES).selections
    by_zone = Counter(one.selected.availability_zone for one in placed)
    assert len(placed) == room.total.count
    assert {zone: one.count for zone, one in room.zones.items() if one.count} == dict(by_zone)
