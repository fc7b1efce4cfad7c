"""What became of a host in the decisions that considered it, as rows of a table and pieces of a bar."""

from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from scheduling.decisions.selectors.host_record import HostOutcome, HostOutcomeCount, HostRecord

EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class HostOutcomeRow:
    """One outcome: its piece of the bar from `start`, `width` wide (both of 1000), examples, and where all of them are.

    `query` is empty where the list of decisions has no filter for them.
    """

    count: HostOutcomeCount
    start: float
    width: float
    examples: tuple[UUID, ...] = ()
    query: str = ""


def host_outcome_rows(record: HostRecord) -> list[HostOutcomeRow]:
    """Every outcome in the order of the bar, also those that never came."""
    rows: list[HostOutcomeRow] = []
    start = 0.0
    for one in record.outcomes:
        width = 1000 * one.share
        rows.append(
            HostOutcomeRow(
                one,
                round(start, 2),
                round(width, 2),
                _examples(record, one.host_outcome),
                _query(record, one.host_outcome),
            )
        )
        start += width
    return rows


def _examples(record: HostRecord, host_outcome: HostOutcome) -> tuple[UUID, ...]:
    """Of refusals those of the most frequent rules, which explain most."""
    if host_outcome is HostOutcome.CHOSEN:
        return record.chosen_examples
    if host_outcome is HostOutcome.OUTRANKED:
        return () if record.outranked is None else record.outranked.examples
    if host_outcome is HostOutcome.REFUSED:
        return tuple(dict.fromkeys(rule.example for rule in record.rules))[:EXAMPLES]
    return ()


def _query(record: HostRecord, host_outcome: HostOutcome) -> str:
    if host_outcome is HostOutcome.CHOSEN:
        return urlencode({"host": record.host})
    return urlencode({"refused_host": record.host}) if host_outcome is HostOutcome.REFUSED else ""
