"""Cells: the two that every installation has, and those an operator adds."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from controlplane.kernel.errors import Conflict, Invalid, NotFound
from scheduling.models import CELL0_ID, CELL1_ID, Cell


def cells_ensure(*, using: str = "default") -> None:
    """Make cell0 and cell1 where they are missing. Idempotent; two processes at once are fine."""
    rows = [Cell(id=CELL0_ID, name="cell0"), Cell(id=CELL1_ID, name="cell1")]
    Cell.objects.using(using).bulk_create(rows, ignore_conflicts=True)


def cells_ensure_after_migrate(*, using: str = "default", **kwargs: Any) -> None:
    """Receiver of post_migrate: also runs after a test database was flushed. Does nothing without the table."""
    apps = kwargs.get("apps")
    try:
        if apps is not None:
            apps.get_model("scheduling", "Cell")
    except LookupError:
        return  # migrated back to before this app had tables
    cells_ensure(using=using)


@transaction.atomic
def cell_create(*, name: str, database: str = "default") -> Cell:
    """A further cell over an alias of DATABASES. Raises Invalid, Conflict."""
    if not name.strip() or len(name) > 255:
        raise Invalid("A cell needs a name of 1 to 255 characters.", field="name")
    if database not in settings.DATABASES:
        raise Invalid(f"There is no database alias {database!r} in settings.", field="database")
    if Cell.objects.filter(name=name).exists():
        raise Conflict(f"A cell named {name} exists already.", field="name")
    return Cell.objects.create(name=name, database=database)


def cell_set_disabled(*, cell_id: UUID, disabled: bool) -> None:
    """Whether new instances may go to the cell. cell0 never takes any, so it cannot be switched."""
    if cell_id == CELL0_ID:
        raise Invalid("cell0 holds instances without a host and cannot be switched on or off.", field="id")
    if not Cell.objects.filter(id=cell_id).update(disabled=disabled):
        raise NotFound(f"There is no cell {cell_id}.")
