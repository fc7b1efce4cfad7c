"""Compute nodes, services, mappings, cells and aggregates as plain values: all of them, or some, in lean queries.

Equal JSON texts become one object, which keeps ten thousand nodes small and lets columns be made quickly.
"""

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from scheduling.domain.hosts.host_rows import AggregateRow
from scheduling.fleet.cache.changes import Changes

_CHUNK = 500
_NODES = """
SELECT CAST(id AS text), CAST(service_id AS text), host, hypervisor_hostname, hypervisor_type, hypervisor_version,
       host_ip, disk_available_least_gib, failed_builds, supported_instances, cpu_info, stats, numa_topology, pci_pools
  FROM scheduling_computenode
"""
_SERVICES = """
SELECT CAST(id AS text), host, "binary", disabled, disabled_reason, forced_down, version, {seen} FROM scheduling_service
"""
_CELLS = "SELECT CAST(id AS text), name, disabled FROM scheduling_cell"
_MAPPINGS = "SELECT host, CAST(cell_id AS text) FROM scheduling_hostmapping"
_AGGREGATES = "SELECT CAST(id AS text), name, metadata FROM scheduling_aggregate"
_MEMBERS = "SELECT CAST(aggregate_id AS text), host FROM scheduling_aggregatehost"


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """A service; up or down is not among it, as that changes by itself."""

    host: str
    binary: str
    disabled: bool
    disabled_reason: str
    forced_down: bool
    version: int


@dataclass(frozen=True, slots=True)
class CellRecord:
    """A cell."""

    id: UUID
    name: str
    disabled: bool


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """A compute node, as the host table takes it. `id` is its provider's too; `key` and `service_key` name it and
    its service among the records.
    """

    key: str
    id: UUID
    service_key: str
    host: str
    hypervisor_hostname: str
    hypervisor_type: str
    hypervisor_version: int
    host_ip: str
    disk_available_least_gib: int
    failed_builds: int
    supported_instances: tuple[tuple[str, str, str], ...]
    cpu_info: Any
    stats: Any
    numa_topology: Any
    pci_pools: Any


@dataclass(slots=True)
class FleetRecords:
    """The fleet by keys, which are ids as the database writes them (hosts, for mappings).

    `seen` are the last heartbeats that were read, in seconds by the database's clock; later ones may have come since.
    """

    nodes: dict[str, NodeRecord] = field(default_factory=dict)
    services: dict[str, ServiceRecord] = field(default_factory=dict)
    seen: dict[str, float | None] = field(default_factory=dict)
    cells: dict[str, CellRecord] = field(default_factory=dict)
    mappings: dict[str, str] = field(default_factory=dict)
    aggregates: dict[str, AggregateRow] = field(default_factory=dict)
    _known: dict[str, Any] = field(default_factory=dict)

    def read(self, changes: Changes) -> None:
        """Read again what changed."""
        reads: tuple[tuple[str, Callable[[Collection[str] | None], None]], ...] = (
            ("node", self.read_nodes),
            ("service", self.read_services),
            ("mapping", self.read_mappings),
            ("aggregate", self.read_aggregates),
            ("cell", self.read_cells),
        )
        for kind, again in reads:
            if changes.everything:
                again(None)
            elif changes.of(kind):
                again(changes.of(kind))

    def read_nodes(self, keys: Collection[str] | None = None) -> None:
        """Read these again, or all. So do the others."""
        _replace(self.nodes, keys, ((row[0], self._node(row)) for row in _rows(_NODES, "id", keys)))

    def read_services(self, keys: Collection[str] | None = None) -> None:
        """With their last heartbeats."""
        rows = _rows(_SERVICES.format(seen=_epoch("last_seen_up")), "id", keys)
        _replace(self.seen, keys, ((row[0], row[7]) for row in rows))
        _replace(self.services, keys, ((row[0], _service(row)) for row in rows))

    def read_heartbeats(self) -> None:
        """The last heartbeats of all services; nothing else of them."""
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT CAST(id AS text), {_epoch('last_seen_up')} FROM scheduling_service")  # noqa: S608
            self.seen.update((key, at) for key, at in cursor.fetchall() if key in self.services)

    def read_cells(self, keys: Collection[str] | None = None) -> None:
        """Whether they take anything new."""
        rows = _rows(_CELLS, "id", keys)
        _replace(self.cells, keys, ((key, CellRecord(UUID(key), name, bool(off))) for key, name, off in rows))

    def read_mappings(self, hosts: Collection[str] | None = None) -> None:
        """{host: key of its cell}."""
        _replace(self.mappings, hosts, iter(_rows(_MAPPINGS, "host", hosts)))

    def read_aggregates(self, keys: Collection[str] | None = None) -> None:
        """With their members."""
        rows = _rows(_AGGREGATES, "id", keys)
        members: dict[str, list[str]] = {row[0]: [] for row in rows}
        for key, host in _rows(_MEMBERS, "aggregate_id", keys):
            if key in members:
                members[key].append(host)
        made = ((key, _aggregate(key, name, frozenset(members[key]), metadata)) for key, name, metadata in rows)
        _replace(self.aggregates, keys, made)

    def _node(self, row: tuple[Any, ...]) -> NodeRecord:
        documents: list[Any] = [self._json(text) for text in row[10:14]]
        values: list[Any] = [row[0], UUID(row[0]), *row[1:9], self._triples(row[9]), *documents]
        return NodeRecord(*values)

    def _triples(self, text: Any) -> tuple[tuple[str, str, str], ...]:
        key = f"triples {text}"
        if key not in self._known:
            self._known[key] = tuple((one[0], one[1], one[2]) for one in _parsed(text))
        found: tuple[tuple[str, str, str], ...] = self._known[key]
        return found

    def _json(self, text: Any) -> Any:
        if text is None:
            return None
        if text not in self._known:
            if len(self._known) > 4 * len(self.nodes) + _CHUNK:
                self._known.clear()  # reports of long ago
            self._known[text] = _parsed(text)
        return self._known[text]


def _service(row: tuple[Any, ...]) -> ServiceRecord:
    _, host, binary, disabled, reason, forced_down, version, _ = row
    return ServiceRecord(host, binary, bool(disabled), reason, bool(forced_down), version)


def _aggregate(key: str, name: str, hosts: frozenset[str], metadata: Any) -> AggregateRow:
    return AggregateRow(str(UUID(key)), name, hosts, _parsed(metadata))


def _parsed(text: Any) -> Any:
    return json.loads(text) if isinstance(text, str) else text


def _epoch(column: str) -> str:
    if connection.vendor == "postgresql":
        return f"extract(epoch FROM {column})::float8"
    return f"(julianday({column}) - 2440587.5) * 86400.0"


def _rows(select: str, column: str, keys: Collection[str] | None) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    with connection.cursor() as cursor:
        if keys is None:
            cursor.execute(select)
            return list(cursor.fetchall())
        asked = sorted(keys)
        for begin in range(0, len(asked), _CHUNK):
            some = asked[begin : begin + _CHUNK]
            mark = "%s::uuid" if connection.vendor == "postgresql" and column != "host" else "%s"
            cursor.execute(f"{select} WHERE {column} IN ({', '.join([mark] * len(some))})", some)
            found += cursor.fetchall()
    return found


def _replace(held: dict[str, Any], keys: Collection[str] | None, rows: Iterable[tuple[str, Any]]) -> None:
    """Put what was read in place of what was held under these keys, or of all."""
    found = dict(rows)
    for key in list(held) if keys is None else keys:
        if key not in found:
            held.pop(key, None)
    held.update(found)
