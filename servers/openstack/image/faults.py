"""The shape of errors that clients of the Image API read, and the statuses that they know for what services refuse."""

from http import HTTPStatus

import orjson
from django.http import HttpResponse

from controlplane.kernel.errors import (
    InvalidFields,
    KilonovaError,
    QuotaExceeded,
    Throttled,
    TooLarge,
    Unavailable,
)
from controlplane.openstack.door import default_fault
from controlplane.openstack.faults import ApiFault, FaultsDescribed, bad_request
from servers.openstack.image.attributes import NAMES

_TEXT = {"type": "string"}
FAULTS = FaultsDescribed(
    {
        "anyOf": [
            {
                "type": "object",
                "properties": {"message": _TEXT, "code": _TEXT, "title": _TEXT},
                "required": ["message", "code", "title"],
            },
            {"type": "object", "properties": {"error": {"type": "object"}}, "required": ["error"]},
        ]
    },
    frozenset({400, 401, 403, 404, 409, 413, 415, 416, 429, 503}),
)
_ACCEPTING_JSON = ("*/*", "application/*", "application/json")


def fault_response(fault: ApiFault, *, minor: int | None, accept: str, method: str = "") -> HttpResponse:
    """The fault as an HTTP answer: JSON, or plain text for whoever takes no JSON, such as a download."""
    title = HTTPStatus(fault.status).phrase
    status, detail = f"{fault.status} {title}", fault.detail or f"{title}."
    if fault.status == HTTPStatus.UNAUTHORIZED:
        body = orjson.dumps({"error": {"code": fault.status, "title": title, "message": detail}})
        response = HttpResponse(body, status=fault.status, content_type="application/json")
        response["WWW-Authenticate"] = 'Keystone uri="/identity/v3"'
    elif not accept or any(kind in accept for kind in _ACCEPTING_JSON):
        body = orjson.dumps({"message": detail, "code": status, "title": title})
        response = HttpResponse(body, status=fault.status, content_type="application/json")
    else:
        response = HttpResponse(f"{status}\n\n{detail}\n", status=fault.status, content_type="text/plain")
    if fault.allow:
        response["Allow"] = fault.allow
    return response


def error_fault(error: KilonovaError) -> ApiFault:
    """What a service refuses, in Glance's statuses."""
    match error:
        case InvalidFields():
            return bad_request(" ".join(_sentence(name, why) for name, said in error.errors.items() for why in said))
        case QuotaExceeded() | TooLarge():
            return ApiFault(413, error.message)
        case Throttled():
            return ApiFault(429, error.message)
        case Unavailable():
            return ApiFault(503, error.message)
        case _:
            return default_fault(error)


def _sentence(field: str, reason: str) -> str:
    """Reasons against properties name them already."""
    return reason if field.startswith("properties.") else f"{NAMES.get(field, field)}: {reason}"
