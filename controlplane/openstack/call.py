"""One request at this door, and the answers to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import orjson
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.encoding import iri_to_uri

from controlplane.openstack.answers import Empty, JsonAnswer
from controlplane.openstack.faults import ApiFault, bad_request
from controlplane.openstack.schemas import CompiledSchema

# The only way to write it: JSON may not have the bare character, nor orjson accept it.
ESCAPED_NUL = b"\\u0000"

_ORIGIN = "kilonova.origin"
Body = TypeVar("Body")


def _origin(request: HttpRequest) -> str:
    """Scheme and host; worked out once a request, since a list of a thousand servers has four thousand links."""
    found = request.META.get(_ORIGIN)
    if found is None:
        found = request.META[_ORIGIN] = request.build_absolute_uri("/").removesuffix("/")
    return str(found)


@dataclass(frozen=True, slots=True)
class Call:
    """What a view gets: the request, its minor version, and where the door is mounted."""

    request: HttpRequest
    minor: int
    prefix: str

    @property
    def query(self) -> QueryDict:
        """The parameters of the query string, decoded."""
        return self.request.GET

    def body(self, schema: CompiledSchema) -> Any:
        """The JSON body, judged by `schema`. Raises Fault 400."""
        try:
            data = orjson.loads(self.request.body)
        except orjson.JSONDecodeError as error:
            raise bad_request(f"Malformed JSON: {error}") from error
        if ESCAPED_NUL in self.request.body:
            raise bad_request("JSON does not validate: a text has a NUL character, which no database keeps.")
        if complaint := schema.complaint(data):
            raise bad_request(f"JSON does not validate: {complaint}")
        return data

    def check_json(self) -> None:
        """For a method that takes a body in some versions only. Raises Fault 415."""
        if self.request.content_type != "application/json":
            raise ApiFault(
                415, f"The media type {self.request.content_type or 'None'} is not supported, use application/json"
            )

    def check_query(self, schema: CompiledSchema) -> None:
        """Judge the query string; of a repeated parameter the last value. Raises Fault 400."""
        if complaint := schema.complaint(self.request.GET.dict()):
            raise bad_request(f"Invalid query string parameters: {complaint}")

    def url(self, *parts: object) -> str:
        """The path of a resource of this API, as links show it: relative to the server, with the mount prefix."""
        return "/".join((self.prefix, *map(str, parts)))

    def absolute_url(self, *parts: object) -> str:
        """The same with scheme and host, as the client used them."""
        return _origin(self.request) + str(iri_to_uri(self.url(*parts)))

    def answer(
        self,
        data: Body,
        *,
        status: int = 200,
        modified: datetime | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> JsonAnswer[Body]:
        """`data` as JSON; bytes are JSON already. `modified`: when the resource last changed, where that is known."""
        body = data if isinstance(data, bytes) else orjson.dumps(data)
        response: JsonAnswer[Body] = JsonAnswer(body, status=status, content_type="application/json")
        self.cache_headers(response, modified)
        for name, value in (headers or {}).items():
            response[name] = value
        return response

    def empty(
        self, *, status: int = 204, modified: datetime | None = None, is_cached: bool = False, location: str = ""
    ) -> Empty:
        """No body. Caching headers only where the original sends them with an empty answer: `is_cached`."""
        response = Empty(status=status)
        del response["Content-Type"]
        if location:
            response["Location"] = location
        if is_cached:
            self.cache_headers(response, modified)
        return response

    def cache_headers(self, response: HttpResponse, modified: datetime | None) -> None:
        """What the service says of caching; by default nothing."""
