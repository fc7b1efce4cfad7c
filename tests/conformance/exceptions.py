"""What a published suite asks and is known not to pass, each with its reason: a committed list for each suite."""

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.outcomes import Outcome, Verdict

EVERY = "*"


@dataclass(frozen=True, slots=True)
class KnownException:
    """One request of one file that fails, or EVERY one, and why; on these databases only, or on all when empty."""

    file: str
    request: str
    reason: str
    databases: tuple[str, ...] = ()

    def covers(self, outcome: Outcome, database: str) -> bool:
        """Whether this entry is about that request."""
        here = not self.databases or database in self.databases
        return here and self.file == outcome.file and self.request in (EVERY, outcome.request)


def known_exceptions(path: Path) -> list[KnownException]:
    """The committed list. An entry without a reason is refused."""
    entries = tomllib.loads(path.read_text()).get("exception", [])
    known = [
        KnownException(each["file"], each["request"], each["reason"].strip(), tuple(each.get("databases", ())))
        for each in entries
    ]
    if unexplained := [each.request for each in known if not each.reason]:
        raise ValueError(f"exceptions without a reason: {unexplained}")
    return known


@dataclass(frozen=True, slots=True)
class Judgement:
    """Failures sorted by whether they were expected, and entries whose request passes after all."""

    unexpected: tuple[Outcome, ...]
    expected: tuple[tuple[Outcome, str], ...]
    stale: tuple[KnownException, ...]

    @property
    def is_good(self) -> bool:
        """Nothing failed that is not on the list, and the list holds nothing that passes."""
        return not self.unexpected and not self.stale


def judge(outcomes: Iterable[Outcome], known: Sequence[KnownException], database: str) -> Judgement:
    """Compare what happened with the list."""
    unexpected: list[Outcome] = []
    expected: list[tuple[Outcome, str]] = []
    stale: list[KnownException] = []
    for outcome in outcomes:
        entry = next((each for each in known if each.covers(outcome, database)), None)
        if outcome.verdict is Verdict.FAILED:
            if entry is None:
                unexpected.append(outcome)
            else:
                expected.append((outcome, entry.reason))
        elif entry is not None and outcome.verdict is Verdict.PASSED:
            stale.append(entry)
    return Judgement(tuple(unexpected), tuple(expected), tuple(stale))
