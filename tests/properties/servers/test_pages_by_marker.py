"""Pages by marker, put together, are the whole list in its order: nothing twice, nothing missing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from servers.models import Image
from servers.openstack.paging import SortKey, page_after

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.uuids(version=4), st.integers(0, 3)), max_size=9)
COLUMNS = ("name", "upload_id", "min_ram_mib")
KEYS = st.lists(
    st.builds(SortKey, st.sampled_from(COLUMNS), st.booleans()),
    min_size=1,
    max_size=3,
    unique_by=lambda key: key.column,
)


@pytest.mark.django_db
class TestPagesByMarker(TestCase):
    """Each example on a database of its own."""

    @given(rows=ROWS, keys=KEYS, limit=st.integers(1, 4))
    def test_pages_are_the_whole_list(
        self, rows: list[tuple[str, object, int]], keys: list[SortKey], limit: int
    ) -> None:
        for name, upload, memory in rows:
            Image.objects.create(name=name, upload_id=upload, min_ram_mib=memory, visibility="public")
        whole, _ = page_after(Image.objects.all(), keys, marker=None, limit=len(rows) + 1)
        assert len(whole) == len(rows)
        found: list[Image] = []
        marker, goes_on = None, True
        while goes_on:
            page, goes_on = page_after(Image.objects.all(), keys, marker=marker, limit=limit)
            assert len(page) == limit or not goes_on
            found += page
            marker = page[-1] if page else None
        assert found == whole
        for key in keys[:1]:
            values = [getattr(row, key.column) for row in whole]
            known = [value for value in values if value is not None]
            assert values == known + [None] * (len(values) - len(known))
            assert known == sorted(known, reverse=key.is_descending)
