"""One door as an OpenAPI 3.1 document."""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from controlplane.openstack.described import Schema
from controlplane.openstack.microversions import HEADER
from controlplane.openstack.openapi.types import TypeSchemas, body_types, may_be_empty, sends_bytes
from controlplane.openstack.openapi.views import ViewFacts, view_facts
from controlplane.openstack.routes import Endpoint, Route

if TYPE_CHECKING:
    from controlplane.openstack.door import Door

JSON, OCTETS = "application/json", "application/octet-stream"
MAY_BE_EMPTY = "x-may-be-empty"
"""Says of a response that it has no body for some requests, which OpenAPI has no word for."""
TOKEN = {"type": "apiKey", "in": "header", "name": "X-Auth-Token", "description": "A token of the Identity API."}
_WITH_BODY_ALONE = frozenset({413, 415})


def openapi_document(door: "Door[Any]", *, minor: int | None = None, server: str = "") -> dict[str, Any]:
    """The document of a door. `minor`: of that microversion alone; without it, of all: each method as the newest
    version has it that has it, those that ended before marked as deprecated. `server`: where the door is.
    """
    operations = _Operations(door, minor)
    paths = dict(operations.paths())
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"{door.name} API",
            "version": _version(door, minor),
            "summary": f"OpenStack's {door.name} API, as this installation answers it.",
        },
        "servers": [{"url": server or door.mount}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": TOKEN},
            "schemas": {"Fault": door.faults.schema, **operations.types.named},
            "parameters": _version_parameter(door),
        },
    }


def _version(door: "Door[Any]", minor: int | None) -> str:
    if door.versions is None:
        return "1"
    return door.versions.text(door.versions.max_minor if minor is None else minor)


def _version_parameter(door: "Door[Any]") -> dict[str, Any]:
    if door.versions is None:
        return {}
    served = door.versions
    lowest, highest = served.text(served.min_minor), served.text(served.max_minor)
    said = f"From {lowest}, which counts where nothing is said, to {highest}."
    example = f"{served.service_type} {highest}"
    schema = {"type": "string", "examples": [example]}
    return {"microversion": {"name": HEADER, "in": "header", "description": said, "schema": schema}}


