"""Identifiers in addresses."""

import uuid

from controlplane.kernel.errors import NotFound
from controlplane.kernel.ids import parse_uuid


def uuid_in_path(text: str, *, what: str) -> uuid.UUID:
    """The UUID that an address names. Anything else names nothing: NotFound."""
    parsed = parse_uuid(text)
    if parsed is None:
        raise NotFound(f"{what} {text:.80} does not exist.")
    return parsed
