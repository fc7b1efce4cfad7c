"""Declared settings: what a text of the environment means, and which values are refused with which words."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from controlplane.kernel.settings import bound_problems, networks_problem, options_from, setting, settings_of


@dataclass(frozen=True, slots=True)
class Options:
    """One of each kind."""

    lease_s: float = setting(30.0, "Seconds.", min_value=1)
    rounds: int = setting(10, "How often.", min_value=1, max_value=100)
    quota: int = setting(20, "How many; -1: any.", env="DEFAULT_QUOTA", min_value=-1)
    is_on: bool = setting(True, "Whether.")
    modules: tuple[str, ...] = setting(("a", "b"), "Which.")
    form: str = setting("line", "How.", choices=("line", "json"))
    directory: Path = setting(Path("images"), "Where.")
    networks: tuple[str, ...] = setting((), "Who.", problem=networks_problem)
    note: str = setting("", "What.")


DECLARED = settings_of(Options)


@pytest.mark.parametrize(
    ("field", "raw", "value"),
    [
        ("lease_s", "1", 1.0),
        ("rounds", "100", 100),
        ("quota", "-1", -1),
        ("is_on", "Off", False),
        ("modules", " c, d ,", ("c", "d")),
        ("modules", " , ", ("a", "b")),
        ("form", "json", "json"),
        ("directory", "/srv/images", Path("/srv/images")),
        ("networks", "10.0.0.0/8,::1", ("10.0.0.0/8", "::1")),
        ("note", " as it stands ", " as it stands "),
    ],
)
def test_text_becomes_a_value_of_its_kind(field: str, raw: str, value: object) -> None:
    parsed = DECLARED[field].parse(raw)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("field", "raw", "sentence"),
    [
        ("lease_s", "soon", "LEASE_S must be a number >= 1, not 'soon': could not convert string to float: 'soon'"),
        ("lease_s", "0.5", "LEASE_S must be a number >= 1, not '0.5': below 1"),
        ("lease_s", "nan", "LEASE_S must be a number >= 1, not 'nan': below 1"),
        ("rounds", "101", "ROUNDS must be a whole number from 1 to 100, not '101': above 100"),
        ("rounds", "1.5", "ROUNDS must be a whole number from 1 to 100, not '1.5': invalid literal"),
        ("quota", "-2", "DEFAULT_QUOTA must be a whole number >= -1, not '-2': below -1"),
        ("is_on", "perhaps", "IS_ON must be yes or no, not 'perhaps': neither yes nor no"),
        ("form", "xml", "FORM must be one of line, json, not 'xml': unknown"),
        ("networks", "everybody", "NETWORKS must hold addresses and networks: 'everybody' does not appear"),
    ],
)
def test_text_that_cannot_be_is_refused_by_name(field: str, raw: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z_]+ must ") as refused:
        DECLARED[field].parse(raw)
    assert str(refused.value).startswith(sentence)


def test_options_are_made_of_values_by_environment_name() -> None:
    values = {one.name: one.default for one in DECLARED.values()}
    assert options_from(Options, values) == Options()
    assert options_from(Options, {**values, "DEFAULT_QUOTA": 7}).quota == 7


def test_missing_value_is_no_reason_for_a_second_default() -> None:
    with pytest.raises(KeyError, match="ROUNDS"):
        options_from(Options, {one.name: one.default for one in DECLARED.values() if one.name != "ROUNDS"})


def test_values_of_a_settings_module_are_held_to_the_same_bounds() -> None:
    problems = bound_problems(Options(lease_s=0.5, rounds=101, form="xml"))
    assert [text for _, text in problems] == [
        "LEASE_S must be a number >= 1, not 0.5.",
        "ROUNDS must be a whole number from 1 to 100, not 101.",
        "FORM must be one of line, json, not 'xml'.",
    ]
    assert not list(bound_problems(Options()))


def test_defaults_are_shown_as_one_would_write_them() -> None:
    assert [one.default_text for one in DECLARED.values()] == [
        "30.0", "10", "20", "yes", "a,b", "line", "images", "", "",
    ]  # fmt: skip
