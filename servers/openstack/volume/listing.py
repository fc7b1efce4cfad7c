"""Lists: what they can be filtered and sorted by, stands in a table; pages go by marker. Unknown parameters are 400."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

import orjson
from django.db.models import Model, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.lookups import Exact
from django.utils.dateparse import parse_datetime

from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.moments import in_utc
from controlplane.openstack.described import Schema, names_schema
from controlplane.openstack.faults import bad_request, not_found
from servers.openstack.paging import SortKey, page_after
from servers.openstack.volume.access import VolumeAccess
from servers.openstack.volume.call import MAX_LIMIT, VolumeCall, flag_of

R = TypeVar("R", bound=Model)
Beside = TypeVar("Beside", bound=Mapping[str, Any])
LIKE_SINCE, COUNT_SINCE = 34, 45
OLD_SORT_KEYS = {"display_name": "name"}
"""What Cinder's first version called keys by which it sorts still."""
OF_PAGES = frozenset({"limit", "marker", "offset", "sort", "sort_key", "sort_dir"})
OF_PROJECTS = frozenset({"all_tenants", "project_id"})
NOTHING = Q(pk__in=[])


@dataclass(frozen=True, slots=True)
class VolumeListFilter:
    """One parameter: what it asks of rows. `since`: the first version that has it."""

    condition: Callable[[str], Any]
    since: int = 0


def text_is(column: str) -> VolumeListFilter:
    """The very text."""
    return VolumeListFilter(lambda value: Q(**{column: value}))


def text_has(column: str) -> VolumeListFilter:
    """A part of the text."""
    return VolumeListFilter(lambda value: Q(**{f"{column}__icontains": value}), LIKE_SINCE)


def id_is(column: str) -> VolumeListFilter:
    """An id, with dashes or without; what is none finds nothing."""
    return VolumeListFilter(lambda value: Q(**{column: found}) if (found := parse_uuid(value)) else NOTHING)


def number_is(column: str) -> VolumeListFilter:
    """A whole number."""

    def condition(value: str) -> Q:
        if not (value.isdecimal() and value.isascii()) or len(value) > 9:
            raise bad_request(f"Invalid filter: {value!r:.40} is no whole number.")
        return Q(**{column: int(value)})

    return VolumeListFilter(condition)


def flag_is(column: str) -> VolumeListFilter:
    """A truth value."""
    return VolumeListFilter(lambda value: Q(**{column: flag_of(column, value)}))


def keyed_texts(column: str) -> VolumeListFilter:
    """Keys with their texts, as an object: in JSON, or as Python's clients print one."""

    def condition(value: str) -> Q:
        whole = Q()
        for key, text in object_of(value).items():
            whole &= Q(Exact(KeyTextTransform(str(key), column), str(text)))
        return whole

    return VolumeListFilter(condition)


def counted_in_quota(value: str) -> Q:
    """All that there are."""
    return Q() if flag_of("consumes_quota", value) else NOTHING


def moment_is(column: str) -> VolumeListFilter:
    """Times with what to compare them by: `gt:2026-01-01T00:00:00,lte:...`."""

    def condition(value: str) -> Q:
        whole = Q()
        for part in value.split(","):
            operator, _, text = part.partition(":")
            try:
                found = parse_datetime(text)
                moment = in_utc(found) if found is not None else None
            except ValueError:
                moment = None
            if operator not in ("gt", "gte", "eq", "neq", "lt", "lte") or moment is None:
                raise bad_request(
                    f"Invalid {column} value {part!r:.60}: write gt, gte, eq, neq, lt or lte, : and a time."
                )
            whole &= _compared(column, operator, moment)
        return whole

    return VolumeListFilter(condition, since=60)


def _compared(column: str, operator: str, moment: datetime) -> Q:
    match operator:
        case "eq":
            return Q(**{column: moment})
        case "neq":
            return ~Q(**{column: moment})
        case _:
            return Q(**{f"{column}__{operator}": moment})


