"""Cross-origin requests, for the origins that a door's settings name; none by default.

A door answers preflights itself, because OPTIONS is otherwise a method it does not know.
"""

from collections.abc import Collection

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from controlplane.openstack.microversions import HEADER

_METHODS = "GET, PUT, POST, DELETE, PATCH"


def preflight(request: HttpRequest, origins: Collection[str]) -> HttpResponse | None:
    """The answer to a preflight, or None where this is none (or no origin is configured)."""
    is_asked = request.method == "OPTIONS" and "HTTP_ORIGIN" in request.META
    return HttpResponse(status=200) if is_asked and origins else None


def cors_headers(request: HttpRequest, response: HttpResponseBase, origins: Collection[str]) -> HttpResponseBase:
    """Allow what was asked, to an origin that is known; others get no word of it."""
    origin = request.META.get("HTTP_ORIGIN")
    if not origin or origin not in origins:
        return response
    response["Access-Control-Allow-Origin"] = origin
    response["Access-Control-Expose-Headers"] = HEADER
    if request.method == "OPTIONS":
        response["Access-Control-Allow-Methods"] = _METHODS
        response["Access-Control-Allow-Headers"] = HEADER.lower()
    response["Vary"] = f"{response.get('Vary', '')}, Origin".removeprefix(", ")
    return response
