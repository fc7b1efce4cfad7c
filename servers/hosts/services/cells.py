"""Deleting a cell: nobody may be in it, as `nova-manage cell_v2 delete_cell` has it."""

import logging
from uuid import UUID

from django.db import transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from scheduling.fleet.services.cells import cell_rows_delete
from servers.hosts.selectors.cells import instances_in_cells

log = logging.getLogger(__name__)


@audited("cell.delete", by="cell_id")
def cell_delete(*, cell_id: UUID) -> None:
    """Delete a cell without hosts and instances. Raises NotFound, Invalid for cell0 and cell1, Conflict with numbers.

    Hosts are asked for first and under the cell's lock: without a host, no instance comes into the cell.
    """
    with transaction.atomic():
        cell_rows_delete(cell_id=cell_id)
        if instances := instances_in_cells().get(cell_id, 0):
            raise Conflict(
                _("{instances} instance(s) are mapped to the cell: delete them first.", instances=instances),
                field="cell",
                instances=instances,
            )
    log.warning("cell %s is deleted", cell_id)
