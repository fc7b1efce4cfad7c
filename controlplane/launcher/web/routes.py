"""How large the bodies of a route may be, and whose are read while they are served. All else takes Django's limit."""

import re
from typing import Final

from django.conf import settings

from computeagent.protocol.wire import PREFIX
from servers.agent_door.views import body_limit

ADMIN_FORM_BYTES = 256 * 2**20
"""Forms of the Django admin may carry an image; a larger one goes to the API."""
UPLOADS: Final = re.compile(r"/(?:api/images/[^/]+/file/?|image/v2/images/[^/]+/(?:file|stage))")
"""Where images are sent to by PUT: of any size, so their views bound them."""


def is_upload(method: str, path: str) -> bool:
    """Whether the view reads the body as it comes."""
    return method == "PUT" and UPLOADS.fullmatch(path) is not None


def largest_body(path: str) -> int:
    """In bytes."""
    if path.startswith(PREFIX):
        return body_limit(path.removeprefix(PREFIX))
    if path.startswith("/admin/"):
        return ADMIN_FORM_BYTES
    return settings.DATA_UPLOAD_MAX_MEMORY_SIZE
