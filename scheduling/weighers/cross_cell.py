"""CrossCellWeigher: a server that may move to another cell stays in its own where it can."""

import numpy as np

from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_slice import Hosts
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.weighers.base import Weigher


class CrossCellWeigher(Weigher):
    """Raw value 1 in the requested destination's cell, -1 in others; 0 unless the move may cross cells."""

    multiplier_key = "cross_cell_move_weight_multiplier"
    default_multiplier = 1000000.0

    def reads(self, table: HostTable, spec: RequestSpecView) -> tuple[object, ...]:
        """Nothing but the request, and cells that stay what they are."""
        return ()

    def raw(self, hosts: Hosts, spec: RequestSpecView) -> FloatArray:
        """Whether each host is in the preferred cell, as 1 or -1."""
        destination = spec.requested_destination
        if destination is None or not destination.cell or not destination.allow_cross_cell_move:
            return np.zeros(len(hosts), dtype=np.float64)
        cells = hosts.table.cells
        values = np.array([1.0 if cell == destination.cell else -1.0 for cell in cells.values])
        return values[hosts.of(cells.codes)]