def object_of(value: str) -> Mapping[str, object]:
    """An object in a query, in JSON or as Python's clients print one. Raises Fault 400."""
    for read in (orjson.loads, ast.literal_eval):
        try:
            found = read(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(found, dict) and len(found) <= 20:
            return found
    raise bad_request(f"Invalid filter: {value!r:.60} is no object of keys and texts.")


@dataclass(frozen=True, slots=True)
class VolumePage(Generic[Beside]):
    """Some of the rows, and what stands beside them in the answer: links and the count, where there are any."""

    rows: list[Any]
    beside: Beside


@dataclass(frozen=True, slots=True)
class VolumeListing(Generic[Beside]):
    """A collection: the name of its links, its filters, and columns by the keys of `sort`. `project` is the column
    that says whose a row is; without one, rows are nobody's. `Beside`: the type of what stands beside the rows.
    """

    links: str
    filters: Mapping[str, VolumeListFilter]
    sort_keys: Mapping[str, str]
    project: str = ""
    order: tuple[SortKey, ...] = field(default=(SortKey("created_at", is_descending=True),))

    def page(self, call: VolumeCall, rows: QuerySet[R], *, but: frozenset[str] = frozenset()) -> VolumePage[Beside]:
        """The rows that the query asks for, of those that the caller may know of. `but`: parameters that the view reads
        by itself. Raises Fault 400; Forbidden for other projects' rows.
        """
        marker = self._marker(call, self._of_projects(call, rows))
        rows = self.filtered(call, rows, but=but)
        limit = min(call.number("limit", MAX_LIMIT), MAX_LIMIT)
        keys = self._order(call)
        found, has_more = page_after(rows, keys, marker=marker, limit=limit, offset=call.number("offset", 0))
        beside: dict[str, Any] = {self.links: call.next_links(found[-1].pk)} if has_more and found else {}
        if call.minor >= COUNT_SINCE and "with_count" in call.query and call.flag("with_count"):
            beside["count"] = rows.count()
        return VolumePage(list(found), cast("Beside", beside))

    def filtered(self, call: VolumeCall, rows: QuerySet[R], *, but: frozenset[str] = frozenset()) -> QuerySet[R]:
        """The same of all pages."""
        self._check(call, but)
        rows = self._of_projects(call, rows)
        for name, one in self.filters.items():
            for value in call.query.getlist(name):
                rows = rows.filter(one.condition(value))
        return rows

    def query_schema(self, minor: int) -> Schema:
        """The parameters that this version has."""
        return names_schema(self._known(minor))

    def _known(self, minor: int) -> frozenset[str]:
        known = OF_PAGES | (OF_PROJECTS if self.project else frozenset())
        known |= {name for name, one in self.filters.items() if one.since <= minor}
        return known | {"with_count"} if minor >= COUNT_SINCE else known

    def _check(self, call: VolumeCall, but: frozenset[str]) -> None:
        if unknown := sorted(set(call.query) - self._known(call.minor) - but):
            raise bad_request(f"Invalid filters {', '.join(unknown):.200} are found in query options.")

    def _of_projects(self, call: VolumeCall, rows: QuerySet[R]) -> QuerySet[R]:
        if not self.project:
            return rows
        if call.flag("all_tenants"):
            call.require(VolumeAccess.PROJECTS_READ)
        else:
            rows = rows.filter(**{self.project: call.caller.project_id})
        if asked := call.query.get("project_id"):
            rows = rows.filter(id_is(self.project).condition(asked))
        return rows

    def _marker(self, call: VolumeCall, rows: QuerySet[R]) -> R | None:
        """The row that the last page ended with, which a filter may not show any more."""
        named = call.query.get("marker")
        if not named:
            return None
        found = parse_uuid(named)
        row = rows.filter(pk=found).first() if found else None
        if row is None:
            raise not_found(f"Marker {named:.80} could not be found.")
        return row

    def _order(self, call: VolumeCall) -> list[SortKey]:
        query = call.query
        if "sort" in query and ("sort_key" in query or "sort_dir" in query):
            raise bad_request("The 'sort_key' and 'sort_dir' parameters are deprecated and cannot be used with 'sort'.")
        if (sort := query.get("sort")) is not None:
            pairs = [one.strip().partition(":")[::2] for one in sort.split(",")]
        elif "sort_key" in query or "sort_dir" in query:
            pairs = [(query.get("sort_key", "created_at"), query.get("sort_dir", ""))]
        else:
            return list(self.order)
        return [self._sort_key(name, direction or "desc") for name, direction in pairs]

    def _sort_key(self, name: str, direction: str) -> SortKey:
        name = OLD_SORT_KEYS.get(name, name)
        if name not in self.sort_keys:
            raise bad_request(f"Sort key {name!r:.40} is none of {', '.join(sorted(self.sort_keys))}.")
        if direction not in ("asc", "desc"):
            raise bad_request(f"Unknown sort direction {direction!r:.20}, must be 'asc' or 'desc'.")
        return SortKey(self.sort_keys[name], direction == "desc")
