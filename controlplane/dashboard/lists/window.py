"""One page of a list, read so that a large table costs no more than the page.

First the keys of the page are read in order, by an index where there is one, then these rows. What is counted stops at
MAX_COUNTED, and so do pages: whoever looks for one row among more narrows the list or turns its order round.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import QuerySet

from controlplane.dashboard.lists.declaration import Asked, RowsAhead
from controlplane.dashboard.lists.query import ListQuery

MAX_COUNTED = 10_000
MAX_EXPORTED = 200_000
EXPORT_BATCH = 500


@dataclass(frozen=True, slots=True)
class ListPage:
    """The rows of one page. `count` stops at MAX_COUNTED, and then there may be more."""

    rows: Sequence[Any]
    number: int
    page_size: int
    count: int

    @property
    def is_bounded(self) -> bool:
        """Whether there may be more than were counted."""
        return self.count >= MAX_COUNTED

    @property
    def num_pages(self) -> int:
        """At least one."""
        return max(1, -(-self.count // self.page_size))

    @property
    def has_next(self) -> bool:
        """Whether a page follows."""
        return self.number < self.num_pages

    @property
    def is_where_pages_end(self) -> bool:
        """Whether this is the last page only because counting stopped."""
        return self.is_bounded and not self.has_next


class ListWindow:
    """Reads pages and exports of one query."""

    def __init__(self, query: ListQuery) -> None:
        self.query = query

    @cached_property
    def ahead(self) -> RowsAhead:
        """Rows without a place in the order."""
        declared = self.query.declaration.ahead
        if declared is None or self.query.errors:
            return RowsAhead(0, lambda _start, _stop: [])
        return declared(self.query.caller, self.query.asked)

    def page(self) -> ListPage:
        """The page that was asked for; the last one where there are fewer. Few queries."""
        size, number = self.query.page_size, self.query.page_number
        shown, has_more = self._slice((number - 1) * size)
        if not shown and number > 1:
            number = max(1, -(-self._count() // size))
            shown, has_more = self._slice((number - 1) * size)
        count = self._count() if has_more else (number - 1) * size + len(shown)
        return ListPage(shown, number, size, count)

    def _slice(self, start: int) -> tuple[list[Any], bool]:
        """The rows from a place on, and whether more follow."""
        stop = start + self.query.page_size
        ahead = self.ahead
        head = list(ahead.between(start, min(stop, ahead.count))) if start < ahead.count else []
        known = {row.pk for row in head}
        keys = self._keys(max(0, start - ahead.count), max(0, stop - ahead.count) + 1 + len(known))
        # One that got its place at this very moment would be there twice.
        own = [key for key in keys if key not in known]
        room = self.query.page_size - len(head)
        return [*head, *self.read(own[:room])], len(own) > room

    def _keys(self, start: int, stop: int) -> list[Any]:
        if start >= MAX_COUNTED:
            return []
        return list(self.query.rows.values_list("pk", flat=True)[start : min(stop, MAX_COUNTED + 1)])

    def _count(self) -> int:
        """At most MAX_COUNTED, so that the database stops there."""
        rows = self.query.rows.order_by().values("pk")[:MAX_COUNTED].count()
        return min(MAX_COUNTED, rows + self.ahead.count)

    def read(self, keys: Sequence[Any]) -> list[Any]:
        """These rows in this order; what was deleted since is left out."""
        if not keys:
            return []
        rows: QuerySet[Any] = self.query.base_rows
        found = {row.pk: row for row in rows.order_by().filter(pk__in=keys)}
        return [found[key] for key in keys if key in found]

    def batches(self) -> Iterator[Sequence[Any]]:
        """All rows that were asked for, prepared, some hundreds at a time: no transaction is open between two."""
        ahead, given = self.ahead, self.query.asked
        for start in range(0, ahead.count, EXPORT_BATCH):
            yield self._prepared(ahead.between(start, min(start + EXPORT_BATCH, ahead.count)), given)
        keys = list(self.query.rows.values_list("pk", flat=True)[:MAX_EXPORTED])
        for start in range(0, len(keys), EXPORT_BATCH):
            yield self._prepared(self.read(keys[start : start + EXPORT_BATCH]), given)

    def _prepared(self, rows: Sequence[Any], given: Asked) -> Sequence[Any]:
        return self.query.declaration.prepare(self.query.caller, rows, given)

    def is_too_large(self) -> bool:
        """Whether there are more rows than an export writes."""
        return self.query.rows.order_by().values("pk")[MAX_EXPORTED : MAX_EXPORTED + 1].exists()
