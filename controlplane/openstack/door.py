"""The one view of a door: identity, version, route, form, access - in this order - and then the endpoint."""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Generic, Protocol, TypeVar

import orjson
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.http.response import HttpResponseBase

from controlplane.kernel.errors import Forbidden, KilonovaError, NotFound
from controlplane.openstack.call import Call
from controlplane.openstack.cors import cors_headers, preflight
from controlplane.openstack.faults import ApiFault, FaultsDescribed, bad_request, not_found
from controlplane.openstack.microversions import (
    Microversions,
    VersionNotServedError,
    VersionUnreadableError,
)
from controlplane.openstack.openapi.document import openapi_document
from controlplane.openstack.routes import Endpoint, RouteTable

log = logging.getLogger(__name__)

JSON = "application/json"
DOCUMENT = "/openapi.json"
"""The path of the OpenAPI document, below a door's mount."""
C = TypeVar("C")
"""The service's own class of callers."""


def default_fault(error: KilonovaError) -> ApiFault:
    """An error of a service as a fault, where the door has no table of its own."""
    match error:
        case NotFound():
            return not_found(error.message)
        case Forbidden():
            return ApiFault(403, error.message)
        case _:
            return ApiFault(409 if error.retryable else 400, error.message)


class FaultResponse(Protocol):
    """Gives a fault the shape that the service's clients read. `minor` is None where the version is not known yet."""

    def __call__(self, fault: ApiFault, *, minor: int | None, accept: str, method: str) -> HttpResponse: ...


