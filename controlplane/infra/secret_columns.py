"""Which columns hold secrets that `controlplane.infra.secret_encryption` encrypted: each once, registered by its app.

`tests/architecture/test_secrets.py` compares them with the purposes that anything is encrypted for.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Model

from controlplane.infra.db import pages_by_key
from controlplane.infra.secret_encryption import secret_renew
from controlplane.kernel.errors import Invalid

PAGE_ROWS = 500


@dataclass(frozen=True, slots=True)
class SecretColumn:
    """`kind` says in words whose secret it is, and `named_by` which field of a row says it of that one."""

    kind: str
    model: type[Model]
    field: str
    purpose: bytes
    named_by: str = "pk"


@dataclass(frozen=True, slots=True)
class RenewedPage:
    """What became of some rows of a column: how many were encrypted anew, how many were under the present key already,
    and the names of those that no key opens.
    """

    renewed: int
    current: int
    unreadable: tuple[str, ...]


_COLUMNS: dict[bytes, SecretColumn] = {}


def secret_column_register(column: SecretColumn) -> None:
    """Called when the apps are ready. Of one purpose the last counts."""
    _COLUMNS[column.purpose] = column


def secret_columns() -> list[SecretColumn]:
    """All of them, by kind."""
    return sorted(_COLUMNS.values(), key=lambda one: one.kind)


def column_renew(column: SecretColumn) -> Iterator[RenewedPage]:
    """Encrypt with the present SECRET_KEY what is under another one, a page of rows at a time, each row by a statement
    of its own. Cut off, it is begun again: what was done is passed over.

    Rows that come meanwhile may be left out: they are under the first key of the process that wrote them.
    """
    for page in pages_by_key(column.model._default_manager.all(), PAGE_ROWS):
        renewed, current, unreadable = 0, 0, []
        for row in page:
            try:
                if row_renew(column, row):
                    renewed += 1
                else:
                    current += 1
            except Invalid:
                unreadable.append(str(getattr(row, column.named_by)))
        yield RenewedPage(renewed, current, tuple(unreadable))


def row_renew(column: SecretColumn, row: Model) -> bool:
    """Whether it was encrypted anew. One that somebody wrote meanwhile is read again, one that went needs nothing."""
    rows, stored = column.model._default_manager.filter(pk=row.pk), getattr(row, column.field)
    while stored is not None:
        renewed = secret_renew(stored, purpose=column.purpose)
        if renewed == stored:
            return False
        if rows.filter(**{column.field: stored}).update(**{column.field: renewed}):
            return True
        stored = rows.values_list(column.field, flat=True).first()
    return False
