"""How long polls wait behind a proxy that cuts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computeagent.agent.poll_wait import SHORTEST_S, PollWait


def polls(limit_s: float, count: int, wait: PollWait) -> list[bool]:
    """Whether each of so many polls was cut, by a proxy with this limit."""
    cuts = []
    for _ in range(count):
        is_cut = wait.seconds > limit_s
        cuts.append(is_cut)
        (wait.was_cut if is_cut else wait.was_answered)(min(limit_s, wait.seconds))
    return cuts


def test_without_a_limit_polls_stay_as_long_as_they_are() -> None:
    wait = PollWait(45.0)
    assert not any(polls(60.0, 20, wait))
    assert wait.seconds == 45.0


@pytest.mark.parametrize("limit_s", [2.5, 10.0, 30.0])
def test_few_polls_are_cut_by_an_impatient_proxy(limit_s: float) -> None:
    assert sum(polls(limit_s, 90, PollWait(45.0))) <= 13


def test_poll_that_is_woken_early_says_nothing_about_its_length() -> None:
    wait = PollWait(45.0)
    wait.was_cut(30.0)
    for _ in range(50):
        wait.was_answered(0.5)
    assert wait.seconds == 15.0


def test_control_plane_that_is_away_makes_no_poll_shorter() -> None:
    wait = PollWait(45.0)
    wait.was_cut(0.01)
    assert wait.seconds == 45.0


def test_after_one_cut_polls_grow_back() -> None:
    wait = PollWait(45.0)
    wait.was_cut(20.0)
    assert wait.seconds == 10.0
    polls(60.0, 20, wait)
    assert wait.seconds == 45.0


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1000))), st.floats(1.0, 60.0))
def test_wait_stays_within_its_bounds(ends: list[tuple[bool, float]], longest_s: float) -> None:
    wait = PollWait(longest_s)
    for is_cut, after_s in ends:
        (wait.was_cut if is_cut else wait.was_answered)(after_s)
        assert min(SHORTEST_S, longest_s) <= wait.seconds <= longest_s
