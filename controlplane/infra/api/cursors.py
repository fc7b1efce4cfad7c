"""Cursors of lists: where a page ended, as the values that the list is sorted by. Rows that come and go move nothing.

A number of a page counts the rows before it: whoever deletes the rows of each page reads every second page alone.
"""

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import connections
from django.db.models import F, OrderBy, Q, QuerySet
from django.db.models.expressions import Combinable

from controlplane.kernel.errors import Invalid

PARAM = "cursor"
MAX_CHARS = 2000
Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Position:
    """Behind the row with these values of `order` (a leading "-" reverses). `part`: of a list of several queries."""

    part: int
    order: tuple[str, ...]
    values: tuple[Scalar, ...]

    def text(self) -> str:
        """For an address."""
        plain = json.dumps([self.part, self.order, self.values], separators=(",", ":"))
        return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def position_read(text: str) -> Position:
    """The inverse of `Position.text`. Raises Invalid."""
    try:
        if len(text) > MAX_CHARS:
            raise ValueError("it is too long")
        part, order, values = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        is_read = type(part) is int and all(isinstance(name, str) for name in order) and len(order) == len(values)
        if not is_read or any(isinstance(value, (list, dict)) for value in values):
            raise ValueError("it has another form")
        return Position(part, tuple(order), tuple(values))
    except (ValueError, TypeError, RecursionError, binascii.Error) as error:
        raise _refused("This is no cursor: `next` of a page has one.") from error


def in_total_order(rows: QuerySet[Any]) -> QuerySet[Any]:
    """The same rows, no two of them the same to their order: their key comes last. Those that are no rows of one table,
    but sums or unions, stay as they are.
    """
    if rows.query.combinator or rows.query.is_sliced or rows.query.distinct or rows._fields is not None:  # type: ignore[attr-defined]  # Django's own
        return rows
    return rows.order_by(*_total_order(rows))


def page_after(
    parts: Sequence[QuerySet[Any]], position: Position | None, size: int
) -> tuple[list[tuple[int, Any]], Position | None]:
    """At most `size` rows behind the position, each with the number of its part, and where they end; None at the end.

    Raises Invalid for a position in another order, or with values that no column has.
    """
    if position is not None and not 0 <= position.part < len(parts):
        raise _refused("This is no cursor of this list.")
    found: list[tuple[int, Any]] = []
    sorts: dict[int, list[_Sort]] = {}
    for part in range(position.part if position else 0, len(parts)):
        behind = position if position is not None and position.part == part else None
        sorts[part] = _sorts(parts[part])
        found += ((part, row) for row in _rows_after(parts[part], sorts[part], behind, size + 1 - len(found)))
        if len(found) > size:
            break
    if len(found) <= size:
        return found, None
    part, row = found[size - 1]
    values = tuple(_plain(getattr(row, one.alias)) for one in sorts[part])
    return found[:size], Position(part, tuple(one.said for one in sorts[part]), values)


@dataclass(frozen=True, slots=True)
class _Sort:
    """One of the values that rows are sorted by. `said`: how a cursor calls it."""

    alias: str
    said: str
    value: Combinable
    is_reversed: bool


def _sorts(rows: QuerySet[Any]) -> list[_Sort]:
    return [_sort(rows, f"sorted_by_{number}", one) for number, one in enumerate(_total_order(rows))]


def _sort(rows: QuerySet[Any], alias: str, by: Any) -> _Sort:
    if isinstance(by, OrderBy):
        return _Sort(alias, f"{'-' * by.descending}{type(by.expression).__name__}", by.expression, by.descending)
    if not isinstance(by, str):
        return _Sort(alias, type(by).__name__, by, is_reversed=False)
    is_reversed, name = by.startswith("-"), by.removeprefix("-")
    with suppress(FieldDoesNotExist):  # a relation's key, in place of the order of what it leads to
        name = getattr(rows.model._meta.get_field(name), "attname", name)
    return _Sort(alias, f"{'-' * is_reversed}{name}", F(name), is_reversed)


def _total_order(rows: QuerySet[Any]) -> tuple[Any, ...]:
    meta = rows.model._meta
    order = tuple(rows.query.order_by or (meta.ordering if rows.query.default_ordering else ()))
    ends = ("pk", "-pk", meta.pk.name, f"-{meta.pk.name}")
    return order if any(isinstance(one, str) and one in ends for one in order) else (*order, "pk")


def _rows_after(rows: QuerySet[Any], sorts: Sequence[_Sort], position: Position | None, limit: int) -> Iterator[Any]:
    found = rows.annotate(**{one.alias: one.value for one in sorts})
    found = found.order_by(*(f"{'-' * one.is_reversed}{one.alias}" for one in sorts))
    if position is not None and position.order != tuple(one.said for one in sorts):
        raise _refused(f"This cursor is of a list that is sorted by {', '.join(position.order)[:200]}.")
    try:
        if position is not None:
            nulls_first = connections[rows.db].features.order_by_nulls_first
            found = found.filter(_behind(sorts, position.values, nulls_first=nulls_first))
        yield from found[:limit]
    except (ValueError, TypeError, OverflowError, ValidationError) as error:
        raise _refused("This is no cursor of this list.") from error


def _behind(sorts: Sequence[_Sort], values: Sequence[Scalar], *, nulls_first: bool) -> Q:
    behind, same = Q(pk__in=()), Q()
    for one, value in zip(sorts, values, strict=True):
        behind |= same & _beyond(one, value, nulls_follow=one.is_reversed == nulls_first)
        same &= Q(**{f"{one.alias}__isnull": True}) if value is None else Q(**{one.alias: value})
    return behind


def _beyond(one: _Sort, value: Scalar, *, nulls_follow: bool) -> Q:
    if value is None:
        return Q(pk__in=()) if nulls_follow else Q(**{f"{one.alias}__isnull": False})
    later = Q(**{f"{one.alias}__{'lt' if one.is_reversed else 'gt'}": value})
    return later | Q(**{f"{one.alias}__isnull": True}) if nulls_follow else later


def _plain(value: Any) -> Scalar:
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _refused(sentence: str) -> Invalid:
    return Invalid(sentence, field=PARAM)
