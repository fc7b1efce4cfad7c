"""Keeping what the scheduler saw: the names of the hosts and, for replays, the fleet itself."""

import logging
import time
from dataclasses import dataclass
from threading import Lock

from scheduling.conf import scheduling_options
from scheduling.decisions.ledger.chain import SnapshotChain
from scheduling.decisions.ledger.content import compressed, digest_of, json_bytes
from scheduling.decisions.ledger.fleet_columns import FleetSeen, table_to_columns
from scheduling.decisions.ledger.trace_content import names_of
from scheduling.decisions.ledger.values import NotStorable
from scheduling.models import FleetSnapshot, HostNames

log = logging.getLogger(__name__)

Names = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _CachedHostNames:
    names: Names
    row: HostNames


class _Memory:
    """What this process wrote last, so that one more decision costs only what changed. Who writes asks the database
    each time whether it is still there: rows may have been pruned or rolled back."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.chain = SnapshotChain(time.monotonic)
        self.host_names: _CachedHostNames | None = None


_MEMORY = _Memory()


def fleet_rows(*, seen: FleetSeen) -> list[FleetSnapshot]:
    """The snapshots on which this fleet stands, bases first; the last is its own. Some may be stored already.

    Empty where settings keep no fleets, or where a value (a plug-in's) cannot be written down.
    """
    bound = scheduling_options().decision_snapshot_bytes
    if not bound:
        return []
    try:
        with _MEMORY.lock:
            columns = table_to_columns(seen.table)
            if seen.providers is not None:
                columns |= _MEMORY.chain.providers.columns(seen.providers)
            entries = _MEMORY.chain.entries(columns, host_count=len(seen.table), bound=bound)
    except NotStorable:
        log.exception("the fleet of a decision is not kept")
        return []
    return [
        FleetSnapshot(
            digest=entry.digest,
            base=entry.base,
            content=entry.content,
            size=len(entry.content),
            host_count=entry.host_count,
        )
        for entry in entries
    ]


def host_names_row(*, hosts: tuple[str, ...], nodes: tuple[str, ...]) -> HostNames:
    """The names of these hosts and nodes, one row for all decisions about the same. It may be stored already."""
    names, cached = (hosts, nodes), _MEMORY.host_names
    if cached is None or cached.names != names:
        content = json_bytes(names_of(*names))
        row = HostNames(digest=digest_of(content), content=compressed(content), host_count=len(hosts))
        cached = _MEMORY.host_names = _CachedHostNames(names, row)
    row = cached.row
    return HostNames(digest=row.digest, content=row.content, host_count=row.host_count)
