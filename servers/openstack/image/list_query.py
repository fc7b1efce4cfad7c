"""The query string of a list of images: which of them, in what order, and which page."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Q, QuerySet, Value
from django.db.models.fields.json import KeyTextTransform
from django.db.models.lookups import Exact
from django.http import QueryDict

from controlplane.kernel.booleans import FALSE_WORDS, TRUE_WORDS
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.described import Schema, names_schema
from controlplane.openstack.faults import bad_request
from servers.fields import INTEGER_MAX, is_storable
from servers.images.domain.images import ANY, MemberStatus, Visibility
from servers.images.domain.signatures import MD5
from servers.keyed_text import KEY
from servers.models import Image
from servers.openstack.image.attributes import is_base
from servers.openstack.image.image_json import HASH
from servers.openstack.image.query_words import moments_of, whole_number, words_of
from servers.openstack.paging import SortKey

PAGE, PAGE_MAX = 100, 1000
"""How many images a page has where no limit is asked for, and at most."""
VALUES_MAX = 128
"""Parameters of a query string: each one is a condition of one statement."""
REPEATED = frozenset({"tag", "sort_key", "sort_dir"})
NOT_FILTERS = frozenset({"limit", "marker", "sort", "sort_key", "sort_dir", "visibility", "member_status"})
SORTED = {
    "name": "name",
    "status": "status",
    "container_format": "container_format",
    "disk_format": "disk_format",
    "size": "size_bytes",
    "id": "pk",
    "created_at": "created_at",
    "updated_at": "updated_at",
}
DIRECTIONS = ("asc", "desc")
_NONE = Q(pk__in=[])


@dataclass(frozen=True, slots=True)
class ImagesAsked:
    """What a list is asked for, but for its filters."""

    visibility: str
    member_status: str
    limit: int
    marker: str
    keys: tuple[SortKey, ...]


def images_asked(query: QueryDict) -> ImagesAsked:
    """Raises Fault 400 for what is no value of its parameter."""
    if sum(len(values) for _, values in query.lists()) > VALUES_MAX:
        raise bad_request(f"More than {VALUES_MAX} parameters are given.")
    for name, values in query.lists():
        if len(values) > 1 and name not in REPEATED:
            raise bad_request(f"{name:.80} is given {len(values)} times.")
        if not all(map(is_storable, (name, *values))):
            raise bad_request("Invalid query string parameters: a value has characters that no text has.")
    visibility, member_status = query.get("visibility", ""), query.get("member_status", "")
    for name, value, words in (("visibility", visibility, Visibility), ("member_status", member_status, MemberStatus)):
        if name in query and value not in {*words, ANY}:
            raise bad_request(f"Invalid {name} value: {value:.80}; it must be one of {', '.join((*words, ANY))}.")
    limit = whole_number("limit", query.get("limit", "")) if "limit" in query else PAGE
    return ImagesAsked(visibility, member_status, min(limit, PAGE_MAX), query.get("marker", ""), _sort_keys(query))


def _sort_keys(query: QueryDict) -> tuple[SortKey, ...]:
    """`sort=name:asc,size` or `sort_key=name&sort_dir=asc`; the newest come first where nothing is said."""
    if "sort" in query:
        if "sort_key" in query or "sort_dir" in query:
            raise bad_request("Old and new sorting syntax cannot be combined.")
        pairs = [
            (key, direction or "desc")
            for key, _, direction in (one.partition(":") for one in query.get("sort", "").split(","))
        ]
    else:
        keys, directions = query.getlist("sort_key") or ["created_at"], query.getlist("sort_dir") or ["desc"]
        if len(directions) == 1:
            directions = directions * len(keys)
        if len(directions) != len(keys):
            raise bad_request("Number of sort dirs does not match the number of sort keys.")
        pairs = list(zip(keys, directions, strict=True))
    if len({key for key, _ in pairs}) < len(pairs):
        raise bad_request("A sort key is given more than once.")
    for key, direction in pairs:
        if key not in SORTED:
            raise bad_request(f"Invalid sort key: {key:.80}; it must be one of {', '.join(SORTED)}.")
        if direction not in DIRECTIONS:
            raise bad_request(f"Invalid sort direction: {direction:.80}; it must be one of {', '.join(DIRECTIONS)}.")
    return tuple(SortKey(SORTED[key], direction == "desc") for key, direction in pairs)


def images_filtered(rows: QuerySet[Image], query: QueryDict) -> QuerySet[Image]:
    """Those of the rows that every filter lets through. Raises Fault 400 for a filter that nothing can have."""
    visibility = query.get("visibility", ANY)
    if visibility != ANY:
        rows = rows.filter(visibility=visibility)
    for name in query:
        if name in NOT_FILTERS:
            continue
        for value in query.getlist(name):
            if name in FILTERS:
                rows = rows.filter(FILTERS[name](value))
            elif is_base(name):
                raise bad_request(f"Images cannot be listed by {name}.")
            elif not KEY.fullmatch(name):
                rows = rows.none()
            elif _is_number(name):  # which databases take for a place in a list
                raise bad_request(f"Images cannot be listed by {name:.80}: the name of a property is a number.")
            else:
                rows = rows.filter(Exact(KeyTextTransform(name, "properties"), Value(value)))
    return rows


def _is_number(name: str) -> bool:
    try:
        int(name)
    except ValueError:
        return False
    return True


def _words(name: str) -> Callable[[str], Q]:
    return lambda value: Q(**{f"{name}__in": words_of(name, value)})


def _ids(value: str) -> Q:
    return Q(pk__in=[pk for pk in map(parse_uuid, words_of("id", value)) if pk is not None])


def _number(name: str, column: str) -> Callable[[str], Q]:
    def condition(value: str) -> Q:
        number = whole_number(name, value)
        return Q(**{column: min(number, 2**63 - 1)}) if "size" in name or number <= INTEGER_MAX else _NONE

    return condition


def _flag(name: str, when: dict[bool, Q]) -> Callable[[str], Q]:
    def condition(value: str) -> Q:
        word = value.lower()
        if word not in TRUE_WORDS | FALSE_WORDS:
            raise bad_request(f"Invalid value {value:.80} for {name}: it must be true or false.")
        return when[word in TRUE_WORDS]

    return condition


def _moment(column: str) -> Callable[[str], Q]:
    """Moments are shown in whole seconds, so one equals any within its second."""

    def condition(value: str) -> Q:
        comparison, moment = moments_of(column, value)
        try:
            later = moment + timedelta(seconds=1)
        except OverflowError:
            later = datetime.max.replace(tzinfo=UTC)
        before, after = Q(**{f"{column}__lt": moment}), Q(**{f"{column}__gte": later})
        return {
            "lt": before,
            "lte": ~after,
            "gt": after,
            "gte": ~before,
            "eq": ~before & ~after,
            "neq": before | after,
        }[comparison]

    return condition


def _owner(value: str) -> Q:
    project_id = parse_uuid(value)
    return _NONE if project_id is None else Q(project_id=project_id)


class ImageFilters(dict[str, Callable[[str], Q]]):
    """{parameter: the condition that a value of it is}."""

    def query_schema(self, minor: int) -> Schema:
        """The parameters of a list, but for the names of properties, which any other name is."""
        return names_schema(NOT_FILTERS | self.keys())


FILTERS = ImageFilters(
    {
        "id": _ids,
        **{name: _words(name) for name in ("name", "status", "disk_format", "container_format")},
        "owner": _owner,
        "tag": lambda value: Q(pk__in=Image.objects.filter(tags__tag=value).values("pk")),
        "protected": _flag("protected", {True: Q(protected=True), False: Q(protected=False)}),
        "os_hidden": _flag("os_hidden", {True: _NONE, False: Q()}),
        "size": _number("size", "size_bytes"),
        "size_min": _number("size_min", "size_bytes__gte"),
        "size_max": _number("size_max", "size_bytes__lte"),
        "virtual_size": _number("virtual_size", "virtual_size_bytes"),
        "min_disk": _number("min_disk", "min_disk_gib"),
        "min_ram": _number("min_ram", "min_ram_mib"),
        "created_at": _moment("created_at"),
        "updated_at": _moment("updated_at"),
        "checksum": lambda value: Q(**{f"digests__{MD5}": value}),
        "os_hash_algo": lambda value: ~Q(checksum_sha256="") if value == HASH else _NONE,
        "os_hash_value": lambda value: Q(checksum_sha256=value.lower()) & ~Q(checksum_sha256=""),
    }
)
"""A name that stands here not is that of a property."""
