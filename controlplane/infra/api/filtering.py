"""Query parameters of the own REST API are a closed set, as the fields of bodies are: a typo must not silently show
everything. What a view reads is what its part of the OpenAPI document says (`extend_schema(parameters=...)`), and in
lists also their filters, their order and their pages. Where it says that a method has no body, none is taken.
"""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, ClassVar

from django.db.models import QuerySet
from django_filters import MultipleChoiceFilter
from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.utils import OpenApiParameter
from rest_framework.filters import OrderingFilter
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from controlplane.infra.list_filters import ListFilterSet
from controlplane.kernel.errors import Invalid, InvalidFields

LONGEST_NAME = 80
"""Characters of a name that are said back."""
WRITES = {"POST", "PUT", "PATCH", "DELETE"}


class KnownInput(BasePermission):
    """Stands behind the check of roles, the last thing that every view does first: strangers learn no names."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """True. Raises InvalidFields for parameters that the view does not read, for one that is given twice, and for a
        body where it reads none.
        """
        handler = _handler_of(view, request)
        if handler is not None:
            _check_parameters(request, view, handler)
            _check_body(request, view, handler)
        return True


def _check_parameters(request: Request, view: Any, handler: Any) -> None:
    asked = request.query_params
    if not asked:
        return
    known = dict(_parameters(view, request, handler))
    problems = {name[:LONGEST_NAME]: [_unknown(name, known)] for name in asked if name not in known}
    for name, is_list in known.items():
        if not is_list and len(asked.getlist(name)) > 1:
            problems[name] = ["It may be given once."]
    if problems:
        raise InvalidFields(problems)


def _check_body(request: Request, view: Any, handler: Any) -> None:
    """Clients that always send one may send an empty object."""
    if request.method not in WRITES or _Declared.of(view, request, handler).has_body or not request.data:
        return
    if isinstance(request.data, dict):
        raise InvalidFields({str(name)[:LONGEST_NAME]: ["There is no such field."] for name in request.data})
    raise Invalid("Nothing is read from the body here.", field="body")


class KnownFilters(DjangoFilterBackend):
    """By the view's `filterset_class`, or by the columns of its `filterset_fields`."""

    filterset_base = ListFilterSet


class KnownOrder(OrderingFilter):
    """By the view's `ordering_fields`; any other order is refused."""

    def remove_invalid_fields(
        self, queryset: QuerySet[Any], fields: Iterable[str], view: Any, request: Request
    ) -> list[str]:
        """All of them. Raises Invalid."""
        known = [name for name, _title in self.get_valid_fields(queryset, view, {"request": request})]
        asked = list(fields)
        for field in asked:
            if field.removeprefix("-") not in known:
                raise Invalid(f"Not sorted by {field:.80}, but by {', '.join(known)}.", field=self.ordering_param)
        return asked


class _Declared:
    """What the document says of a handler, read once in a process."""

    made: ClassVar[dict[Any, "_Declared"]] = {}

    def __init__(self, schema: Any) -> None:
        self.parameters = dict(_in_query(schema.get_override_parameters()))
        """Its own, each with whether it may be given several times."""
        self.is_list: bool = schema._is_list_view()
        self.has_body = schema.method != "DELETE" and schema.get_request_serializer() is not None

    @classmethod
    def of(cls, view: Any, request: Request, handler: Any) -> "_Declared":
        method = "GET" if request.method == "HEAD" else str(request.method)
        key = (type(view), handler.__name__, method)
        if key not in cls.made:
            kind = getattr(handler, "kwargs", {}).get("schema") or type(view.schema)
            schema = kind()
            schema.view, schema.method, schema.path = view, method, ""
            cls.made[key] = cls(schema)
        return cls.made[key]


def _in_query(declared: list[Any]) -> Iterator[tuple[str, bool]]:
    for one in declared:
        if not isinstance(one, OpenApiParameter):
            yield from ((name, False) for name in one().fields)
        elif one.location == OpenApiParameter.QUERY:
            yield one.name, one.many is True


def _handler_of(view: Any, request: Request) -> Any:
    """The method that will answer; None where that is no view's own: OPTIONS, and what it does not have."""
    if request.method == "OPTIONS":
        return None
    method = "get" if request.method == "HEAD" else str(request.method).lower()
    return getattr(view, getattr(view, "action", None) or method, None)


def _parameters(view: Any, request: Request, handler: Any) -> Iterator[tuple[str, bool]]:
    """The names of all that it reads, each with whether it may be given several times."""
    declared = _Declared.of(view, request, handler)
    yield from declared.parameters.items()
    if len(view.renderer_classes) > 1:
        yield view.settings.URL_FORMAT_OVERRIDE, False
    if not declared.is_list:
        return
    for backend in getattr(view, "filter_backends", ()):
        if issubclass(backend, OrderingFilter):
            yield backend.ordering_param, False
        elif issubclass(backend, DjangoFilterBackend):
            yield from ((name, False) for name in getattr(view, "filterset_fields", ()))
            filterset = getattr(view, "filterset_class", None)
            for name, one in filterset.base_filters.items() if filterset else ():
                yield name, isinstance(one, MultipleChoiceFilter)
    if (paginator := getattr(view, "paginator", None)) is not None:
        yield paginator.page_query_param, False
        yield paginator.page_size_query_param, False
        yield paginator.cursor_query_param, False


def _unknown(name: str, known: dict[str, bool]) -> str:
    if near := get_close_matches(name, known, n=1, cutoff=0.65):
        return f"There is no such parameter; there is {near[0]}."
    return "There is no such parameter."
