import pytest

from scheduling.engine import Destination
from scheduling.weighers.cross_cell import CrossCellWeigher
from tests.units.scheduling.worlds import aggregate, chosen, host, policy, raw, request, run, table

CELLS = table(host("here", cell_uuid="cell1"), host("there", cell_uuid="cell2"))
MAY_CROSS = request(requested_destination=Destination(cell="cell1", allow_cross_cell_move=True))


def test_cell_of_the_destination_is_preferred() -> None:
    assert raw(CrossCellWeigher(), CELLS, MAY_CROSS) == [1, -1]


@pytest.mark.parametrize(
    "destination",
    [None, Destination(cell="cell1"), Destination(allow_cross_cell_move=True), Destination(host="here")],
)
def test_cells_are_alike_unless_the_move_may_cross(destination: Destination | None) -> None:
    assert raw(CrossCellWeigher(), CELLS, request(requested_destination=destination)) == [0, 0]


def test_cell_outweighs_all_other_weighers_by_default() -> None:
    fleet = table(host("here", cell_uuid="cell1", num_io_ops=50), host("there", cell_uuid="cell2"))
    rules = policy(weighers={"IoOpsWeigher": -100.0, "CrossCellWeigher": None})
    assert chosen(run(fleet, MAY_CROSS, rules)) == ["here"]


def test_aggregate_can_turn_the_preference_round() -> None:
    fleet = table(
        host("here", cell_uuid="cell1"),
        host("there", cell_uuid="cell2"),
        aggregates=(aggregate("x", "here", "there", cross_cell_move_weight_multiplier="-1"),),
    )
    assert chosen(run(fleet, MAY_CROSS, policy(weighers={"CrossCellWeigher": None}))) == ["there"]
