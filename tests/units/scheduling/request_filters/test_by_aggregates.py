import pytest

from controlplane.kernel.errors import Invalid
from scheduling.domain.policy import PolicyOptions
from scheduling.domain.request.schedule_request import RequestedNetwork
from scheduling.engine import AggregateRow, FlavorSnapshot
from scheduling.request_filters import Addition, Surroundings
from scheduling.request_filters.by_aggregates import (
    isolate_aggregates,
    map_az_to_placement_aggregate,
    require_tenant_aggregate,
    routed_networks_filter,
)
from tests.units.scheduling.worlds import aggregate, request

NOTHING = Addition()
MINE = aggregate("mine", "a", filter_tenant_id="project-1")
ALSO_MINE = aggregate("also", "b", filter_tenant_id_2="project-1")
LISTED = aggregate("listed", "c", filter_tenant_id="project-1,project-2")
THEIRS = aggregate("theirs", "d", filter_tenant_id="project-2")


def around(*aggregates: AggregateRow, **options: bool) -> Surroundings:
    return Surroundings(aggregates, PolicyOptions(**options))


def limited(*aggregates: AggregateRow, required: bool = False) -> Surroundings:
    return around(
        *aggregates, limit_tenants_to_placement_aggregate=True, placement_aggregate_required_for_tenants=required
    )


def test_tenant_aggregates_count_only_when_switched_on() -> None:
    assert require_tenant_aggregate(request(), around(MINE)) == NOTHING


def test_tenant_is_kept_in_its_aggregates_by_any_key_of_that_beginning() -> None:
    found = require_tenant_aggregate(request(), limited(MINE, ALSO_MINE, THEIRS))
    assert found.member_of == (frozenset({"agg-mine", "agg-also"}),)


def test_tenant_value_is_no_list() -> None:
    assert require_tenant_aggregate(request(), limited(LISTED)) == NOTHING


def test_tenant_is_named_with_dashes_or_without() -> None:
    named = aggregate("named", "a", filter_tenant_id="0b5f0d2e8c0e4a639a1c1d8f3ecb3a55")
    asked = request(project_id="0b5f0d2e-8c0e-4a63-9a1c-1d8f3ecb3a55")
    assert require_tenant_aggregate(asked, limited(named)).member_of == (frozenset({"agg-named"}),)


def test_tenant_without_aggregates_may_go_anywhere() -> None:
    assert require_tenant_aggregate(request(), limited(THEIRS)) == NOTHING


def test_tenant_without_aggregates_may_go_nowhere_where_they_are_required() -> None:
    assert require_tenant_aggregate(request(), limited(THEIRS, required=True)).member_of == (frozenset(),)


EAST = aggregate("east", "a", availability_zone="az-east")
FAR_EAST = aggregate("far-east", "b", availability_zone="az-east")
WEST = aggregate("west", "c", availability_zone="az-west")


def test_zone_is_the_union_of_its_aggregates() -> None:
    found = map_az_to_placement_aggregate(request(availability_zone="az-east"), around(EAST, FAR_EAST, WEST))
    assert found.member_of == (frozenset({"agg-east", "agg-far-east"}),)


@pytest.mark.parametrize("zone", ["elsewhere", None])
def test_zone_without_aggregates_adds_nothing(zone: str | None) -> None:
    assert map_az_to_placement_aggregate(request(availability_zone=zone), around(EAST)) == NOTHING


NAMED_DEFAULT = aggregate("named", "", availability_zone="nova")


@pytest.mark.parametrize("aggregates", [(EAST, WEST), (EAST, WEST, NAMED_DEFAULT)])
def test_default_zone_is_where_no_other_is_whether_an_aggregate_makes_it_or_not(
    aggregates: tuple[AggregateRow, ...],
) -> None:
    found = map_az_to_placement_aggregate(request(availability_zone="nova"), around(*aggregates))
    assert found == Addition(forbidden_aggregates=frozenset({"agg-east", "agg-west"}))


GPU = aggregate("gpu", "a", trait__HW_GPU="required")
GPU_SSD = aggregate("gpu-ssd", "b", trait__HW_GPU="required", trait__CUSTOM_SSD="required")
LOOSE = aggregate("loose", "c", trait__HW_GPU="forbidden", ssd="required")


def isolating(*aggregates: AggregateRow) -> Surroundings:
    return around(*aggregates, enable_isolated_aggregate_filtering=True)


def test_aggregates_are_isolated_only_when_switched_on() -> None:
    assert isolate_aggregates(request(), around(GPU)) == NOTHING


def test_aggregates_that_demand_a_trait_are_kept_from_others() -> None:
    found = isolate_aggregates(request(), isolating(GPU, GPU_SSD, LOOSE))
    assert found.forbidden_aggregates == {"agg-gpu", "agg-gpu-ssd"}


@pytest.mark.parametrize("part", ["specs", "properties"])
def test_trait_of_flavor_or_image_opens_its_aggregate_but_not_those_that_demand_more(part: str) -> None:
    asked = request(**{part: {"trait:HW_GPU": "required"}})
    assert isolate_aggregates(asked, isolating(GPU, GPU_SSD)).forbidden_aggregates == {"agg-gpu-ssd"}


def test_trait_of_a_suffixed_group_opens_its_aggregate_too() -> None:
    flavor = FlavorSnapshot("1", "m1", 1, 1, extra_specs={"resources1:VGPU": "1", "trait1:HW_GPU": "required"})
    assert isolate_aggregates(request(flavor=flavor), isolating(GPU)) == NOTHING


def test_aggregates_without_demands_are_open_to_all() -> None:
    assert isolate_aggregates(request(), isolating(LOOSE)) == NOTHING


ROUTED = RequestedNetwork("net-1", segment_aggregates=("agg-a", "agg-b"))


def routing() -> Surroundings:
    return around(query_placement_for_routed_network_aggregates=True)


def test_routed_networks_count_only_when_switched_on() -> None:
    assert routed_networks_filter(request(requested_networks=(ROUTED,)), around()) == NOTHING


def test_each_routed_network_adds_its_own_condition() -> None:
    other = RequestedNetwork("net-2", segment_aggregates=("agg-c",))
    found = routed_networks_filter(request(requested_networks=(ROUTED, other)), routing())
    assert found.member_of == (frozenset({"agg-a", "agg-b"}), frozenset({"agg-c"}))


def test_network_without_segments_adds_nothing() -> None:
    assert routed_networks_filter(request(requested_networks=(RequestedNetwork("net-1"),)), routing()) == NOTHING


def test_routed_network_without_aggregates_fails_the_request() -> None:
    asked = request(requested_networks=(RequestedNetwork("net-1", segment_aggregates=()),))
    with pytest.raises(Invalid, match="no aggregates found for the network net-1"):
        routed_networks_filter(asked, routing())
