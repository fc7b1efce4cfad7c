"""What somebody typed into the search: an id or its beginning, the id of a request, an address, or a name."""

import re
from dataclasses import dataclass
from uuid import UUID

from controlplane.infra.quick_search import REQUEST_START, is_part_of_an_id
from controlplane.kernel.errors import Invalid
from controlplane.kernel.ids import parse_uuid
from controlplane.kernel.texts import phrase as _

MIN_CHARS, MAX_CHARS = 2, 255
_ADDRESS = re.compile(r"[0-9a-fA-F:.]{0,39}[.:][0-9a-fA-F:.]{0,39}")


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """The text, and what it can be besides a name. One text can be several: `cafe` is a name and begins an id."""

    text: str
    uuid: UUID | None = None
    begins_id: bool = False
    is_request: bool = False
    is_address: bool = False


def search_term(text: str) -> SearchTerm:
    """Raises Invalid for what is too short to mean anything, or too long."""
    clean = text.replace("\x00", "").strip()
    if not MIN_CHARS <= len(clean) <= MAX_CHARS:
        raise Invalid(
            _("A search has {min_chars} to {max_chars} characters.", min_chars=MIN_CHARS, max_chars=MAX_CHARS),
            field="q",
        )
    return SearchTerm(
        clean,
        uuid=parse_uuid(clean),
        begins_id=is_part_of_an_id(clean),
        is_request=clean.lower().startswith(REQUEST_START),
        is_address=_ADDRESS.fullmatch(clean) is not None,
    )
