"""Statements that PostgreSQL plans once a connection: for small reads that each request makes.

To plan a join of four tables by their keys takes the database ten times as long as to answer it. Psycopg sends plain
text, so what shall be planned once is prepared by name (PREPARE, EXECUTE). A plan is made anew by the database itself
when its tables or their statistics change. SQLite reads the statement as it is.

It saves 22 % of the CPU of GET /placement/resource_providers/{uuid}, 13 % of a search for candidates and 11 % of a PUT
of allocations (`python -m bench.fast_ways --only "prepared reads"`). That it returns what the plain statement returns
is held by `tests/services/infra/test_prepared.py`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar
from uuid import UUID
from weakref import WeakKeyDictionary

from django.db import DEFAULT_DB_ALIAS, NotSupportedError, connection, connections
from django.db.models import Model, QuerySet

from controlplane.infra.db import Row, uuid_value

M = TypeVar("M", bound=Model)

_PARAMETER = re.compile("%([s%])")
_prepared: "WeakKeyDictionary[Any, set[str]]" = WeakKeyDictionary()
"""Names by connection of the driver. A connection belongs to one thread, and takes what it prepared along."""


@dataclass(frozen=True, slots=True)
class _Constant:
    """A value that a statement has in each run."""

    value: Any


_Place = int | _Constant


class PreparedStatement:
    """One statement under a name of its own. `types` are those of its parameters, as PostgreSQL spells them.

    `text` is asked for once, when the database is known: its parameters are `%s`, a percent sign is `%%`. What each
    `%s` stands for is said by `places`, likewise asked for once: the number of a parameter, or a constant. Without it
    they stand for the parameters in their order.
    """

    def __init__(
        self,
        name: str,
        text: Callable[[], str],
        *,
        types: Sequence[str],
        places: Callable[[], Sequence[_Place]] | None = None,
    ) -> None:
        self._name, self._make_text, self._types = name, text, tuple(types)
        self._find_places = places or (lambda: range(len(self._types)))

    @cached_property
    def _text(self) -> str:
        return self._make_text()

    @cached_property
    def _places(self) -> tuple[_Place, ...]:
        return tuple(self._find_places())

    @cached_property
    def _prepare(self) -> tuple[str, list[Any]]:
        """The statement that prepares it, and its constants, which the database plans with."""
        places = iter(self._places)

        def numbered(found: re.Match[str]) -> str:
            place = None if found[1] == "%" else next(places)
            return f"${place + 1}" if isinstance(place, int) else found[0]

        types = f"({', '.join(self._types)})" if self._types else ""
        text = f"PREPARE {self._name}{types} AS {_PARAMETER.sub(numbered, self._text)}"
        constants = [place.value for place in self._places if isinstance(place, _Constant)]
        # Without values the driver leaves percent signs as they are.
        return (text, constants) if constants else (text.replace("%%", "%"), constants)

    def _plainly(self, parameters: Sequence[Any]) -> list[Any]:
        """What each `%s` of the text stands for with these."""
        return [place.value if isinstance(place, _Constant) else parameters[place] for place in self._places]

    @cached_property
    def _execute(self) -> str:
        values = ", ".join(["%s"] * len(self._types))
        return f"EXECUTE {self._name}({values})" if self._types else f"EXECUTE {self._name}"

    def rows(self, parameters: Sequence[Any]) -> list[Row]:
        """What it returns for these. One query."""
        own = connections[DEFAULT_DB_ALIAS]  # asked for once, because to find this thread's own takes a while
        if not _is_preparing(own):
            return _run(own, self._text, self._plainly(parameters))
        try:
            return self._rows_prepared(own, parameters)
        except NotSupportedError:
            # A migration gave a column another type: this plan is of no use any more, in this connection.
            if own.in_atomic_block:
                raise
            with own.cursor() as cursor:
                _prepared.pop(cursor.connection, None)
                cursor.execute("DEALLOCATE ALL")
            return self._rows_prepared(own, parameters)

    def _rows_prepared(self, own: Any, parameters: Sequence[Any]) -> list[Row]:
        with own.cursor() as cursor:
            names = _prepared.setdefault(own.connection, set())
            if self._name not in names:
                with own.wrap_database_errors, own.connection.cursor() as driver:
                    text, constants = self._prepare
                    driver.execute(text, constants or None)  # not counted as a query of whoever asks
                names.add(self._name)
            cursor.execute(self._execute, parameters)
            rows: list[Row] = cursor.fetchall()
            return rows


def _is_preparing(own: Any) -> bool:
    """Not behind a pooler in transaction mode, where the next statement may find another connection."""
    return own.vendor == "postgresql" and not own.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")


def _run(own: Any, text: str, parameters: Sequence[Any]) -> list[Row]:
    with own.cursor() as cursor:
        cursor.execute(text, parameters)
        rows: list[Row] = cursor.fetchall()
        return rows


class PreparedQuery(Generic[M]):
    """A query of whole rows of one model, which the ORM writes once and the database plans once a connection.

    `make` is asked for it once, when the database is known, and given a placeholder for each of `types` (uuid, uuid[],
    text): each run brings the values instead, in their order, as the database stores them (`uuid_value`,
    `uuids_value`). What else it filters by is the same in each run.

    To write the statement takes the ORM longer than to run it: GET /api/instances/{id}/ has three such queries, a
    create eight.
    """

    def __init__(self, name: str, make: Callable[..., QuerySet[M]], *, types: Sequence[str]) -> None:
        self._make, self._types = make, types
        self._statement = PreparedStatement(
            name, lambda: self._written.text, types=types, places=lambda: self._written.places
        )

    @cached_property
    def _written(self) -> "_Written":
        placeholders = [_placeholder(number, kind) for number, kind in enumerate(self._types)]
        compiler: Any = self._make(*placeholders).query.get_compiler(connection=connection)
        text, parameters = compiler.as_sql()
        numbers = {_stored(one): number for number, one in enumerate(placeholders)}
        columns = [column for column, *_ in compiler.select]
        places: list[int] = compiler.klass_info["select_fields"]
        return _Written(
            text=text,
            places=[numbers[one] if one in numbers else _Constant(one) for one in parameters],
            model=compiler.klass_info["model"],
            fields=slice(places[0], places[-1] + 1),
            names=[columns[place].target.attname for place in places],
            annotations=list((compiler.annotation_col_map or {}).items()),
            converters=[
                (place, convert, expression)
                for place, (converts, expression) in compiler.get_converters(columns).items()
                for convert in converts
            ],
        )

    def run(self, parameters: Sequence[Any]) -> list[M]:
        """The rows for these. One query."""
        written = self._written
        own, found = connections[DEFAULT_DB_ALIAS], []
        for row in self._statement.rows(parameters):
            values = list(row)
            for place, convert, expression in written.converters:
                values[place] = convert(values[place], expression, own)
            one = written.model.from_db(own.alias, written.names, values[written.fields])
            for name, place in written.annotations:
                setattr(one, name, values[place])
            found.append(one)
        return found


def _placeholder(number: int, kind: str) -> UUID | str:
    """A value of this type that nobody filters by."""
    own = UUID(int=UUID("8e5f2a60-3c1b-4d7e-9f04-000000000000").int + number)
    return own if kind == "uuid" else str(own)


def _stored(placeholder: UUID | str) -> UUID | str:
    """As it stands among the parameters that the ORM has written."""
    return uuid_value(placeholder) if isinstance(placeholder, UUID) else placeholder


@dataclass(frozen=True, slots=True)
class _Written:
    """What the ORM has worked out: the statement, and how to make instances of the rows that the driver gives."""

    text: str
    places: list[_Place]
    model: type[Any]
    fields: slice
    names: list[str]
    annotations: list[tuple[str, int]]
    converters: list[tuple[int, Any, Any]]
