"""The one view of this API: identity, version, route, form, access - in this order - and then the endpoint."""

import logging

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from django.views.decorators.csrf import csrf_exempt

from controlplane.kernel.errors import KilonovaError, NotFound
from placement.openstack.access import WireCaller, caller_of, require_access
from placement.openstack.call import Call
from placement.openstack.cors import cors_headers, preflight
from placement.openstack.endpoints import Endpoint
from placement.openstack.faults import Fault, bad_request, fault_response, not_found
from placement.openstack.routes import ROUTES
from placement.openstack.versions import (
    HEADER,
    VersionNotServedError,
    VersionUnreadableError,
    minor_asked_for,
)

log = logging.getLogger(__name__)

MOUNT = "/placement"
JSON = "application/json"


@csrf_exempt
def serve(request: HttpRequest) -> HttpResponse:
    """Answer one request. Never raises: what is unforeseen is logged and becomes a 500 in this door's shape."""
    response = preflight(request)
    return cors_headers(request, response if response is not None else _answered(request))


def _answered(request: HttpRequest) -> HttpResponse:
    minor = None
    try:
        path = request.path_info.removeprefix(MOUNT)
        caller = None if path in ("", "/") else caller_of(request)
        minor = _minor(request)
        response = _dispatched(request, path, caller, minor)
    except Exception as error:  # noqa: BLE001 - the outermost frame of this door: no traceback may leave it
        fault = _fault_of(error)
        accept = request.META.get("HTTP_ACCEPT", "")
        response = fault_response(fault, minor=minor, accept=accept, method=request.method or "")
    if minor is not None:
        response[HEADER] = f"placement 1.{minor}"
        response["Vary"] = HEADER.lower()
    return response


def _fault_of(error: Exception) -> Fault:
    match error:
        case Fault():
            fault = error
        case VersionUnreadableError():
            fault = bad_request(str(error))
        case VersionNotServedError():
            fault = Fault(406, str(error))
        case NotFound():
            fault = not_found(error.message)
        case KilonovaError():
            fault = Fault(409 if error.retryable else 400, error.message)
        case RequestDataTooBig():
            fault = Fault(413, str(error))
        case UnreadablePostError():
            fault = bad_request("The body could not be read.")
        case _:
            log.error("the Placement API failed", exc_info=error)
            fault = Fault(500, "This is a mistake of the server, which has logged it under this request id.")
    return fault


def _minor(request: HttpRequest) -> int:
    return minor_asked_for(request.META.get("HTTP_OPENSTACK_API_VERSION"))


def _dispatched(request: HttpRequest, path: str, caller: WireCaller | None, minor: int) -> HttpResponse:
    _check_length(request)
    _check_characters(request, path)
    found = ROUTES.find(path or "/")
    if found is None:
        raise not_found()
    route, parameters = found
    endpoint = route.methods.get(request.method or "")
    if endpoint is None:
        raise Fault(405, "The method specified is not allowed for this resource.", allow=route.allow)
    if minor < endpoint.since:
        raise Fault(endpoint.missing, allow=route.allow if endpoint.missing == 405 else "")
    _check_form(request, endpoint)
    if endpoint.access is not None and caller is not None:
        require_access(caller, endpoint.access)
    prefix = request.META.get("SCRIPT_NAME", "").rstrip("/") + MOUNT
    return endpoint.run(Call(request, minor, caller, prefix), parameters)


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
        raise Fault(406, f"Only {JSON} is provided")
    if endpoint.takes and request.content_type != JSON:
        raise Fault(415, f"The media type {request.content_type or 'None'} is not supported, use {JSON}")
