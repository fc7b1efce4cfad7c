"""The scores of a decision as a table that can be read: weighers that moved nothing are named, not listed."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Score:
    """What one weigher gave one host: the raw value it saw, and the points that came of it."""

    raw: float
    points: float


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One host. `scores` stand in the order of the table's `weighers`."""

    host: str
    rank: int
    total: float
    scores: list[Score]


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """`silent` names weighers that gave every host no points. `ranked` counts all hosts, also those not in `rows`."""

    weighers: list[str]
    silent: list[str]
    rows: list[ScoreRow]
    ranked: int


def score_table(scores: dict[str, Any] | None) -> ScoreTable | None:
    """From the report's scores; None where nothing was weighed."""
    if not scores or not scores["hosts"]:
        return None
    hosts = scores["hosts"]
    names = list(hosts[0]["weighers"])
    telling = [name for name in names if any(host["weighers"][name]["weighted"] for host in hosts)]
    rows = [ScoreRow(host["host"], host["rank"], host["score"], _scores(host, telling)) for host in hosts]
    silent = [_short(name) for name in names if name not in telling]
    return ScoreTable([_short(name) for name in telling], silent, rows, scores["ranked"])


def _scores(host: dict[str, Any], weighers: list[str]) -> list[Score]:
    found = [host["weighers"][name] for name in weighers]
    return [Score(raw=one["raw"], points=one["weighted"]) for one in found]


def _short(weigher: str) -> str:
    return weigher.removesuffix("Weigher")
