"""Keeping what the scheduler saw: the names of the hosts and, for replays, the fleet itself."""

import json
import logging
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

from scheduling.conf import scheduling_options
from scheduling.domain.ledger.chain import SnapshotChain, SnapshotEntry
from scheduling.domain.ledger.container import digest_of
from scheduling.domain.ledger.fleet_columns import Column, FleetSeen, table_to_columns
from scheduling.domain.ledger.providers import providers_to_columns
from scheduling.domain.ledger.trace_pack import names_of
from scheduling.domain.ledger.values import NotStorable
from scheduling.models import FleetSnapshot, HostRoster

log = logging.getLogger(__name__)

Names = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Roster:
    names: Names
    row: HostRoster


class _Memory:
    """What this process wrote last, so that one more decision costs only what changed. The database is asked each
    time whether it is still there: rows may have been pruned or rolled back."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.chain = SnapshotChain(time.monotonic)
        self.roster: _Roster | None = None


_MEMORY = _Memory()


def fleet_keep(*, seen: FleetSeen) -> str:
    """Store the fleet as far as it is not stored yet. Gives its digest; empty where settings keep no fleets.

    Runs in the caller's transaction. A fleet with a value that cannot be written down (a plug-in's) is not kept.
    """
    bound = scheduling_options().decision_snapshot_bytes
    if not bound:
        return ""
    try:
        with _MEMORY.lock:
            entries = _MEMORY.chain.entries(_columns(seen), host_count=len(seen.table), bound=bound)
    except NotStorable:
        log.exception("the fleet of a decision is not kept")
        return ""
    _store(entries)
    return entries[-1].digest


def roster_keep(*, hosts: tuple[str, ...], nodes: tuple[str, ...]) -> str:
    """Store the names of these hosts and nodes, once for all decisions about the same. Gives their digest.

    Runs in the caller's transaction; a roster that was about to be pruned stays.
    """
    row = _roster_of((hosts, nodes))
    if not HostRoster.objects.filter(digest=row.digest, unused_since=None).exists():
        row.unused_since = None
        HostRoster.objects.bulk_create(
            [row], update_conflicts=True, unique_fields=["digest"], update_fields=["unused_since"]
        )
    return row.digest


def _columns(seen: FleetSeen) -> dict[str, Column]:
    columns = table_to_columns(seen.table)
    if seen.providers is not None:
        _MEMORY.chain.providers.look(seen.providers)
        columns |= providers_to_columns(_MEMORY.chain.providers, seen.table)
    return columns


def _store(entries: Sequence[SnapshotEntry]) -> None:
    """Two writers of the same content do not disturb each other: it has the same name."""
    digests = [entry.digest for entry in entries]
    there = set(FleetSnapshot.objects.filter(digest__in=digests).values_list("digest", flat=True))
    missing = [
        FleetSnapshot(
            digest=entry.digest,
            base=entry.base,
            content=entry.content,
            size=len(entry.content),
            host_count=entry.host_count,
        )
        for entry in entries
        if entry.digest not in there
    ]
    if missing:
        FleetSnapshot.objects.bulk_create(missing, ignore_conflicts=True)


def _roster_of(names: Names) -> HostRoster:
    kept = _MEMORY.roster
    if kept is None or kept.names != names:
        content = json.dumps(names_of(*names), separators=(",", ":")).encode()
        row = HostRoster(digest=digest_of(content), content=zlib.compress(content, 6), host_count=len(names[0]))
        kept = _MEMORY.roster = _Roster(names, row)
    row = kept.row
    return HostRoster(digest=row.digest, content=row.content, host_count=row.host_count)
