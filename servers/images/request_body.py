"""The bytes of a request as they come in, without parsing them and without holding them in memory."""

from django.http import HttpRequest

from servers.images.services.image_store import Readable


def body_stream(request: HttpRequest) -> tuple[Readable, int | None]:
    """The body as a stream, and its announced size in bytes; None when it is sent in chunks."""
    length = request.META.get("CONTENT_LENGTH") or ""
    return request, int(length) if length.isdecimal() else None
