"""Whether a host has room for one allocation is told by numbers as by columns, which say why not."""

from itertools import product

import pytest

from scheduling.domain.hosts.host_slice import Hosts
from scheduling.engine import HostRow, InventoryRow, host_table_from_rows
from scheduling.engine.placement import refuse_full

INVENTORIES = [
    InventoryRow(4, used, 0, ratio, min_unit=least, max_unit=most, step_size=step)
    for used, ratio, least, most, step in product(range(6), (0.5, 1.0, 2.0), (1, 2, 3), (2, 3, 5), (1, 2, 3))
]


@pytest.mark.parametrize("amount", range(1, 7))
def test_who_gives_by_numbers_is_not_refused_by_columns(amount: int) -> None:
    rows = [
        HostRow(f"h{at}", f"h{at}", f"u{at}", "c", {"VCPU": each} if each else {})
        for at, each in enumerate([*INVENTORIES, None])
    ]
    table = host_table_from_rows(rows, [])
    every = Hosts(table, table.rows_of_hosts(table.hosts), "placement", {})
    refused = {int(row) for group in refuse_full({"VCPU": amount}, every) for row in group.rows}
    column = table.inventory("VCPU")
    assert {row for row in range(len(table)) if not column.gives(row, amount)} == refused
