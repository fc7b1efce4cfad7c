"""Pages of lists: {count, next, previous, results}."""

from collections.abc import Collection
from typing import Any

from django.db.models import QuerySet
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request

from controlplane.kernel.errors import Invalid


class StandardPagination(PageNumberPagination):
    """`?page=` and `?page_size=`, at most 1000 rows at once. A page behind the last one is not found."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 1000

    def paginate_queryset(self, queryset: QuerySet[Any], request: Request, view: Any = None) -> list[Any] | None:
        """See DRF. Raises Invalid for a number that is none: no number of pages is known that has it."""
        _whole(request, self.page_query_param, or_else=self.last_page_strings)
        return super().paginate_queryset(queryset, request, view)

    def get_page_size(self, request: Request) -> int:
        """Raises Invalid."""
        return _whole(request, self.page_size_query_param, maximum=self.max_page_size) or self.page_size


def _whole(request: Request, name: str, maximum: int | None = None, or_else: Collection[str] = ()) -> int | None:
    """The number that the parameter says; None where it says none."""
    raw = request.query_params.get(name, "")
    if not raw or raw in or_else:
        return None
    if not (raw.isdecimal() and raw.isascii()) or len(raw) > 12 or not 0 < int(raw) <= (maximum or int(raw)):
        raise Invalid(f"{name} is a whole number from 1{f' to {maximum}' if maximum else ''}.", field=name)
    return int(raw)
