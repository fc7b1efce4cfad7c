import json
from typing import Any

import pytest

from servers.instances.domain.hint_rules import QUERY_CHARACTERS, text_hints


@pytest.mark.parametrize(
    ("hint", "value", "text"),
    [
        ("build_near_host_ip", "10.0.0.1", "10.0.0.1"),
        ("build_near_host_ip", "2001:DB8::1", "2001:db8::1"),
        ("cidr", "/24", "/24"),
        ("cidr", "/64", "/64"),
        ("cidr", "/255.255.0.0", "/255.255.0.0"),
        ("query", '["=", "$host", "a"]', '["=", "$host", "a"]'),
        ("query", ["=", "$host", "a"], '["=", "$host", "a"]'),
        ("query", "[]", "[]"),
    ],
)
def test_hint_that_can_be_read_is_text(hint: str, value: Any, text: str) -> None:
    assert text_hints({hint: value}) == ({hint: text}, {})


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        ("build_near_host_ip", "nowhere"),
        ("build_near_host_ip", 7),
        ("build_near_host_ip", ["10.0.0.1"]),
        ("cidr", "24"),
        ("cidr", "/129"),
        ("cidr", ""),
        ("cidr", None),
        ("query", "{"),
        ("query", {"=": 1}),
        ("query", 7),
        ("query", "[" * 2000),
        ("query", '["=", "\ud800", 1]'),
        ("query", json.dumps(["x" * QUERY_CHARACTERS])),
    ],
)
def test_hint_that_cannot_be_read_is_a_problem_of_its_name(hint: str, value: Any) -> None:
    found, problems = text_hints({hint: value})
    assert found == {}
    assert list(problems) == [hint]


def test_other_hints_are_left_alone() -> None:
    assert text_hints({"group": "x", "same_host": "y"}) == ({}, {})