@dataclass(frozen=True, slots=True, eq=False)
class Door(Generic[C]):
    """One OpenStack API, mounted at `mount`.

    `caller_of` finds who sent a request and raises Fault 401; `require_access` raises Fault 403; `call_of` makes what
    views get; `origins` are the cross-origin hosts that the settings allow. `open_paths` need no caller, nor do
    `open_calls`, each a method and a path. An API without microversions has no `versions`, and its minor version is 0.
    `path_of` gives the path as the routes have it, where clients write it in more than one way; `error_fault` says what
    fault an error of a service is, and `faults` what documents say of faults. Addresses of `plain_methods` have no
    parameters, whatever the path, so any is refused. The door's own document is at DOCUMENT, for everybody, as its
    version documents are.
    """

    name: str
    mount: str
    versions: Microversions | None
    routes: RouteTable
    caller_of: Callable[[HttpRequest], C]
    require_access: Callable[[C, Any], None]
    call_of: Callable[[HttpRequest, int, str, C | None], Call]
    fault_response: FaultResponse
    origins: Callable[[], Collection[str]]
    faults: FaultsDescribed
    open_paths: Collection[str] = ("", "/")
    open_calls: Collection[tuple[str, str]] = ()
    path_of: Callable[[str, C | None], str] | None = None
    error_fault: Callable[[KilonovaError], ApiFault] = default_fault
    plain_methods: Collection[str] = ()

    def serve(self, request: HttpRequest) -> HttpResponseBase:
        """Answer one request. Never raises: what is unforeseen is logged and becomes a 500 in this door's shape."""
        origins = self.origins()
        response = preflight(request, origins)
        return cors_headers(request, response if response is not None else self._answered(request), origins)

    def _answered(self, request: HttpRequest) -> HttpResponseBase:
        minor = None
        try:
            path = request.path_info.removeprefix(self.mount)
            caller = None if self._is_open(request.method or "", path) else self.caller_of(request)
            minor = self.versions.minor_of(request.headers) if self.versions else 0
            path = self.path_of(path, caller) if self.path_of else path
            response = self._dispatched(request, path, caller, minor)
        except Exception as error:  # noqa: BLE001 - the outermost frame of this door: no traceback may leave it
            accept = request.META.get("HTTP_ACCEPT", "")
            fault = self._fault_of(error)
            response = self.fault_response(fault, minor=minor, accept=accept, method=request.method or "")
        if minor is not None and self.versions is not None:
            for name, value in self.versions.answer_headers(minor).items():
                response[name] = value
        return response

    def _fault_of(self, error: Exception) -> ApiFault:
        match error:
            case ApiFault():
                fault = error
            case VersionUnreadableError():
                fault = bad_request(str(error))
            case VersionNotServedError():
                fault = ApiFault(406, str(error))
            case KilonovaError():
                fault = self.error_fault(error)
            case RequestDataTooBig():
                fault = ApiFault(413, str(error))
            case UnreadablePostError():
                fault = bad_request("The body could not be read.")
            case _:
                log.error("the %s API failed", self.name, exc_info=error)
                fault = ApiFault(500, "This is a mistake of the server, which has logged it under this request id.")
        return fault

    def _dispatched(self, request: HttpRequest, path: str, caller: C | None, minor: int) -> HttpResponseBase:
        _check_length(request)
        _check_characters(request, path)
        if path == DOCUMENT:
            return self._document(request)
        found = self.routes.find(path or "/")
        if found is None:
            raise not_found()
        route, parameters = found
        endpoint = route.methods.get(request.method or "")
        if endpoint is None:
            raise ApiFault(405, "The method specified is not allowed for this resource.", allow=route.allow)
        if not endpoint.is_in(minor):
            raise ApiFault(endpoint.missing, allow=route.allow if endpoint.missing == 405 else "")
        _check_form(request, endpoint)
        if request.method in self.plain_methods and request.GET:
            unknown = ", ".join(sorted(request.GET))
            raise bad_request(f"Invalid query string parameters: {unknown:.200} are not known here.")
        if endpoint.access is not None and caller is not None:
            self.require_access(caller, endpoint.access)
        prefix = request.META.get("SCRIPT_NAME", "").rstrip("/") + self.mount
        return endpoint.run(self.call_of(request, minor, prefix, caller), parameters)

    def _is_open(self, method: str, path: str) -> bool:
        return path in self.open_paths or path == DOCUMENT or (method, path) in self.open_calls

    def _document(self, request: HttpRequest) -> HttpResponse:
        """Of all microversions, or of the one that `microversion` names. Raises Fault 400, 405."""
        if request.method != "GET":
            raise ApiFault(405, "The method specified is not allowed for this resource.", allow="GET")
        asked = request.GET.get("microversion")
        if asked is not None and self.versions is None:
            raise bad_request(f"The {self.name} API has no microversions.")
        minor = None
        if asked is not None and self.versions is not None:
            minor = self.versions.minor_asked_for(f"{self.versions.service_type} {asked}")
        server = request.META.get("SCRIPT_NAME", "").rstrip("/") + self.mount
        return HttpResponse(_document_text(self, minor, server), content_type=JSON)


@lru_cache(maxsize=16)
def _document_text(door: Door[Any], minor: int | None, server: str) -> bytes:
    return orjson.dumps(openapi_document(door, minor=minor, server=server))


def _check_length(request: HttpRequest) -> None:
    length = request.META.get("CONTENT_LENGTH") or "0"
    if not length.isdecimal():
        raise bad_request("content-length header must be an integer")
    if int(length) and not request.META.get("CONTENT_TYPE"):
        raise bad_request("content-type header required when content-length > 0")


def _check_characters(request: HttpRequest, path: str) -> None:
    """PostgreSQL refuses NUL in any text, so nothing can have it in its name."""
    if "\0" in path:
        raise not_found()
    if "%00" in request.META.get("QUERY_STRING", ""):
        raise bad_request("Invalid query string parameters: NUL is no character of any value.")


def _check_form(request: HttpRequest, endpoint: Endpoint) -> None:
    if endpoint.gives and request.META.get("HTTP_ACCEPT", "*/*") not in ("*/*", JSON) and not request.accepts(JSON):
        raise ApiFault(406, f"Only {JSON} is provided")
    if endpoint.takes and request.content_type != JSON:
        raise ApiFault(415, f"The media type {request.content_type or 'None'} is not supported, use {JSON}")
