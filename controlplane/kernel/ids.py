"""Identifiers: UUIDs for rows, `req-<uuid>` for requests, as OpenStack writes them."""

import re
import uuid

REQUEST_ID = re.compile(r"^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def new_request_id() -> str:
    """A fresh request id."""
    return f"req-{uuid.uuid4()}"


def is_request_id(text: str) -> bool:
    """Whether `text` has the form of a request id (so that a client's own may be used)."""
    return REQUEST_ID.fullmatch(text) is not None


def parse_uuid(text: str) -> uuid.UUID | None:
    """The UUID written in `text`, or None."""
    try:
        return uuid.UUID(text)
    except (ValueError, AttributeError, TypeError):
        return None
