"""Cells: the two that every installation has, more of them, their hosts, and whether new instances may go to one.

What `nova-manage cell_v2` does, as far as one database goes.
"""

from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from computeagent.protocol.names import require_host_name
from controlplane.audit_log.recording.audited import audited
from controlplane.kernel.errors import Conflict, Invalid, NotFound
from controlplane.kernel.texts import phrase as _
from scheduling.fleet.domain.cells import CELL0_ID, CELL1_ID
from scheduling.models import Cell, ComputeNode, HostMapping, Service

NAME_MAX = 255
NEEDED = {
    CELL0_ID: _("cell0 holds instances that never got a host, and cannot be deleted."),
    CELL1_ID: _("cell1 is where hosts register that are mapped to no other cell, and cannot be deleted."),
}


def cells_ensure(*, using: str = "default") -> None:
    """Make cell0 and cell1 where they are missing. Idempotent; two processes at once are fine."""
    rows = [Cell(id=CELL0_ID, name="cell0"), Cell(id=CELL1_ID, name="cell1")]
    Cell.objects.using(using).bulk_create(rows, ignore_conflicts=True)


def cells_ensure_after_migrate(*, using: str = "default", **kwargs: Any) -> None:
    """Receiver of post_migrate, which also fires after a flush. Does nothing where the table is not migrated to."""
    apps = kwargs.get("apps")
    if apps is not None and "cell" not in apps.all_models.get("scheduling", {}):
        return
    cells_ensure(using=using)


@audited("cell.create", Cell)
def cell_create(*, name: str) -> Cell:
    """A cell without hosts, in the database that all cells share. Raises Invalid, and Conflict for a name in use."""
    if not name.strip() or len(name) > NAME_MAX or not name.isprintable():
        raise Invalid(_("A cell's name has 1 to {name_max} printable characters.", name_max=NAME_MAX), field="name")
    try:
        with transaction.atomic():
            return Cell.objects.create(name=name)
    except IntegrityError as error:
        raise Conflict(_("There is a cell {name} already.", name=name), field="name") from error


def cell_rows_delete(*, cell_id: UUID) -> None:
    """Delete the row. Raises NotFound, Invalid for the two that an installation needs, Conflict while it has hosts.

    Whether instances are in it is asked by `servers.hosts`, which calls this in its transaction.
    """
    if cell_id in NEEDED:
        raise Invalid(NEEDED[cell_id], field="cell")
    with transaction.atomic():
        # A host that is mapped to it at this moment needs the row, and waits.
        cell = Cell.objects.select_for_update().filter(pk=cell_id).first()
        if cell is None:
            raise NotFound(_("There is no cell {cell_id}.", cell_id=cell_id), field="cell")
        if hosts := HostMapping.objects.filter(cell=cell).count():
            raise Conflict(
                _("Cell {cell} has {hosts} host(s): remove them first.", cell=cell.name, hosts=hosts),
                field="cell",
                hosts=hosts,
            )
        cell.delete()


@audited("cell.hosts_discover", Cell, by="cell_id")
def hosts_discover(*, cell_id: UUID = CELL1_ID) -> list[str]:
    """Map every host that registered and is in no cell to this one: their names. Idempotent.

    Registration maps its host by itself, so only rows that went missing are found. Raises NotFound, Invalid for cell0.
    """
    _require_hosts_may_be_in(cell_id)
    mapped = HostMapping.objects.values("host")
    unmapped = ComputeNode.objects.exclude(host__in=mapped).order_by("host").values_list("host", flat=True)
    return [host for host in dict.fromkeys(unmapped) if _map(host, cell_id)]


@audited("host.map", Service, by="host", key="host", also=("cell_id",))
def host_map(*, host: str, cell_id: UUID) -> bool:
    """Say in which cell a host is to be, before its agent registers it. False when it is there already.

    Raises Conflict when it is in another cell: a host changes its cell only by being removed and enrolled anew, so that
    no instance is ever in another cell than its host.
    """
    _require_hosts_may_be_in(cell_id)
    require_host_name(host)
    if _map(host, cell_id):
        return True
    mapping = HostMapping.objects.select_related("cell").get(host=host)
    if mapping.cell_id != cell_id:
        raise Conflict(
            _(
                "Host {host} is in cell {cell}, and stays there: remove it, map it anew, and enrol it again.",
                host=host,
                cell=mapping.cell.name,
            ),
            field="host",
        )
    return False


def _require_hosts_may_be_in(cell_id: UUID) -> None:
    if cell_id == CELL0_ID:
        raise Invalid(_("cell0 holds instances without a host, and no hosts."), field="cell")
    if not Cell.objects.filter(pk=cell_id).exists():
        raise NotFound(_("There is no cell {cell_id}.", cell_id=cell_id), field="cell")


def _map(host: str, cell_id: UUID) -> bool:
    return HostMapping.objects.get_or_create(host=host, defaults={"cell_id": cell_id})[1]


@audited("cell.set_disabled", Cell, by="cell_id")
def cell_set_disabled(*, cell_id: UUID, disabled: bool) -> None:
    """Whether new instances may go to the cell. cell0 never takes any, so it cannot be switched."""
    if cell_id == CELL0_ID:
        raise Invalid(_("cell0 holds instances without a host and cannot be switched on or off."), field="id")
    if not Cell.objects.filter(id=cell_id).update(disabled=disabled, updated_at=Now()):
        raise NotFound(_("There is no cell {cell_id}.", cell_id=cell_id))
