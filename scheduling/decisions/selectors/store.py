"""What decisions keep, read back: their content, the names of their hosts, the fleet they saw."""

import json
import zlib
from typing import Any

from scheduling.decisions.ledger.chain import columns_of_chain
from scheduling.decisions.ledger.container import is_container
from scheduling.decisions.ledger.fleet_columns import FleetSeen, fleet_from_columns
from scheduling.decisions.ledger.record import DecisionRecord, record_of_blob
from scheduling.domain.trace.codec import trace_from_dict
from scheduling.models import FleetSnapshot, SchedulingDecision
from scheduling.models.host_name_search import host_names_read

_OLD_FORMAT = 1
_CHAIN_LENGTH = 3


def decision_record_of(*, decision: SchedulingDecision) -> DecisionRecord:
    """The stored content as it is. Raises ValueError for a format this version does not know."""
    blob = bytes(decision.trace)
    if not is_container(blob):
        return _old_record(decision, json.loads(zlib.decompress(blob)))
    return record_of_blob(blob, names=host_names_read(decision.host_names) if decision.host_names else None)


def decision_fleet(*, decision: SchedulingDecision, record: DecisionRecord) -> FleetSeen | None:
    """The fleet that the decision saw; None where its snapshot was never kept or was pruned."""
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


def _old_record(decision: SchedulingDecision, data: dict[str, Any]) -> DecisionRecord:
    if data["format"] != _OLD_FORMAT:
        raise ValueError(f"decision {decision.pk} has the unknown format {data['format']!r}")
    return DecisionRecord(
        request=data["request"],
        policy=data["policy"],
        lost_claims=tuple(data["lost_claims"]),
        trace=None if data["trace"] is None else trace_from_dict(data["trace"]),
    )
