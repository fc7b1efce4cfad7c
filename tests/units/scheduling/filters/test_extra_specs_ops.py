import pytest

from scheduling.filters.extra_specs_ops import match


@pytest.mark.parametrize(
    ("value", "requirement", "fits"),
    [
        ("1", "1", True),
        ("", "1", False),
        ("a b", "a b", True),
        ("a", "a b", False),
        ("3", "= 2", True),  # at least, not equal
        ("2", "= 2", True),
        ("1", "= 2", False),
        ("2", "== 2.0", True),
        ("3", "== 2", False),
        ("3", "!= 2", True),
        ("2", "!= 2", False),
        ("2.5", ">= 2", True),
        ("1", ">= 2", False),
        ("2", "<= 2", True),
        ("3", "<= 2", False),
        ("3", "< 4", False),  # there is no numeric <: the whole text is compared
        ("< 4", "< 4", True),
        ("b", "s== b", True),
        ("b", "s!= b", False),
        ("10", "s< 9", True),  # lexical
        ("b", "s<= b", True),
        ("b", "s> a", True),
        ("a", "s>= b", False),
        ("abc", "<in> b", True),
        ("abc", "<in> d", False),
        ("ac", "<in> a b", True),  # only the first word counts
        ("aes avx mmx", "<all-in> aes mmx", True),
        ("aes avx", "<all-in> aes mmx", False),
        ("12", "<or> 11 <or> 12", True),
        ("13", "<or> 11 <or> 12", False),
        ("12", "<or> 12", True),
        ("2", "<range-in> [ 2 8 )", True),
        ("8", "<range-in> [ 2 8 )", False),
        ("2", "<range-in> ( 2 8 ]", False),
        ("8", "<range-in> ( 2 8 ]", True),
        ("2", ">=", False),
        ("x", "<in>", False),
        ("x", "<or>", False),
        ("", "", True),
        (None, "= 1", False),
        (None, "<or> 1", False),
        (None, "plain", False),
    ],
)
def test_value_and_requirement_match_as_in_nova(value: str | None, requirement: str, fits: bool) -> None:
    assert match(value, requirement) is fits


@pytest.mark.parametrize(
    ("value", "requirement"),
    [("x", "== 1"), ("1", ">= x"), ("x", "= 1"), ("1", "<range-in> 2 8"), ("x", "<range-in> [ 2 8 ]")],
)
def test_text_where_a_number_is_needed_raises(value: str, requirement: str) -> None:
    with pytest.raises(ValueError, match="could not convert"):
        match(value, requirement)
