"""What is said of user data before a guest reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers.instances.domain.user_data_check import UserDataTone, is_broken, user_data_findings


@pytest.mark.parametrize(
    ("text", "tone", "words", "line"),
    [
        ("#cloud-config\npackages: [git]\nruncmd:\n  - ls\n", UserDataTone.GOOD, "2 settings", 0),
        ("#cloud-config\na: &x 1\nb: *x\n", UserDataTone.GOOD, "2 settings", 0),
        ("#cloud-config\n", UserDataTone.WARN, "nothing in it", 0),
        ("#cloud-config\na: {b\n", UserDataTone.BAD, "Is no YAML", 3),
        ("#cloud-config\na: *x\n", UserDataTone.BAD, "alias *x", 2),
        ("#cloud-config\n- a\n", UserDataTone.BAD, "key: value", 2),
        ("#cloud-config\nonly words\n", UserDataTone.BAD, "key: value", 2),
        ("#cloud-config for me\na: 1\n", UserDataTone.BAD, "nothing else", 1),
        ("#!/bin/sh\nls\n", UserDataTone.GOOD, "script for sh", 0),
        ("#!/usr/bin/env -S python3.12\n", UserDataTone.GOOD, "script for python3.12", 0),
        ("#!/opt/mine\n", UserDataTone.WARN, "the image has to have it", 1),
        ("#!sh\n", UserDataTone.BAD, "whole path", 1),
        ("#include\nhttps://example.org/x\n", UserDataTone.GOOD, "addresses", 0),
        ("hello\n", UserDataTone.WARN, "ignores it", 1),
        (" \n", UserDataTone.WARN, "white space", 0),
    ],
)
def test_first_line_says_what_it_is(text: str, tone: UserDataTone, words: str, line: int) -> None:
    (found,) = user_data_findings(text)
    assert (found.tone, found.line) == (tone, line)
    assert words in found.sentence()


def test_nothing_is_said_of_none_and_too_much_is_said_first() -> None:
    assert user_data_findings("") == []
    findings = user_data_findings("#!/bin/sh\n" + "x" * 60_000)
    assert "too long" in findings[0].sentence()
    assert is_broken(findings)


def test_depth_and_aliases_cost_nothing() -> None:
    (deep,) = user_data_findings("#cloud-config\na: " + "[" * 40_000)
    assert (deep.tone, deep.line) == (UserDataTone.BAD, 2)
    assert deep.sentence() == "Is no YAML: it is nested more than 200 levels deep."
    assert user_data_findings("#cloud-config\na: " + "[" * 150 + "]" * 150)[0].tone is UserDataTone.GOOD
    bomb = "#cloud-config\na: &a [x, x]\n" + "".join(
        f"{name}: &{name} [*{before}, *{before}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert user_data_findings(bomb)[0].tone is UserDataTone.GOOD


@given(st.text(max_size=200))
def test_anything_can_be_typed(text: str) -> None:
    for head in ("", "#cloud-config\n", "#!"):
        for one in user_data_findings(head + text):
            assert one.sentence()
