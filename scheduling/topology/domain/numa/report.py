"""The cells of a host as it reports them: checked, and without the usage, which is not the host's to say."""

from typing import Any

from computeagent.protocol.bounds import CPUS_MAX
from computeagent.protocol.topology import HostTopology, NUMACell
from controlplane.kernel.cpu_list import format_cpus
from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _
from scheduling.topology.domain.numa.occupancy import emptied

FIELD = "numa_topology"


def topology_reported(host: HostTopology | None) -> HostTopology | None:
    """The host's cells with nobody on them; None for a host without NUMA.

    Raises Invalid for a cell or a CPU that is named twice, and pages that cannot be.
    """
    if host is None:
        return None
    _check(host)
    return emptied(host)


def _check(host: HostTopology) -> None:
    seen: dict[int, int] = {}
    if not host.cells:
        raise Invalid(_("numa_topology has no cells."), field=FIELD)
    if sum(len(cell.cpuset | cell.pcpuset) + sum(map(len, cell.siblings)) for cell in host.cells) > 2 * CPUS_MAX:
        raise Invalid(_("numa_topology names more than {most} CPUs.", most=CPUS_MAX), field=FIELD)
    if len({cell.id for cell in host.cells}) < len(host):
        raise Invalid(_("numa_topology names a cell twice."), field=FIELD)
    for cell in host.cells:
        cpus = cell.cpuset | cell.pcpuset
        twice = cpus & seen.keys()
        if twice:
            raise Invalid(_("CPU {twice} is in two NUMA cells.", twice=format_cpus(twice)), field=FIELD)
        seen |= dict.fromkeys(cpus, cell.id)
        _check_numbers(cell)


def _check_numbers(cell: NUMACell) -> None:
    numbers: list[Any] = [cell.id, cell.memory_mib, *(n for each in cell.mempages for n in (each.total, each.reserved))]
    if any(isinstance(number, bool) or not isinstance(number, int) or number < 0 for number in numbers):
        raise Invalid(_("NUMA cell {cell}: its numbers are whole and not below 0.", cell=cell.id), field=FIELD)
    if any(each.size_kib < 1 for each in cell.mempages):
        raise Invalid(_("NUMA cell {cell}: a page has at least 1 KiB.", cell=cell.id), field=FIELD)
