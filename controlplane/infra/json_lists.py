"""Lists in JSON columns that are searched by what they hold, on SQLite and PostgreSQL alike."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import JSONField, Lookup


@JSONField.register_lookup
class Holds(Lookup[Any]):
    """`Q(tags__holds="blue")`: the list in the column has this very text."""

    lookup_name = "holds"
    prepare_rhs = False

    def as_sql(self, compiler: Any, connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
        """SQLite's."""
        column, parameters = self.process_lhs(compiler, connection)
        sql = f"EXISTS (SELECT 1 FROM json_each({column}) AS held WHERE held.value = %s)"  # noqa: S608 - no values
        return sql, [*parameters, self.rhs]

    def as_postgresql(self, compiler: Any, connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
        """PostgreSQL's, which an index could serve."""
        column, parameters = self.process_lhs(compiler, connection)
        return f"{column} ? %s", [*parameters, self.rhs]
