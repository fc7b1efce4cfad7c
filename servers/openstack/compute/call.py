"""One request to the Compute API."""

from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

from controlplane.kernel.errors import NotFound
from controlplane.kernel.ids import parse_uuid
from controlplane.openstack.faults import bad_request
from controlplane.openstack.schemas import CompiledSchema
from servers.openstack.call import ServersCall

VERSION = "v2.1"
STRICT_QUERIES_SINCE = 75
MAX_LIMIT = 1000
"""As many members has a page at most."""


@dataclass(frozen=True, slots=True)
class ComputeCall(ServersCall):
    """A call to this door; `minor` is its microversion."""

    def links(self, *parts: object) -> list[dict[str, str]]:
        """Where a resource is: with the version in the path, and without it."""
        return [{"rel": "self", "href": self.absolute_url(VERSION, *parts)}, *self.bookmark(*parts)]

    def bookmark(self, *parts: object) -> list[dict[str, str]]:
        """The one link that a resource has where it stands inside of another one."""
        return [{"rel": "bookmark", "href": self.absolute_url(*parts)}]

    def next_links(self, marker: object, *parts: object) -> list[dict[str, str]]:
        """The page after this one: the same question, from `marker` on."""
        query = self.query.copy()
        query["marker"] = str(marker)
        return [{"rel": "next", "href": f"{self.absolute_url(VERSION, *parts)}?{query.urlencode()}"}]

    def check_names(self, known: frozenset[str]) -> None:
        """Refuse parameters of the query that nobody knows, in the versions in which Nova does. Raises Fault 400."""
        unknown = sorted(set(self.query) - known)
        if unknown and self.minor >= STRICT_QUERIES_SINCE:
            raise bad_request(f"Additional properties are not allowed ({', '.join(unknown):.200} unexpected)")

    def whole_number(self, name: str, default: int, *, maximum: int) -> int:
        """A parameter of the query that is no less than 0; more than `maximum` is `maximum`. Raises Fault 400."""
        value = self.query.get(name)
        if value is None:
            return default
        if not (value.isdecimal() and value.isascii()) or len(value) > 12:
            raise bad_request(f"Invalid input for query parameters {name}. Value: {value:.80}. It must be a number.")
        return min(int(value), maximum)

    def limit(self) -> int:
        """How many members a page may have."""
        return self.whole_number("limit", MAX_LIMIT, maximum=MAX_LIMIT)

    def named(self, key: str, schema: CompiledSchema) -> Any:
        """What a body has under its one key, judged by `schema` as a whole. Raises Fault 400."""
        return self.body(schema)[key]


def uuid_of(text: str, *, what: str) -> Any:
    """The id in a path. Raises NotFound where it is none, since nothing can be there."""
    found = parse_uuid(text)
    if found is None:
        raise NotFound(f"{what} {text:.80} could not be found.")
    return found


def multi_values(query: QueryDict, name: str) -> list[str]:
    """All values of a parameter that may come more than once."""
    return [value for value in query.getlist(name) if value]
