"""What was promised of a host against what it has, and the slots of its history: pure rules."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.kernel.errors import Invalid
from scheduling.fleet.domain.host_reality import Figures, host_reality
from scheduling.fleet.domain.usage_history import SPANS, history_span


def doubts(promised: int, counted: int, **metrics: float) -> str:
    figures = Figures("Memory", "MiB", 8192, counted, "running", "left")
    return " ".join(host_reality(figures, promised, metrics).doubts)


@pytest.mark.parametrize(
    ("promised", "counted", "metrics", "words"),
    [
        (1024, 1024, {}, ""),
        (1024, 1024, {"running": 1024, "left": 7168}, ""),
        (2048, 1024, {}, "2048 MiB are promised and its agent counts 1024 MiB"),
        (1024, 1024, {"running": 2048}, "have 2048 MiB, more than the 1024 MiB that were claimed"),
        (
            1024,
            1024,
            {"left": 100.4},
            "7168 MiB could still be promised without overcommit, and the machine has 100",
        ),
        (9000, 9000, {"left": 0.0}, ""),
    ],
)
def test_doubts_name_the_numbers(promised: int, counted: int, metrics: dict[str, Any], words: str) -> None:
    said = doubts(promised, counted, **metrics)
    assert words in said
    assert bool(said) is bool(words)


@given(at_s=st.integers(0, 2**40), name=st.sampled_from(sorted(SPANS)))
def test_slot_is_within_the_round_and_the_same_for_one_step(at_s: int, name: str) -> None:
    span = SPANS[name]
    start = at_s - at_s % span.step_s
    assert 0 <= span.slot(at_s) < span.slots
    assert span.slot(start) == span.slot(start + span.step_s - 1) == span.slot(at_s + span.seconds)
    assert span.slot(start + span.step_s) == (span.slot(at_s) + 1) % span.slots


def test_span_that_is_none_is_refused() -> None:
    with pytest.raises(Invalid):
        history_span("year")
