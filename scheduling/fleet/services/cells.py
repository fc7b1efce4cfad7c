"""Cells: the two that every installation has, and whether new instances may go to one."""

from typing import Any
from uuid import UUID

from django.db.models.functions import Now

from controlplane.kernel.errors import Invalid, NotFound
from scheduling.fleet.domain.cells import CELL0_ID, CELL1_ID
from scheduling.models import Cell


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


def cell_set_disabled(*, cell_id: UUID, disabled: bool) -> None:
    """Whether new instances may go to the cell. cell0 never takes any, so it cannot be switched."""
    if cell_id == CELL0_ID:
        raise Invalid("cell0 holds instances without a host and cannot be switched on or off.", field="id")
    if not Cell.objects.filter(id=cell_id).update(disabled=disabled, updated_at=Now()):
        raise NotFound(f"There is no cell {cell_id}.")
