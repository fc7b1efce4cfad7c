"""The change stamp: when a provider was last written, in a number that readers can ask for 'what is newer?'.

One counter for the fleet would be a row on which all claims queue. So the stamp is, on PostgreSQL, the number of the
writing transaction, which costs nothing; the cursor of a reader holds which transactions were still open when it read
(`infra.change_feed`). On SQLite writers come one after another anyway, so the highest stamp plus one does it.
"""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BigIntegerField, Expression
from django.db.models.sql.compiler import SQLCompiler

from controlplane.infra.change_feed import TRANSACTION_STAMP

_NEXT_STAMP = (
    "(1 + MAX((SELECT COALESCE(MAX(changed), 0) FROM placement_resourceprovider),"
    " (SELECT COALESCE(MAX(changed), 0) FROM placement_providerremoval)))"
)


def stamp_sql(vendor: str) -> str:
    """The stamp as SQL, for statements that the ORM cannot write."""
    return TRANSACTION_STAMP if vendor == "postgresql" else _NEXT_STAMP


class ChangeStamp(Expression):
    """Use it as the value of `changed` in an UPDATE or INSERT."""

    output_field = BigIntegerField()

    def as_sql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any) -> tuple[str, tuple[()]]:
        """SQLite: the write lock is held already, so nobody else can compute the same number."""
        return _NEXT_STAMP, ()

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any) -> tuple[str, tuple[()]]:
        """PostgreSQL: the 64-bit number of this transaction."""
        return TRANSACTION_STAMP, ()
