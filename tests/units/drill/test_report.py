"""The report's figures and its evidence."""

from tests.drill.fault_injector import Injection
from tests.drill.report import Outcome, as_json, as_text, quiet_figures


def kill(
    number: int, *, point: str = "a:x", process: str = "agent-t1", quiet_s: float = 1.0, **more: list[str]
) -> Injection:
    return Injection("sqlite", number, point, process=process, quiet_s=quiet_s, **more)


def test_figures_are_of_kills_that_hit() -> None:
    outcome = Outcome("sqlite", injections=[kill(1), kill(2, process="")], points=["a:x", "b:x"])
    report = as_json([outcome], "c")
    assert report["kills"] == 1
    assert report["environments"][0]["points_never_injected"] == ["b:x"]


def test_times_to_quiet_have_median_percentile_and_longest() -> None:
    assert quiet_figures(kill(n, quiet_s=float(n)) for n in range(1, 101)) == {
        "median": 50.5,
        "p95": 96.0,
        "max": 100.0,
    }


def test_violation_is_told_with_the_kill_that_made_it() -> None:
    outcome = Outcome("sqlite", injections=[kill(3, violations=["a guest runs twice"])], points=["a:x"])
    text = as_text([outcome], "c")
    assert "1 violations" in text
    assert "VIOLATION sqlite #3: agent-t1 killed at a:x\n  a guest runs twice" in text
