"""Runs faults: those of the same environment, agents and settings one after the other on one stage."""

import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from tests.drill.faults.fault import Evidence, Fault, UnexpectedError
from tests.drill.stage import Environment, Stage


@dataclass
class Outcome:
    """How one fault ended in one environment."""

    fault: str
    environment: Environment
    evidence: Evidence = field(default_factory=dict)
    unexpected: str = ""
    quiet_s: float = 0.0
    took_s: float = 0.0
    violations: list[str] = field(default_factory=list)
    must_fail: bool = False

    @property
    def is_good(self) -> bool:
        """It had the outcome that it must have, and nothing was lost; of a negative control, the opposite."""
        return self.must_fail == bool(self.unexpected or self.violations)

    def as_row(self) -> dict[str, object]:
        """For a line of a report."""
        return {
            "fault": self.fault,
            "environment": str(self.environment),
            "good": self.is_good,
            **({"must_fail": True} if self.must_fail else {}),
            "took_s": round(self.took_s, 1),
            "quiet_s": round(self.quiet_s, 1),
            **({"unexpected": self.unexpected} if self.unexpected else {}),
            **({"violations": self.violations} if self.violations else {}),
            "evidence": self.evidence,
        }


def faults_run(faults: Sequence[Fault], environments: Iterable[Environment], directory: Path) -> Iterator[Outcome]:
    """Each fault in each of its environments. A stage on which one went wrong is not used again."""
    for number, environment in enumerate(environments):
        here = sorted((fault for fault in faults if environment in fault.environments), key=_stage_of)
        for turn, (_, group) in enumerate(groupby(here, key=_stage_of)):
            yield from _on_stages(list(group), environment, directory / f"{number}{turn}")


def _stage_of(fault: Fault) -> tuple[str, ...]:
    return (
        str(fault.has_ovn),
        repr(fault.agents),
        repr(sorted(fault.settings.items())),
        repr(sorted(fault.programs.items())),
    )


def _on_stages(faults: list[Fault], environment: Environment, directory: Path) -> Iterator[Outcome]:
    attempt = 0
    while faults:
        place = directory.with_name(f"{directory.name}-{attempt}")
        attempt += 1
        place.mkdir(parents=True)
        with _stage(faults[0], environment, place) as stage:
            while faults:
                outcome = fault_run(faults.pop(0), stage)
                yield outcome
                if outcome.unexpected or outcome.violations:
                    break


@contextmanager
def _stage(fault: Fault, environment: Environment, place: Path) -> Iterator[Stage]:
    stage = Stage(environment, place, fault.agents, settings=dict(fault.settings), has_ovn=fault.has_ovn)
    try:
        stage.prepare()
        for name, program in fault.programs.items():
            # Started from nothing: what is not the product's is not known to the process manager.
            process = stage.processes[name]
            process.program, process.arguments, process.env_extra = program, [], {"PYTHONUNBUFFERED": "1"}
        stage.start()
        yield stage
    finally:
        stage.stop()


def fault_run(fault: Fault, stage: Stage) -> Outcome:
    """One fault on a stage that is in order; then the verdict."""
    outcome, began = Outcome(fault.name, stage.env, must_fail=fault.must_fail), time.monotonic()
    try:
        outcome.evidence = fault.run(stage)
    except UnexpectedError as error:
        outcome.unexpected = str(error)
    except Exception:  # noqa: BLE001 - a defect of one fault is told, and the others run
        outcome.unexpected = traceback.format_exc()
    outcome.quiet_s = stage.wait_quiet(fault.quiet_s)
    outcome.violations = stage.verdict()
    outcome.took_s = time.monotonic() - began
    return outcome