class _Operations:
    """The methods of all paths, each under an id of its own."""

    def __init__(self, door: "Door[Any]", minor: int | None) -> None:
        self.door, self.minor = door, minor
        self.newest = door.versions.max_minor if door.versions else 0
        self.ids: set[str] = set()
        self.types = TypeSchemas()

    def paths(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Path by path, in the order of the route table."""
        for route in self.door.routes.routes:
            methods = {
                method.lower(): self._operation(route, method, endpoint)
                for method, endpoint in route.methods.items()
                if self.minor is None or endpoint.is_in(self.minor)
            }
            if methods:
                yield route.template, {**_path_parameters(route), **methods}

    def _operation(self, route: Route, method: str, endpoint: Endpoint) -> dict[str, Any]:
        minor = min(self.newest, endpoint.until or self.newest) if self.minor is None else self.minor
        facts = view_facts(endpoint.view)
        operation: dict[str, Any] = {
            "operationId": self._id(endpoint),
            "tags": [endpoint.view.__module__.rpartition(".")[2]],
            "summary": (endpoint.view.__doc__ or "").strip().partition("\n")[0],
            "parameters": [*self._versioned(), *_headers(facts), *_query_parameters(facts, minor)],
            "responses": self._responses(route, method, endpoint, facts),
        }
        if endpoint.access is not None:
            operation["description"] = f"Needs `{endpoint.access.value}`."
        if endpoint.until is not None and self.door.versions is not None:
            operation["deprecated"] = True
            operation["x-openstack-until"] = self.door.versions.text(endpoint.until)
        if endpoint.since and self.door.versions is not None:
            operation["x-openstack-since"] = self.door.versions.text(endpoint.since)
        if self._is_open(route, method):
            operation["security"] = []
        if body := _request_body(endpoint, facts, minor):
            operation["requestBody"] = body
        return operation

    def _id(self, endpoint: Endpoint) -> str:
        name = f"{endpoint.view.__module__.rpartition('.')[2]}.{endpoint.view.__name__}"
        free = next(one for n in range(1, 1000) if (one := name if n == 1 else f"{name}.{n}") not in self.ids)
        self.ids.add(free)
        return free

    def _versioned(self) -> list[dict[str, str]]:
        return [{"$ref": "#/components/parameters/microversion"}] if self.door.versions else []

    def _is_open(self, route: Route, method: str) -> bool:
        return route.template in self.door.open_paths or (method, route.template) in self.door.open_calls

    def _responses(self, route: Route, method: str, endpoint: Endpoint, facts: ViewFacts) -> dict[str, Any]:
        body = self._body(endpoint)
        done: dict[str, Any] = {
            str(status): {"description": HTTPStatus(status).phrase, **(body if status in facts.with_body else {})}
            for status in sorted(facts.statuses)
        }
        if facts.has_others or not done:
            done["2XX"] = {"description": "Done.", **body}
            if body and may_be_empty(endpoint.view) and facts.statuses <= facts.with_body:
                done["2XX"][MAY_BE_EMPTY] = True
        left_out = frozenset() if _takes_body(endpoint, facts) else _WITH_BODY_ALONE
        if self._is_open(route, method):
            left_out |= {403}
        content = {JSON: {"schema": {"$ref": "#/components/schemas/Fault"}}}
        for status in sorted(self.door.faults.statuses - left_out):
            done[str(status)] = {"description": HTTPStatus(status).phrase, "content": content}
        return done

    def _body(self, endpoint: Endpoint) -> dict[str, Any]:
        """What answers with a body have, as far as the view says it."""
        types = body_types(endpoint.view)
        content = {JSON: {"schema": self.types.of(*types)}} if types else {}
        if sends_bytes(endpoint.view):
            content[OCTETS] = {}
        return {"content": content} if content else {}


def _path_parameters(route: Route) -> dict[str, Any]:
    names = [part[1:-1] for part in route.template.split("/") if part.startswith("{")]
    found = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]
    return {"parameters": found} if found else {}


def _headers(facts: ViewFacts) -> Iterator[dict[str, Any]]:
    for name in sorted(facts.headers):
        yield {"name": name, "in": "header", "required": False, "schema": {"type": "string"}}


def _query_parameters(facts: ViewFacts, minor: int) -> Iterator[dict[str, Any]]:
    """By name. A parameter that is judged in two ways has the one that says more."""
    found: dict[str, Schema] = {name: {"type": "string"} for name in facts.names}
    required: set[str] = set()
    for schema in (described(minor) for described in facts.queries):
        if schema is not None:
            found |= schema.get("properties", {}) | dict(_of_patterns(schema.get("patternProperties", {})))
            required |= set(schema.get("required", ()))
    for name, schema in sorted(found.items()):
        yield {"name": name, "in": "query", "required": name in required, "schema": schema}


def _of_patterns(patterns: Mapping[str, Schema]) -> Iterator[tuple[str, Schema]]:
    """Of parameters whose names may end in a suffix: the name without one."""
    for pattern, schema in patterns.items():
        name, _, suffix = pattern.lstrip("^").partition("(")
        yield name, {**schema, "description": f"Its name may end in a suffix: {suffix.partition(')')[0]}."}


def _takes_body(endpoint: Endpoint, facts: ViewFacts) -> bool:
    return endpoint.takes or bool(endpoint.media_types or facts.bodies)


def _request_body(endpoint: Endpoint, facts: ViewFacts, minor: int) -> dict[str, Any] | None:
    if not _takes_body(endpoint, facts):
        return None
    schemas = [found for described in facts.bodies if (found := described(minor)) is not None]
    schema: Schema = schemas[0] if len(schemas) == 1 else {"anyOf": schemas} if schemas else {}
    if endpoint.takes and not schemas:
        return None
    return {
        "required": endpoint.takes,
        "content": {media: {"schema": schema} for media in endpoint.media_types or (JSON,)},
    }
