"""What an agent of an older release would have sent: the same message without the fields that came since."""

from dataclasses import dataclass, field

from tests.drill.faults.refused_agents import without_newer


@dataclass(frozen=True)
class Inner:
    old: int
    newer: int = 0


@dataclass(frozen=True)
class Outer:
    name: str
    inner: Inner
    listed: list[Inner] = field(default_factory=list)
    by_name: dict[str, Inner] = field(default_factory=dict)
    free: dict[str, object] = field(default_factory=dict)
    maybe: Inner | None = None
    newer: str = ""


ONE = {"old": 1, "newer": 2}
SENT = {
    "name": "n",
    "inner": ONE,
    "listed": [ONE, ONE],
    "by_name": {"any": ONE},
    "free": {"x": 1},
    "maybe": ONE,
    "newer": "n",
}
KNOWN_ONE = {"old": 5}
KNOWN = {
    "name": "m",
    "inner": KNOWN_ONE,
    "listed": [KNOWN_ONE],
    "by_name": {"other": KNOWN_ONE},
    "free": {},
    "maybe": KNOWN_ONE,
}


def test_newer_fields_go_at_any_depth_and_names_that_are_data_stay() -> None:
    left = {"old": 1}
    assert without_newer(SENT, Outer, KNOWN) == {
        "name": "n",
        "inner": left,
        "listed": [left, left],
        "by_name": {"any": left},
        "free": {"x": 1},
        "maybe": left,
    }


def test_what_was_recorded_empty_is_left_as_it_is() -> None:
    sent = {"name": "n", "inner": ONE, "listed": [ONE], "maybe": None}
    known = {"name": "m", "inner": KNOWN_ONE, "listed": [], "maybe": None}
    assert without_newer(sent, Outer, known) == {**sent, "inner": {"old": 1}}
