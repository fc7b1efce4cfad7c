"""Values of query parameters."""

from datetime import UTC, datetime

import pytest

from controlplane.openstack.faults import ApiFault
from servers.openstack.compute.lists.values import flag, moment, pattern


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-11-21T02:53:07Z", datetime(2026, 11, 21, 2, 53, 7, tzinfo=UTC)),
        ("2026-11-21T02:53:07+00:00", datetime(2026, 11, 21, 2, 53, 7, tzinfo=UTC)),
        ("2026-11-21T02:53:07 00:00", datetime(2026, 11, 21, 2, 53, 7, tzinfo=UTC)),
        ("2026-11-21T02:53:07.5", datetime(2026, 11, 21, 2, 53, 7, 500_000, tzinfo=UTC)),
        ("2026-11-21 02:53:07", datetime(2026, 11, 21, 2, 53, 7, tzinfo=UTC)),
        ("2026-11-21", datetime(2026, 11, 21, tzinfo=UTC)),
    ],
)
def test_moments(text: str, found: datetime) -> None:
    assert moment("changes-since", text) == found


@pytest.mark.parametrize("text", ["", "now", "2026-13-01", "2026-11-21T25:00:00Z"])
def test_what_is_no_moment(text: str) -> None:
    with pytest.raises(ApiFault):
        moment("changes-since", text)


@pytest.mark.parametrize(
    ("text", "is_expression"),
    [
        ("web", False),
        ("web-1", False),
        ("^web.*[0-9]$", True),
        ("a|b", True),
        ("(a+)+$", False),
        ("a**", False),
        ("a*+", False),
        ("[[:alpha:]]", False),
        ("a{9}", False),
        ("\\d", False),
        ("*a", False),
        ("[a", False),
    ],
)
def test_what_is_looked_for_as_an_expression(text: str, is_expression: bool) -> None:
    assert pattern("name", text) == (text, is_expression)


def test_too_long_a_text_is_refused() -> None:
    with pytest.raises(ApiFault):
        pattern("name", "x" * 256)


@pytest.mark.parametrize(("text", "found"), [("", True), ("1", True), ("True", True), ("no", False), ("0", False)])
def test_flags(text: str, found: bool) -> None:
    assert flag("all_tenants", text) is found


def test_escaped_character_stands_for_itself() -> None:
    assert pattern("name", r"^.*\-web\.[0-9]+$") == ("^.*-web[.][0-9]+$", True)
    assert pattern("name", r"web\-1") == ("web-1", False)
    assert pattern("name", r"[a\-z]") == (r"[a\-z]", False)
