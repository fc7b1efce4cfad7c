"""What became of each request of the suite, in a form that crosses from the process that sent it."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """How one request ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    """The suite itself says so."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request of one file, or one test of one class; `detail` is the first difference or why it was skipped."""

    file: str
    request: str
    verdict: Verdict
    detail: str = ""


def as_json(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """Plain values."""
    return [asdict(each) for each in outcomes]


def from_json(values: Iterable[Mapping[str, Any]]) -> list[Outcome]:
    """The reverse of `as_json`."""
    return [Outcome(**{**each, "verdict": Verdict(each["verdict"])}) for each in values]
