"""The bytes of a request as they come in, without parsing them and without holding them in memory."""

from typing import cast

from django.http import HttpRequest

from servers.images.services.image_store import Readable


def body_stream(request: HttpRequest) -> tuple[Readable, int | None]:
    """The body as a stream, and its announced size in bytes; None when it is sent in chunks."""
    length = request.META.get("CONTENT_LENGTH") or ""
    if length.isdecimal():
        return request, int(length)
    # Django takes a body without a length for an empty one; a server that ends the input itself says so.
    if request.META.get("wsgi.input_terminated"):
        return cast("Readable", request.META["wsgi.input"]), None
    return request, None
