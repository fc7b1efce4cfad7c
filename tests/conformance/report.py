"""The result of a run: a table for people, JSON for programs."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conformance.exceptions import Judgement
from tests.conformance.outcomes import Outcome, Verdict, as_json


@dataclass(frozen=True, slots=True)
class Run:
    """All outcomes on one database (or of one server named by its URL), and how they are judged."""

    database: str
    outcomes: tuple[Outcome, ...]
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Tally:
    """One line of the table."""

    name: str
    passed: int
    failed: int
    skipped: int


def tallies(outcomes: Iterable[Outcome]) -> list[Tally]:
    """One for each file, in the order of their first requests, and the total."""
    by_file: dict[str, list[Verdict]] = {}
    for each in outcomes:
        by_file.setdefault(each.file, []).append(each.verdict)
    everything = [verdict for verdicts in by_file.values() for verdict in verdicts]
    return [_tally(file, verdicts) for file, verdicts in by_file.items()] + [_tally("total", everything)]


def _tally(name: str, verdicts: Sequence[Verdict]) -> Tally:
    return Tally(name, *(verdicts.count(each) for each in (Verdict.PASSED, Verdict.FAILED, Verdict.SKIPPED)))


def table(run: Run) -> Iterator[str]:
    """The lines to print: a file each, the total, then each failure with its cause or its reason."""
    lines = tallies(run.outcomes)
    width = max(len(line.name) for line in lines)
    yield f"{run.database:<{width}}  passed  failed"
    for line in lines:
        note = f"  ({line.skipped} skipped by the file)" if line.skipped else ""
        yield f"{line.name:<{width}}  {line.passed:>6}  {line.failed:>6}{note}"
    for outcome, reason in run.judgement.expected:
        yield f"known: {outcome.file}: {outcome.request}: {reason}"
    for outcome in run.judgement.unexpected:
        yield f"FAILED: {outcome.file}: {outcome.request}: {outcome.detail}"
    for entry in run.judgement.stale:
        yield f"PASSES, take it off the list: {entry.file}: {entry.request}"


def write_json(runs: Iterable[Run], path: Path) -> None:
    """The whole result, every request with its verdict."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([_run_as_json(run) for run in runs], indent=1))


def _run_as_json(run: Run) -> dict[str, Any]:
    total = tallies(run.outcomes)[-1]
    return {
        "database": run.database,
        "good": run.judgement.is_good,
        "passed": total.passed,
        "failed": total.failed,
        "skipped": total.skipped,
        "requests": as_json(run.outcomes),
    }
