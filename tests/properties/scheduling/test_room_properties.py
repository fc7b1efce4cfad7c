"""Whether a host has room for one allocation is told by numbers as by columns, which say why not."""

from hypothesis import given
from hypothesis import strategies as st

from scheduling.domain.hosts.host_slice import Hosts
from scheduling.engine import HostRow, InventoryRow, host_table_from_rows
from scheduling.engine.placement import refuse_full

INVENTORIES = st.builds(
    lambda total, used, reserved, ratio, least, most, step: InventoryRow(
        total, used, reserved, ratio, min_unit=least, max_unit=most, step_size=step
    ),
    *(st.integers(0, 12), st.integers(0, 14), st.integers(0, 3), st.sampled_from([0.5, 1.0, 4.0])),
    *(st.integers(1, 3), st.integers(1, 16), st.integers(1, 4)),
)


@given(st.lists(st.none() | INVENTORIES, min_size=30, max_size=30), st.integers(1, 6))
def test_who_gives_by_numbers_is_not_refused_by_columns(found: list[InventoryRow | None], amount: int) -> None:
    rows = [
        HostRow(f"h{at}", f"h{at}", f"u{at}", "c", {} if each is None else {"VCPU": each})
        for at, each in enumerate(found)
    ]
    table = host_table_from_rows(rows, [])
    every = Hosts(table, table.rows_of_hosts(table.hosts), "placement", {})
    refused = {int(row) for group in refuse_full({"VCPU": amount}, every) for row in group.rows}
    column = table.inventory("VCPU")
    assert {row for row in range(len(table)) if not column.gives(row, amount)} == refused
