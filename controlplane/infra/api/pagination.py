"""Pages of lists: {count, next, previous, results}."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from django.db.models import QuerySet
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from controlplane.infra.api.cursors import PARAM, Position, in_total_order, page_after, position_read
from controlplane.kernel.errors import Invalid


@runtime_checkable
class Parted(Protocol):
    """A list that is several queries, one after the other."""

    parts: Sequence[QuerySet[Any]]

    def __len__(self) -> int: ...

    def shown(self, found: Sequence[tuple[int, Any]]) -> list[Any]:
        """What the list shows of rows, each with the number of its part."""


@dataclass(frozen=True, slots=True)
class _Walk:
    """A page of a walk: of how many rows, where it ended (None: it was the last), and how it was asked for."""

    count: int
    ends: Position | None
    address: str


class StandardPagination(PageNumberPagination):
    """`?page=` and `?page_size=`, at most 1000 rows at once. A page behind the last one is not found.

    `?cursor=` in place of a number begins a walk by cursors: `next` leads on, whatever comes and goes meanwhile.
    """

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 1000
    cursor_query_param = PARAM

    _walk: "_Walk | None" = None

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        """See DRF. Raises Invalid for a number that is none: no number of pages is known that has it."""
        _whole(request, self.page_query_param, or_else=self.last_page_strings)
        if PARAM in request.query_params:
            return self._walked(queryset, request)
        rows = in_total_order(queryset) if isinstance(queryset, QuerySet) else queryset
        return super().paginate_queryset(rows, request, view)

    def get_paginated_response(self, data: Any) -> Response:
        """See DRF. A walk goes one way."""
        if self._walk is None:
            return super().get_paginated_response(data)
        walk = self._walk
        following = replace_query_param(walk.address, PARAM, walk.ends.text()) if walk.ends else None
        return Response({"count": walk.count, "next": following, "previous": None, "results": data})

    def get_page_size(self, request: Request) -> int:
        """Raises Invalid."""
        return _whole(request, self.page_size_query_param, maximum=self.max_page_size) or self.page_size

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        """See DRF."""
        described = "Empty for the first page of a walk by cursors; after that, go where `next` leads."
        cursor = {
            "name": PARAM,
            "required": False,
            "in": "query",
            "description": described,
            "schema": {"type": "string"},
        }
        return [*super().get_schema_operation_parameters(view), cursor]

    def _walked(self, found: Any, request: Request) -> list[Any]:
        if self.page_query_param in request.query_params:
            raise Invalid("A page is asked for by its number or by a cursor, not by both.", field=PARAM)
        text, size, address = request.query_params[PARAM], self.get_page_size(request), request.build_absolute_uri()
        position = position_read(text) if text else None
        if isinstance(found, QuerySet):
            rows, ends = page_after([found], position, size)
            self._walk = _Walk(found.count(), ends, address)
            return [row for _, row in rows]
        if isinstance(found, Parted):
            rows, ends = page_after(found.parts, position, size)
            self._walk = _Walk(len(found), ends, address)
            return found.shown(rows)
        raise Invalid("This list has no cursors: its pages have numbers.", field=PARAM)


def _whole(request: Request, name: str, maximum: int | None = None, or_else: Collection[str] = ()) -> int | None:
    """The number that the parameter says; None where it says none."""
    raw = request.query_params.get(name, "")
    if not raw or raw in or_else:
        return None
    if not (raw.isdecimal() and raw.isascii()) or len(raw) > 12 or not 0 < int(raw) <= (maximum or int(raw)):
        raise Invalid(f"{name} is a whole number from 1{f' to {maximum}' if maximum else ''}.", field=name)
    return int(raw)
