"""The shape of errors that clients of the Identity API read: {"error": {"code", "title", "message"}}."""

from http import HTTPStatus

import orjson
from django.http import HttpResponse

from controlplane.openstack.faults import ApiFault, FaultsDescribed

FAULTS = FaultsDescribed(
    {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {
                    "code": {"type": "integer"},
                    "title": {"type": "string"},
                    "message": {"type": "string"},
                },
                "required": ["code", "title", "message"],
            }
        },
        "required": ["error"],
    },
    frozenset({400, 401, 403, 404, 409, 413, 415, 429, 503}),
)


def fault_response(fault: ApiFault, *, minor: int | None, accept: str, method: str = "") -> HttpResponse:
    """The fault as an HTTP answer."""
    title = HTTPStatus(fault.status).phrase
    error = {"code": fault.status, "title": title, "message": fault.detail or f"{title}."}
    response = HttpResponse(orjson.dumps({"error": error}), status=fault.status, content_type="application/json")
    if fault.status == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = 'Keystone uri="/identity/v3"'
    if fault.allow:
        response["Allow"] = fault.allow
    response["Vary"] = "X-Auth-Token"
    return response
