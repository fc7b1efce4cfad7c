"""What a searched text can be."""

import uuid

from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.errors import Invalid
from servers.search.terms import MAX_CHARS, MIN_CHARS, search_term


@given(st.uuids())
def test_every_way_to_write_an_id_is_that_id(one: uuid.UUID) -> None:
    for text in (str(one), one.hex, str(one).upper(), f"  {one} "):
        assert search_term(text).uuid == one


@given(st.text(max_size=300))
def test_a_text_is_a_term_or_refused_and_holds_no_nul(text: str) -> None:
    clean = text.replace("\x00", "").strip()
    try:
        term = search_term(text)
    except Invalid:
        assert not MIN_CHARS <= len(clean) <= MAX_CHARS
    else:
        assert term.text == clean


def test_one_text_can_be_several_things() -> None:
    cafe = search_term("cafe")
    assert (cafe.begins_id, cafe.is_address, cafe.is_request, cafe.uuid) == (True, False, False, None)
    assert search_term("10.0.0.1").is_address
    assert search_term("fe80::1").is_address
    assert search_term("REQ-1").is_request
    assert not search_term("web-1").begins_id
