"""The order of names with numbers in them, hv-2-9, hv-2-10, hv-10-1, as the database can sort, page and index by it."""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField, F, Func
from django.db.models.expressions import Combinable
from django.db.models.sql.compiler import SQLCompiler

from controlplane.kernel.natural import WIDTH

SQLITE_NUMBERS = 2
"""So many numbers of a name, from its beginning, and the one at its end are compared as numbers by SQLite."""
_DIGITS = "0123456789"
_ZEROS = "0" * WIDTH
_OFTEN = "-aeiorsntlcdmpuhbvgfkwyxzjq._"
"""What names are made of comes first: SQLite looks a character up from the beginning. There are no large letters."""
_SELDOM = "".join(chr(code) for code in range(32, 127) if not chr(code).isalnum() and chr(code) not in _OFTEN)
_OTHERS = _OFTEN + _SELDOM.replace("'", "''")


class NaturalKey(Func):
    """A name in small letters with each number filled up with zeros, so that texts compare as people count.

    Without parameters, so that an index over it serves the queries that sort by it.
    """

    template = "%(expressions)s"
    output_field = CharField()

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **extra: Any) -> Any:
        """Every number: zeros in front of each, then all but its last digits taken away. By code points, whatever the
        language of the database.
        """
        filled = rf"REGEXP_REPLACE(LOWER(%(expressions)s), '([0-9]+)', '{_ZEROS}\1', 'g')"
        template = rf"(REGEXP_REPLACE({filled}, '[0-9]*([0-9]{{{WIDTH}}})', '\1', 'g') COLLATE \"C\")"
        return super().as_sql(compiler, connection, template=template.replace(r"\"", '"'), **extra)

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **extra: Any) -> Any:
        """It has no regular expressions: text and numbers are trimmed off the beginning in turn."""
        parts, rest = [], "LOWER(%(expressions)s)"
        for _ in range(SQLITE_NUMBERS):
            number = f"LTRIM({rest}, '{_escaped(_OTHERS)}')"
            behind = f"LTRIM({number}, '{_DIGITS}')"
            parts += [_head(rest, number), _filled(_head(number, behind))]
            rest = behind
        end = f"RTRIM({rest}, '{_DIGITS}')"
        parts += [end, _filled(f"SUBSTR({rest}, LENGTH({end}) + 1)")]
        return super().as_sql(compiler, connection, template="(" + " || ".join(parts) + ")", **extra)


def _escaped(text: str) -> str:
    """For a template, and for the statement that is made of it, in which a percent sign begins a parameter."""
    return text.replace("%", "%%%%")


def _head(text: str, rest: str) -> str:
    """What stands in a text before its rest."""
    return f"SUBSTR({text}, 1, LENGTH({text}) - LENGTH({rest}))"


def _filled(number: str) -> str:
    """With zeros in front; no number stays none."""
    return f"COALESCE(SUBSTR('{_ZEROS}' || NULLIF({number}, ''), -{WIDTH}), '')"


def natural_order(name: str | Combinable) -> tuple[Any, ...]:
    """What to order by: the name with its numbers counted, whatever the case of letters; equal ones by their very text.

    That is the order of `kernel.natural`, but for numbers of more than WIDTH digits, of which the last ones count, and
    on SQLite for names of more than SQLITE_NUMBERS + 1 numbers, of which those between are compared as text. Large
    tables have an index over this very expression.
    """
    whole = F(name) if isinstance(name, str) else name
    return NaturalKey(whole), whole


class NameLabel(Func):
    """Stands in a migration that made an index of an earlier release; nothing sorts by it any more."""

    template = "SUBSTR(%(expressions)s, 1, INSTR(%(expressions)s || '.', '.') - 1)"
    output_field = CharField()

    def as_postgresql(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **extra: Any) -> Any:
        """PostgreSQL has a function for it."""
        return super().as_sql(compiler, connection, template="SPLIT_PART(%(expressions)s, '.', 1)", **extra)


class WithoutNumber(Func):
    """As `NameLabel`, for a migration only."""

    template = "RTRIM(%(expressions)s, '0123456789')"
    output_field = CharField()
