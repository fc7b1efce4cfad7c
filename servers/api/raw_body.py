"""The bytes of a request as they come in, without parsing them and without holding them in memory."""

from typing import cast

from django.http import HttpRequest
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request

from servers.images.services.image_store import Readable

RAW = "application/octet-stream"


def raw_body(request: Request) -> tuple[Readable, int | None]:
    """The body as a stream, and its announced size in bytes; None when it is sent in chunks. Only octets are taken."""
    django_request: HttpRequest = request._request
    if (django_request.content_type or "").lower() != RAW:
        raise UnsupportedMediaType(
            django_request.content_type or "", f"Send the file itself, with Content-Type: {RAW}."
        )
    length = django_request.META.get("CONTENT_LENGTH") or ""
    if length.isdecimal():
        return django_request, int(length)
    # Django takes a body without a length for an empty one; a server that ends the input itself says so.
    if django_request.META.get("wsgi.input_terminated"):
        return cast("Readable", django_request.META["wsgi.input"]), None
    return django_request, None
