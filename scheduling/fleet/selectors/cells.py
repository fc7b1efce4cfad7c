"""Cells as people look at them."""

from uuid import UUID

from django.db.models import Count, QuerySet

from controlplane.kernel.errors import NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _
from scheduling.models import Cell


def cells_with_hosts() -> QuerySet[Cell]:
    """All cells by name, each with `hosts`: how many are mapped to it."""
    return Cell.objects.annotate(hosts=Count("host_mappings")).order_by("name")


def cell_id_of(name_or_id: str) -> UUID:
    """The id of a cell that a person names, by name or by id. Raises NotFound."""
    found = Cell.objects.filter(name=name_or_id).first() if "\0" not in name_or_id else None
    if found is None and (cell_id := parse_uuid(name_or_id)) is not None:
        found = Cell.objects.filter(pk=cell_id).first()
    if found is None:
        raise NotFound(_("There is no cell {name_or_id}.", name_or_id=name_or_id[:100]), field="cell")
    return found.pk
