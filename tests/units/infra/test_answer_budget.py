"""Dear answers: one at a time for a project, so many seconds a minute, and results that are kept."""

import pytest

from controlplane.infra.answer_budget import AnswerBudget, RecentResults
from controlplane.kernel.errors import Throttled


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_second_answer_of_a_project_is_refused_while_the_first_is_worked_out() -> None:
    budget = AnswerBudget(Clock())
    with budget.spend("a", seconds_a_minute=10), pytest.raises(Throttled), budget.spend("a", seconds_a_minute=10):
        pass
    with budget.spend("a", seconds_a_minute=10), budget.spend("b", seconds_a_minute=10):
        pass


def test_seconds_of_a_minute_are_used_up_and_come_back() -> None:
    clock = Clock()
    budget = AnswerBudget(clock)
    for _ in range(2):
        with budget.spend("a", seconds_a_minute=10):
            clock.now += 5
    with pytest.raises(Throttled) as refused, budget.spend("a", seconds_a_minute=10):
        pass
    assert refused.value.extra["wait_s"] == 55
    clock.now += 55
    with budget.spend("a", seconds_a_minute=10):
        pass


def test_failed_answer_costs_what_it_took_and_blocks_nobody() -> None:
    clock = Clock()
    budget = AnswerBudget(clock)
    with pytest.raises(ValueError, match="x"), budget.spend("a", seconds_a_minute=3):
        clock.now += 4
        raise ValueError("x")
    with pytest.raises(Throttled), budget.spend("a", seconds_a_minute=3):
        pass


def test_no_bound_is_no_bound() -> None:
    budget = AnswerBudget(Clock())
    with budget.spend("a", seconds_a_minute=0), budget.spend("a", seconds_a_minute=0):
        pass


def test_results_are_kept_up_to_a_number() -> None:
    results: RecentResults[int] = RecentResults(2)
    for number in range(3):
        results.put(str(number), number)
        results.get("0")
    assert [results.get(str(number)) for number in range(3)] == [0, None, 2]
