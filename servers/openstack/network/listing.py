"""Lists as Neutron's clients ask for them: filters by field, fields, order, and pages by marker."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, Q, QuerySet

from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.answers import Chosen
from controlplane.openstack.described import Schema, names_schema
from controlplane.openstack.shapes import LinkJson
from servers.networks.domain.ports import address_canonical, address_reasons
from servers.networks.selectors.tags import has_all_tags, has_any_tag, tags_in
from servers.openstack.network.call import D, NetworkCall
from servers.openstack.network.faults import invalid_input
from servers.openstack.paging import SortKey, page_after

R = TypeVar("R", bound=Model)
Condition = Callable[[Sequence[str]], Q]
"""What rows must be so that a field has one of these values. Raises ValueError with a reason for what is no value."""

MAX_PAGE = 1000
"""A longer list comes in pages, also where no limit is asked for; clients follow the links."""
_CONTROLS = frozenset({"fields", "sort_key", "sort_dir", "limit", "marker", "page_reverse"})
_YES, _NO = frozenset({"true", "1", "yes", "on", "t"}), frozenset({"false", "0", "no", "off", "f"})


@dataclass(frozen=True, slots=True)
class Listing(Generic[R]):
    """What a list can be narrowed and ordered by. `orders` maps fields to columns that always have a value;
    `admin_filters` are fields that others do not see.
    """

    plural: str
    path: str
    filters: Mapping[str, Condition]
    orders: Mapping[str, str]
    admin_filters: frozenset[str] = frozenset()

    def query_schema(self, minor: int) -> Schema:
        """All parameters of the list."""
        return names_schema(_CONTROLS | frozenset(self.filters))


@dataclass(frozen=True, slots=True)
class ListedPage(Generic[D]):
    """A page of a list, and where the next one and the one before are, as far as there are any."""

    shown: list[Chosen[D]]
    links: list[LinkJson]


def texts(column: str, **words: str) -> Condition:
    """Exactly one of them. `words`: how we call what Neutron calls otherwise."""
    return lambda values: Q(**{f"{column}__in": [words.get(value, value) for value in values]})


def ids(column: str) -> Condition:
    """What is no id, nothing has."""
    return lambda values: Q(**{f"{column}__in": [one for one in map(parse_uuid, values) if one]})


def addresses(column: str) -> Condition:
    """Written in whatever way; what is no address, nothing has."""
    return lambda values: Q(**{f"{column}__in": [address_canonical(one) for one in values if not address_reasons(one)]})


def numbers(column: str) -> Condition:
    """Whole numbers."""
    return lambda values: Q(**{f"{column}__in": [_number(value) for value in values]})


BY_TAGS: Mapping[str, Condition] = {
    "tags": lambda values: has_all_tags(tags_in(values)),
    "tags-any": lambda values: has_any_tag(tags_in(values)),
    "not-tags": lambda values: ~has_all_tags(tags_in(values)),
    "not-tags-any": lambda values: ~has_any_tag(tags_in(values)),
}
"""Filters of what has tags."""


def flags(holds: str | Q) -> Condition:
    """Yes and no, of a column or of a condition."""
    condition = Q(**{holds: True}) if isinstance(holds, str) else holds

    def found(values: Sequence[str]) -> Q:
        wanted = {flag_of(value) for value in values}
        return Q() if len(wanted) == 2 else condition if wanted == {True} else ~condition

    return found


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ValueError(f"{text:.60} is no whole number.")
    return int(text)


def flag_of(text: str) -> bool:
    """Raises ValueError for what says neither."""
    if text.lower() not in _YES | _NO:
        raise ValueError(f"{text:.60} is neither true nor false.")
    return text.lower() in _YES


def listed(
    call: NetworkCall, listing: Listing[R], rows: QuerySet[R], show: Callable[[Sequence[R]], list[D]]
) -> ListedPage[D]:
    """The page that the query asks for. Raises Fault 400 for what the list cannot be narrowed or ordered by."""
    rows = rows.filter(_conditions(call, listing))
    is_back = _flag(call, "page_reverse")
    keys = _keys(call, listing, is_back=is_back)
    limit, marker = _limit(call), _marker(call, rows)
    found, has_more = page_after(rows, keys, marker=marker, limit=limit or MAX_PAGE)
    if is_back:
        found.reverse()
    has_next, has_previous = (marker is not None, has_more) if is_back else (has_more, marker is not None and limit)
    links: list[LinkJson] = []
    if found and has_next:
        links.append({"rel": "next", "href": _href(call, listing, found[-1].pk, limit, is_back=False)})
    if found and has_previous:
        links.append({"rel": "previous", "href": _href(call, listing, found[0].pk, limit, is_back=True)})
    return ListedPage([call.chosen(one) for one in show(found)], links)


def _conditions(call: NetworkCall, listing: Listing[R]) -> Q:
    found = Q()
    for name in call.query:
        if name in _CONTROLS:
            continue
        condition = listing.filters.get(name)
        if condition is None or (name in listing.admin_filters and not call.caller.sees_all):
            raise invalid_input(name, f"It is no filter of {listing.path}.")
        try:
            found &= condition(call.query.getlist(name))
        except ValueError as error:
            raise invalid_input(name, str(error)) from error
    return found


def _keys(call: NetworkCall, listing: Listing[R], *, is_back: bool) -> list[SortKey]:
    """The order that is asked for; else the id's."""
    names, ways = call.query.getlist("sort_key"), call.query.getlist("sort_dir")
    if len(ways) not in (0, len(names)):
        raise invalid_input("sort_dir", "There must be one for each sort_key.")
    keys = []
    for name, way in zip(names, ways or ["asc"] * len(names), strict=True):
        if name not in listing.orders:
            raise invalid_input("sort_key", f"{listing.path} cannot be ordered by {name:.60}.")
        if way not in ("asc", "desc"):
            raise invalid_input("sort_dir", f"{way:.60} is neither asc nor desc.")
        keys.append(SortKey(listing.orders[name], (way == "desc") is not is_back))
    return keys or [SortKey("pk", is_back)]


def _limit(call: NetworkCall) -> int:
    """Up to the limit of a page; 0 where none is asked for."""
    try:
        return min(_number(call.query.get("limit", "0")), MAX_PAGE)
    except ValueError as error:
        raise invalid_input("limit", str(error)) from error


def _marker(call: NetworkCall, rows: QuerySet[R]) -> R | None:
    text = call.query.get("marker")
    if text is None:
        return None
    known = parse_uuid(text)
    found = rows.filter(pk=known).first() if known else None
    if found is None:
        raise invalid_input("marker", f"{text:.80} is not in the list.")
    return found


def _flag(call: NetworkCall, name: str) -> bool:
    try:
        return flag_of(call.query.get(name, "false"))
    except ValueError as error:
        raise invalid_input(name, str(error)) from error


def _href(call: NetworkCall, listing: Listing[Any], marker: uuid.UUID, limit: int, *, is_back: bool) -> str:
    query = call.query.copy()
    query["marker"] = str(marker)
    if limit:
        query["limit"] = str(limit)
    query.pop("page_reverse", None)
    if is_back:
        query["page_reverse"] = "True"
    return f"{call.absolute_url('v2.0', listing.path)}?{query.urlencode()}"
