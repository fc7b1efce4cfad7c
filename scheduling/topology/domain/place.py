"""Where on its host a fitted guest is: devices are chosen near it."""

from computeagent.protocol.topology import GuestTopology, HostTopology
from scheduling.topology.domain.pci.support import NumaPlace


def place_of(host: HostTopology, placed: GuestTopology) -> NumaPlace:
    """Where a fitted guest is, for choosing devices near it."""
    cells = frozenset(cell.host_cell for cell in placed.cells if cell.host_cell is not None)
    return NumaPlace(cells, host.sockets)
