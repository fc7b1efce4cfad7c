#!/usr/bin/env python
"""Run lanes of tests and checks: each of them, also after one has failed, and a table at the end.

tests/run_lanes.py lint,types+architecture test-fast test-qemu,test-processes

A lane is a target of the Makefile. Words are stages, which run one after the other; within a stage `,` stands between
lanes that run side by side, and `+` between lanes that run one after the other. A lane's output goes to
.stamps/lanes/LANE.log, and is printed when it has ended. The status is 1 where a lane failed, or where more tests than
`SECOND_TRIES` needed a second try.
"""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT / ".stamps" / "lanes"
SECOND_TRIES = 3
"""More than so many in one run say that something is broken, not that a machine was busy."""


@dataclass(frozen=True)
class Budget:
    """How many servers and other lasting processes the tests of a lane may start, and how many databases migrate."""

    processes: int
    schemas: int


BUDGETS = {
    "architecture": Budget(0, 1),
    "test-differing": Budget(5, 1),
    "test-fast": Budget(15, 1),
    "test-qemu": Budget(5, 1),
    "test-processes": Budget(100, 2),
}
"""Of the lanes of `make test`, which stays short. What does not fit is marked `long`."""

CLOSING_LINE = re.compile(
    r"^(?:=+ )?(?P<counts>\d+ (?:passed|failed|skipped|error|rerun).*) in [\d.]+s(?: \([\d:]+\))?(?: =+)?$",
    re.MULTILINE,
)
SPENT = re.compile(r"^spent: (?P<processes>\d+) processes started, (?P<schemas>\d+) schemas made$", re.MULTILINE)
COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped|rerun)\b")


@dataclass(frozen=True)
class Ending:
    """How a lane ended: the status of make, seconds, and what pytest counted, by its words."""

    lane: str
    status: int
    seconds: float
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def failures(self) -> int:
        """Tests that failed; 1 for a lane that failed without a failing test, or spent too much."""
        failed = self.status != 0 or bool(self.overspent)
        return self.counts["failed"] + self.counts["error"] or int(failed)

    @property
    def overspent(self) -> str:
        """What it spent above its budget, in words; empty for nothing."""
        budget = BUDGETS.get(self.lane)
        if budget is None:
            return ""
        processes, schemas = self.counts["processes"], self.counts["schemas"]
        if processes <= budget.processes and schemas <= budget.schemas:
            return ""
        return (
            f"{self.lane} started {processes} processes of {budget.processes} that it may, and made {schemas} schemas "
            f"of {budget.schemas}: share a server or a database, or mark the test long."
        )


def counted(output: str) -> Counter[str]:
    """What the closing lines of pytest in an output count: passed, failed, error, skipped, rerun; and what was spent:
    processes, schemas.
    """
    counts: Counter[str] = Counter()
    for line in CLOSING_LINE.finditer(output):
        for number, word in COUNT.findall(line["counts"]):
            counts[word.removesuffix("s") if word == "errors" else word] += int(number)
    for spent in SPENT.finditer(output):
        counts.update({what: int(number) for what, number in spent.groupdict().items()})
    return counts


def table(endings: Sequence[Ending]) -> str:
    """A line a lane: its tests, seconds, failures, second tries, and what it spent."""
    lines = [
        f"{'lane':<18}{'tests':>8}{'seconds':>9}{'failures':>10}{'second tries':>14}{'processes':>11}{'schemas':>9}"
    ]
    for each in endings:
        tests = sum(each.counts[word] for word in ("passed", "failed", "error"))
        lines.append(
            f"{each.lane:<18}{tests or '-':>8}{each.seconds:>9.0f}{each.failures:>10}{each.counts['rerun']:>14}"
            f"{each.counts['processes']:>11}{each.counts['schemas']:>9}"
        )
    return "\n".join(lines)


def closing_line(endings: Sequence[Ending]) -> str:
    """All lanes together. A lane without tests counts as one."""
    failed = sum(each.failures for each in endings)
    passed = sum(each.counts["passed"] or int(each.status == 0) for each in endings)
    skipped = sum(each.counts["skipped"] for each in endings)
    return f"{passed} passed, {failed} failed, {skipped} skipped"


def exit_status(endings: Sequence[Ending]) -> int:
    """0 where every lane passed, with few second tries."""
    tries = sum(each.counts["rerun"] for each in endings)
    return int(any(each.failures for each in endings) or tries > SECOND_TRIES)


class Run:
    """The lanes of one run."""

    def __init__(self) -> None:
        self.endings: list[Ending] = []
        self._running: set[subprocess.Popen[bytes]] = set()
        self._printing = threading.Lock()
        LOGS.mkdir(parents=True, exist_ok=True)

    def stage(self, word: str) -> None:
        """Run a stage to its end."""
        rows = [threading.Thread(target=self._row, args=(row.split("+"),), daemon=True) for row in word.split(",")]
        for row in rows:
            row.start()
        for row in rows:
            row.join()

    def end(self, number: int, _frame: object) -> None:
        """SIGTERM: the lanes that run get it too. Ctrl-C reaches them by itself."""
        for process in tuple(self._running):
            process.terminate()
        sys.exit(128 + number)

    def _row(self, lanes: Sequence[str]) -> None:
        for lane in lanes:
            self._lane(lane)

    def _lane(self, lane: str) -> None:
        # A make of its own: what the one that started us says of its jobs does not concern it.
        env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
        log = LOGS / f"{lane}.log"
        began = time.monotonic()
        with log.open("wb") as written:
            process = subprocess.Popen(
                ["make", "--no-print-directory", lane],
                cwd=ROOT,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
            )
        self._running.add(process)
        status = process.wait()
        self._running.discard(process)
        output = log.read_text(errors="replace")
        ending = Ending(lane, status, time.monotonic() - began, counted(output))
        with self._printing:
            self.endings.append(ending)
            print(f"\n=== {lane} ===\n{output}", flush=True)


def main(stages: Sequence[str]) -> int:
    """Run the stages; the exit status."""
    run = Run()
    signal.signal(signal.SIGTERM, run.end)
    for word in stages:
        run.stage(word)
    print(f"\n{table(run.endings)}\n")
    for each in run.endings:
        if each.overspent:
            print(f"{each.overspent}\n")
    if (tries := sum(each.counts["rerun"] for each in run.endings)) > SECOND_TRIES:
        print(f"{tries} tests needed a second try; more than {SECOND_TRIES} fail the run.\n")
    print(closing_line(run.endings), flush=True)
    return exit_status(run.endings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
