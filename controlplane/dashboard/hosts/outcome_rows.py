"""What became of a host in the decisions that looked at it, as rows of a table and pieces of a bar."""

from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from scheduling.decisions.selectors.host_record import Fate, FateCount, HostRecord

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class FateRow:
    """One fate: its piece of the bar from `start`, `width` wide (both of 1000), examples, and where all of them are.

    `query` is empty where the list of decisions has no filter for them.
    """

    count: FateCount
    start: float
    width: float
    examples: tuple[UUID, ...] = ()
    query: str = ""


def fate_rows(record: HostRecord) -> list[FateRow]:
    """Every fate in the order of the bar, also those that never came."""
    rows: list[FateRow] = []
    start = 0.0
    for one in record.fates:
        width = 1000 * one.share
        rows.append(
            FateRow(one, round(start, 2), round(width, 2), _examples(record, one.fate), _query(record, one.fate))
        )
        start += width
    return rows


def _examples(record: HostRecord, fate: Fate) -> tuple[UUID, ...]:
    """Of refusals those of the most frequent rules, which tell most."""
    if fate is Fate.CHOSEN:
        return record.chosen_examples
    if fate is Fate.OUTRANKED:
        return () if record.outranked is None else record.outranked.examples
    if fate is Fate.REFUSED:
        return tuple(dict.fromkeys(rule.example for rule in record.rules))[:EXAMPLES]
    return ()


def _query(record: HostRecord, fate: Fate) -> str:
    if fate is Fate.CHOSEN:
        return urlencode({"host": record.host})
    return urlencode({"refused_host": record.host}) if fate is Fate.REFUSED else ""
