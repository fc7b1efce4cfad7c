"""A select of hundreds of options is the same HTML as Django's."""

import re
from typing import Any

import pytest
from django import forms

from controlplane.dashboard.long_select import LongSelect

CHOICES = [("", "None at all"), ("Europe/Berlin", "Berlin"), ('<"x">', "<b>bold</b> & more"), (7, "Seven")]


def html(widget: forms.Select, value: Any) -> str:
    return re.sub(
        r">\s+<", "><", re.sub(r"\s+", " ", widget.render("zone", value, {"id": "id_zone", "required": True}))
    )


@pytest.mark.parametrize("value", [None, "", "Europe/Berlin", '<"x">', 7, "unknown"])
def test_options_are_as_django_has_them(value: Any) -> None:
    ours, theirs = (kind({"class": "wide"}, CHOICES) for kind in (LongSelect, forms.Select))
    assert html(ours, value) == html(theirs, value)
    assert html(ours, value).count(" selected") == (value != "unknown")
