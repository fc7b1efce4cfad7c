"""The faults of this API: its codes, and the shape its clients read: {"errors": [{status, title, detail, ...}]}."""

from html import escape
from http import HTTPStatus
from typing import Any

import orjson
from django.http import HttpResponse

from controlplane.infra.request_id import current_request_id
from controlplane.openstack.faults import ApiFault, FaultsDescribed
from placement.openstack.versions import MAX_VERSION, MIN_VERSION

CODE_SINCE = 23

UNDEFINED = "placement.undefined_code"
INVENTORY_INUSE = "placement.inventory.inuse"
CONCURRENT_UPDATE = "placement.concurrent_update"
DUPLICATE_NAME = "placement.duplicate_name"
PROVIDER_IN_USE = "placement.resource_provider.inuse"
PROVIDER_CANNOT_DELETE_PARENT = "placement.resource_provider.cannot_delete_parent"
RESOURCE_PROVIDER_NOT_FOUND = "placement.resource_provider.not_found"
QUERY_DUPLICATE_KEY = "placement.query.duplicate_key"
QUERY_BAD_VALUE = "placement.query.bad_value"
QUERY_MISSING_VALUE = "placement.query.missing_value"

# Said before the detail, so that a reader who gets only one line knows what kind of answer it is.
_MEANING = {
    400: "The request is malformed or asks for something that makes no sense.",
    401: "Authentication is required.",
    403: "Access was denied to this resource.",
    404: "The resource could not be found.",
    406: "The resource cannot be given in the form that was asked for.",
    409: "There was a conflict when trying to complete your request.",
    415: "The request entity has a media type that the server does not support.",
    500: "The server has either erred or is incapable of performing the requested operation.",
    503: "The server is currently unavailable.",
}

_ERROR = {
    "type": "object",
    "properties": {
        "status": {"type": "integer"},
        "title": {"type": "string"},
        "detail": {"type": "string"},
        "request_id": {"type": "string"},
        "code": {"type": "string", "description": "From 1.23 on."},
    },
    "required": ["status", "title", "detail", "request_id"],
}
FAULTS = FaultsDescribed(
    {"type": "object", "properties": {"errors": {"type": "array", "items": _ERROR}}, "required": ["errors"]},
    frozenset({400, 401, 403, 404, 405, 406, 409, 413, 415, 503}),
)


def fault_response(fault: ApiFault, *, minor: int | None, accept: str, method: str = "") -> HttpResponse:
    """The fault as an HTTP answer. `minor` is None where the version was not known yet.

    JSON, except for somebody who accepts HTML and not JSON.
    """
    title = HTTPStatus(fault.status).phrase
    meaning = _MEANING.get(fault.status, title)
    if fault.status == 405:
        meaning = f"The method {method} is not allowed for this resource."
    detail = f"{meaning}\n\n {fault.detail}  "
    if "text/html" in accept and "json" not in accept and "*/*" not in accept:
        page = f"<!doctype html><title>{fault.status} {title}</title><h1>{title}</h1><p>{escape(detail)}</p>"
        response = HttpResponse(page, status=fault.status)
    else:
        body = orjson.dumps({"errors": [_error(fault, title, detail, minor)]})
        response = HttpResponse(body, status=fault.status, content_type="application/json")
    if fault.allow:
        response["Allow"] = fault.allow
    return response


def _error(fault: ApiFault, title: str, detail: str, minor: int | None) -> dict[str, Any]:
    error: dict[str, Any] = {
        "status": fault.status,
        "title": title,
        "detail": detail,
        "request_id": current_request_id(),
    }
    if minor is not None and minor >= CODE_SINCE:
        error["code"] = fault.code or UNDEFINED
    if minor is None and fault.status == 406:
        error |= {"max_version": MAX_VERSION, "min_version": MIN_VERSION}
    return error
