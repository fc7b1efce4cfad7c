from uuid import UUID

from scheduling.domain.policy import PolicyOptions
from scheduling.domain.request.candidate_query import candidate_query
from scheduling.domain.request.resources import resource_request
from scheduling.engine import AggregateRow
from scheduling.request_filters import Surroundings, filter_request
from tests.units.scheduling.worlds import request

ZONE, GPU = UUID(int=1), UUID(int=2)
AGGREGATES = (
    AggregateRow(str(ZONE), "zone", frozenset(), {"availability_zone": "az1"}),
    AggregateRow(str(GPU), "gpu", frozenset(), {"trait:HW_GPU": "required"}),
)


def test_placement_is_asked_for_what_request_filters_added() -> None:
    around = Surroundings(AGGREGATES, PolicyOptions(enable_isolated_aggregate_filtering=True))
    asked = request(availability_zone="az1", specs={"accel:device_profile": "fpga"})
    filtered = filter_request(asked, around).request
    query = candidate_query(filtered, resource_request(filtered))
    assert query.root_required == {"COMPUTE_ACCELERATORS"}
    assert query.root_forbidden == {"COMPUTE_STATUS_DISABLED"}
    assert query.groups[0].member_of == (frozenset({ZONE}),)
    assert query.groups[0].forbidden_aggregates == {GPU}
