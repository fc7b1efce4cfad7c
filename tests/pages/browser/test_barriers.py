"""That what stands in somebody's way is found at all: otherwise all the tests that find nothing would say nothing."""

import pytest

from tests.pages.browser.barriers import barriers, barriers_in_both_themes
from tests.pages.browser.conftest import OpenPage

pytestmark = pytest.mark.browser
ADD = "markup => document.querySelector('main').insertAdjacentHTML('beforeend', markup)"


def test_field_without_a_label_and_pale_text_are_found(open_page: OpenPage, met_on_the_way: list[str]) -> None:
    page = open_page()
    assert barriers_in_both_themes(page) == []
    page.evaluate(ADD, "<input id='nameless'><img src='/static/kilonova/icon.svg'>")
    page.evaluate(ADD, "<p id='pale'>pale</p>")
    page.evaluate("Object.assign(document.getElementById('pale').style, {color: '#888', background: '#999'})")

    found = "\n".join(barriers(page))

    for rule in ("label (critical)", "image-alt (critical)", "color-contrast (serious)"):
        assert rule in found
    page.goto("/instances/")
    assert len(met_on_the_way) == 3
    met_on_the_way.clear()
