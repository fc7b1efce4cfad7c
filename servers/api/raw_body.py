"""Bodies that are files and no JSON."""

from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.request import Request

from servers.images.request_body import body_stream
from servers.images.services.image_store import Readable

RAW = "application/octet-stream"


def raw_body(request: Request) -> tuple[Readable, int | None]:
    """The body as a stream, and its announced size in bytes; None when it is sent in chunks. Only octets are taken."""
    content_type = request._request.content_type or ""
    if content_type.lower() != RAW:
        raise UnsupportedMediaType(content_type, f"Send the file itself, with Content-Type: {RAW}.")
    return body_stream(request._request)
