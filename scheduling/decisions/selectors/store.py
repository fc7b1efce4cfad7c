"""What decisions keep, read back: their content, the names of their hosts, the fleet they saw."""

from scheduling.decisions.ledger.chain import columns_of_chain
from scheduling.decisions.ledger.fleet_columns import FleetSeen, fleet_from_columns
from scheduling.decisions.ledger.record import DecisionRecord, record_of_blob
from scheduling.models import FleetSnapshot, SchedulingDecision
from scheduling.models.host_name_search import host_names_read

_CHAIN_LENGTH = 3


def decision_record_of(*, decision: SchedulingDecision) -> DecisionRecord:
    """The stored content as it is. Raises OtherVersion where this version cannot read it."""
    return record_of_blob(
        bytes(decision.trace), names=host_names_read(decision.host_names) if decision.host_names else None
    )


def decision_fleet(*, decision: SchedulingDecision, record: DecisionRecord) -> FleetSeen | None:
    """The fleet that the decision saw; None where its snapshot was never kept or was pruned.

    Raises OtherVersion where this version cannot read it.
    """
    contents = _chain(decision.snapshot)
    return None if contents is None else fleet_from_columns(columns_of_chain(contents), scope=record.scope)


def _chain(digest: str) -> list[bytes] | None:
    """The contents from the whole fleet to the state of this digest; None if one of them is gone."""
    contents: list[bytes] = []
    while digest and len(contents) < _CHAIN_LENGTH:
        row = FleetSnapshot.objects.filter(digest=digest).first()
        if row is None:
            return None
        contents.append(bytes(row.content))
        digest = row.base
    return contents[::-1] if contents and not digest else None
