"""Which hosts there are, and which of them are up at this moment by the database's clock."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

import numpy as np

from scheduling.conf import scheduling_options
from scheduling.domain.columns import BoolArray, FloatArray
from scheduling.fleet.cache.changes import ChangePoll, Changes
from scheduling.fleet.cache.host_rows import status_detail
from scheduling.fleet.cache.records import CellRecord, FleetRecords, NodeRecord, ServiceRecord

MAX_SILENT = 200
"""So many services that went silent are asked for by name; of more, all last heartbeats are read."""
_NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class CachedHost:
    """A compute node with its service and its cell."""

    node: NodeRecord
    service: ServiceRecord
    cell: CellRecord


class HostStates:
    """Hosts in the order of the table's rows. `up` as of the last `refresh`; `silent` are services that were too long
    without a heartbeat then, as far as they are to be asked for by name."""

    def __init__(self, records: FleetRecords | None = None) -> None:
        self.hosts = [] if records is None else _joined(records)
        self.at_of: dict[UUID, int] = {host.node.id: at for at, host in enumerate(self.hosts)}
        self.up: BoolArray = np.zeros(len(self.hosts), dtype=np.bool_)
        self.silent: tuple[str, ...] = ()
        self._seen: FloatArray = np.full(len(self.hosts), _NEVER)
        self._is_forced: BoolArray = np.zeros(len(self.hosts), dtype=np.bool_)
        self._details: list[str] = [""] * len(self.hosts)
        self._rows_of_service: dict[str, list[int]] = {}
        self._rows_of_host: dict[str, list[int]] = {}
        for at, host in enumerate(self.hosts):
            self._rows_of_service.setdefault(host.node.service_key, []).append(at)
            self._rows_of_host.setdefault(host.node.host, []).append(at)

    def rejoin(self, records: FleetRecords, changes: Changes) -> set[int] | None:
        """Take over what was read again; the rows it concerns. None: rows come, go or change places."""
        touched: set[int] = set(range(len(self.hosts))) if changes.of("cell") else set()
        for key in changes.of("node"):
            node, at = records.nodes.get(key), self.at_of.get(UUID(key))
            if node is None or at is None or _name(node) != _name(self.hosts[at].node):
                return None
            touched.add(at)
        for index, keys in (
            (self._rows_of_service, changes.of("service")),
            (self._rows_of_host, changes.of("mapping")),
        ):
            if not index.keys() >= keys:
                return None
            touched.update(at for key in keys for at in index[key])
        return touched if self._rejoined(records, touched) else None

    def refresh(self, records: FleetRecords, poll: ChangePoll, touched: set[int] | None) -> set[int]:
        """Who is up now; the rows that are to be made again: those of `touched` (None: all), and what changed."""
        for key, at_s in poll.alive.items():
            records.seen[key] = at_s
        spoken = {at for key in poll.alive for at in self._rows_of_service.get(key, ())}
        self._note(records, range(len(self.hosts)) if touched is None else touched | spoken)
        up, silent = self._judged(poll.now)
        if any(self.hosts[at].node.service_key not in poll.asked for at in silent):
            # Not all that look dead are: their heartbeats since were not read yet.
            records.read_heartbeats()
            self._note(records, range(len(self.hosts)))
            up, silent = self._judged(poll.now)
        changed = set(np.flatnonzero(up != self.up).tolist())
        dirty = set(range(len(self.hosts))) if touched is None else touched | changed
        self.up = up
        names = dict.fromkeys(self.hosts[at].node.service_key for at in silent)
        self.silent = tuple(names) if len(names) <= MAX_SILENT else ()
        return dirty | self._notice(dirty, silent, poll.now)

    def detail(self, at: int) -> str:
        """What is said of a host that is down or disabled."""
        return self._details[at]

    def _rejoined(self, records: FleetRecords, touched: Iterable[int]) -> bool:
        for at in touched:
            node = records.nodes.get(self.hosts[at].node.key)
            host = None if node is None else _host(records, node)
            if host is None:
                return False
            self.hosts[at] = host
        return True

    def _note(self, records: FleetRecords, rows: Iterable[int]) -> None:
        for at in rows:
            seen = records.seen.get(self.hosts[at].node.service_key)
            self._seen[at] = _NEVER if seen is None else seen
            self._is_forced[at] = self.hosts[at].service.forced_down

    def _judged(self, now: float) -> tuple[BoolArray, list[int]]:
        """Who is up, and the rows that were heard of once and are silent now."""
        is_fresh = self._seen >= now - scheduling_options().service_down_time_s
        is_silent = ~is_fresh & ~self._is_forced & (self._seen > _NEVER)
        return is_fresh & ~self._is_forced, np.flatnonzero(is_silent).tolist()

    def _notice(self, dirty: Iterable[int], silent: Iterable[int], now: float) -> set[int]:
        """Keep what is said of these hosts; the rows of which something else is said now."""
        noticed = set()
        for at in {*dirty, *silent}:
            host, seen = self.hosts[at], float(self._seen[at])
            silent_s = None if seen == _NEVER else now - seen
            detail = status_detail(host.service, host.cell, is_up=bool(self.up[at]), silent_s=silent_s)
            if detail != self._details[at]:
                self._details[at] = detail
                noticed.add(at)
        return noticed


def _name(node: NodeRecord) -> tuple[str, str, str]:
    """What may not change of a row."""
    return node.host, node.hypervisor_hostname, node.service_key


def _host(records: FleetRecords, node: NodeRecord) -> CachedHost | None:
    """None while it has no service or its host is in no cell."""
    service = records.services.get(node.service_key)
    cell = records.cells.get(records.mappings.get(node.host, ""))
    return None if service is None or cell is None else CachedHost(node, service, cell)


def _joined(records: FleetRecords) -> list[CachedHost]:
    found = [host for node in records.nodes.values() if (host := _host(records, node)) is not None]
    return sorted(found, key=lambda host: (host.node.host, host.node.hypervisor_hostname, str(host.node.id)))
