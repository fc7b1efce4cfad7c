"""A page of a long list: what comes after the row that the last page ended with, in the order that was asked for.

A page costs the same wherever it stands in the list, since the database goes on from the marker's values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from django.db.models import F, Model, OrderBy, Q, QuerySet

R = TypeVar("R", bound=Model)


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column and its direction. Rows without a value come last in either."""

    column: str
    is_descending: bool = False

    def order(self, model: type[Model]) -> OrderBy:
        """For `order_by`. Nothing is said of rows without a value where each has one: no index is in that order."""
        has_nulls = _is_nullable(model, self.column)
        return OrderBy(F(self.column), descending=self.is_descending, nulls_last=has_nulls or None)

    def beyond(self, model: type[Model], value: Any) -> Q:
        """Rows that come after this value."""
        if value is None:
            return Q(pk__in=[])
        found = Q(**{f"{self.column}__{'lt' if self.is_descending else 'gt'}": value})
        return found | Q(**{f"{self.column}__isnull": True}) if _is_nullable(model, self.column) else found

    def not_before(self, model: type[Model], value: Any) -> Q:
        """The same and rows with this value: where an index begins to be read. Nothing where rows may have none."""
        if _is_nullable(model, self.column):
            return Q()
        return Q(**{f"{self.column}__{'lte' if self.is_descending else 'gte'}": value})

    def equal(self, value: Any) -> Q:
        """Rows with this value."""
        return Q(**{f"{self.column}__isnull": True}) if value is None else Q(**{self.column: value})


def page_after(
    rows: QuerySet[R], keys: Sequence[SortKey], *, marker: R | None, limit: int, offset: int = 0
) -> tuple[list[R], bool]:
    """At most `limit` rows after `marker`, and whether more follow. The id is the last key of every order. `offset`: so
    many are left out before them.
    """
    keys = [*keys, SortKey("pk", keys[-1].is_descending if keys else False)]
    if marker is not None:
        # SQLite compares moments as texts, by which a moment that it wrote itself comes before itself.
        rows = rows.filter(_after(keys, marker)).exclude(pk=marker.pk)
    found = list(rows.order_by(*(key.order(rows.model) for key in keys))[offset : offset + limit + 1])
    return found[:limit], len(found) > limit


def _after(keys: Sequence[SortKey], marker: Model) -> Q:
    """Equal in the first keys and beyond in the next one, for each number of first keys."""
    whole, same = Q(pk__in=[]), Q()
    for key in keys:
        value = _value(marker, key.column)
        whole |= same & key.beyond(type(marker), value)
        same &= key.equal(value)
    return keys[0].not_before(type(marker), _value(marker, keys[0].column)) & whole


@cache
def _is_nullable(model: type[Model], column: str) -> bool:
    """Whether rows may have no value, of their own or of what they refer to."""
    name, _, rest = column.partition("__")
    field: Any = model._meta.pk if name == "pk" else model._meta.get_field(name)
    if field.null or not rest:
        return bool(field.null)
    return field.related_model is None or _is_nullable(field.related_model, rest)


def _value(row: Any, column: str) -> Any:
    for part in column.split("__"):
        row = getattr(row, part, None)
    return row
