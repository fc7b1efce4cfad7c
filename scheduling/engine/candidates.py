"""The placement stage where Placement's own search was asked: its candidates decide, whatever they are made of.

For a host whose provider has neither children nor sharing providers, the table's columns give the reason, which keeps
thousands of refusals small; for a host with nested or shared providers the search itself does. Within a batch, what its
earlier instances take is counted.
"""

from collections.abc import Callable, Hashable, Mapping, Set
from dataclasses import replace
from typing import Any
from uuid import UUID

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from placement.candidates import FleetColumns, ProviderFacts, columns_of, refusal_of
from scheduling.domain.columns import BoolArray
from scheduling.domain.hosts.candidates import Amounts, CandidateSet
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.engine.candidate_set import first_candidate
from scheduling.engine.placement import refuse_no_room_any_more, refuse_unfit

_NO_CANDIDATE = Refusal(RefusalReason.NO_CANDIDATE)


class Candidates:
    """The candidates of one run, fewer with each instance of the batch that takes one.

    `is_spread` is true at the rows of the set's `spread`.
    """

    def __init__(self, table: HostTable, found: CandidateSet) -> None:
        self._found = found
        self._first: dict[str, Amounts | None] = {}
        self._taken: dict[UUID, dict[str, int]] = {}
        self._chosen: set[str] = set()
        self._is_refused = _marks(table, found.refused)
        self.is_spread = _marks(table, found.spread)

    def refuse(self, spec: RequestSpecView, hosts: Hosts) -> list[RefusalGroup]:
        """The hosts without a candidate; later in a batch, those that have none any more."""
        if spec.index:
            return self._refuse_taken(spec, hosts)
        hosts = self._in_scope(hosts).where_flagged(self._is_refused)
        unfit = refuse_unfit(spec, hosts.where_not(self.is_spread))
        return unfit + _refuse_each(hosts.without(unfit), self._why)

    def allocations(self, node: str) -> Amounts:
        """What one more instance would claim on a node that has nested or shared providers; empty for the others."""
        if node not in self._found.spread:
            return {}
        if node not in self._first:
            self._first[node] = first_candidate(self._columns_left(node), self._found.query, UUID(node))
        return self._first[node] or {}

    def take(self, node: str, amounts: Mapping[str, int]) -> Mapping[str, int]:
        """An instance goes to this node. Gives what that takes of the node's own provider, of all `amounts`."""
        if node not in self._found.spread:
            return amounts
        claimed = self.allocations(node)
        for provider, classes in claimed.items():
            taken = self._taken.setdefault(provider, {})
            for name, amount in classes.items():
                taken[name] = taken.get(name, 0) + amount
        self._chosen.add(node)
        del self._first[node]
        return claimed.get(UUID(node), {})

    def _in_scope(self, hosts: Hosts) -> Hosts:
        """Where a single node was judged, the others are left to the stage that knows why they are not wanted."""
        if self._found.scope is None:
            return hosts
        row = hosts.table.row_by_uuid.get(self._found.scope)
        return hosts.where(hosts.rows == (-1 if row is None else row))

    def _why(self, node: str) -> Refusal:
        return self._found.refusals.get(UUID(node), _NO_CANDIDATE)

    def _refuse_taken(self, spec: RequestSpecView, hosts: Hosts) -> list[RefusalGroup]:
        amounts = spec.resources.amounts
        changed = hosts.only(hosts.table.last_placed()).where_not(self.is_spread)
        full = refuse_no_room_any_more(spec.resources, changed)
        if not self._chosen:
            return full
        doubtful = self._chosen | self._served_by_scarce(amounts)
        return full + _refuse_each(hosts.where_flagged(_marks(hosts.table, doubtful)), self._why_not_again)

    def _served_by_scarce(self, amounts: Mapping[str, int]) -> set[str]:
        """Nodes that live on a sharing provider of which this batch left too little for one more instance."""
        fleet = self._found.fleet
        roots: set[int] = set()
        for row, served in fleet.served.items():
            facts = fleet.fact(row)
            taken = self._taken.get(facts.uuid, {})
            left = {name: facts.inventories[name].free - amount for name, amount in taken.items()}
            if any(free < amounts.get(name, 0) for name, free in left.items()):
                roots.update(np.flatnonzero(served).tolist())
        return {str(fleet.fact(row).uuid) for row in roots}

    def _why_not_again(self, node: str) -> Refusal | None:
        """Why the node takes no further instance; None while its tree has a candidate, the first or another one."""
        self._first.pop(node, None)
        if self.allocations(node):
            return None
        return refusal_of(self._columns_left(node), self._found.query, UUID(node)) or _NO_CANDIDATE

    def _columns_left(self, node: str) -> FleetColumns:
        """The node's tree and those that share with it, with what this batch takes counted as used."""
        fleet = self._found.fleet
        return columns_of(self._left_of(fleet.fact(row)) for row in fleet.reached(fleet.row_of[UUID(node)]))

    def _left_of(self, facts: ProviderFacts) -> ProviderFacts:
        taken = self._taken.get(facts.uuid)
        if taken is None:
            return facts
        used = {name: replace(usage, used=usage.used + taken.get(name, 0)) for name, usage in facts.inventories.items()}
        return replace(facts, inventories=used)


def _marks(table: HostTable, nodes: Set[str]) -> BoolArray:
    """The rows of these nodes: as much work as there are nodes, which is none for most requests."""
    marks = np.zeros(len(table), dtype=np.bool_)
    marks[[table.row_by_uuid[node] for node in nodes if node in table.row_by_uuid]] = True
    return marks


def _refuse_each(hosts: Hosts, why: Callable[[str], Refusal | None]) -> list[RefusalGroup]:
    """Each host is asked about by itself. Refusals that differ in their numbers only share a group."""
    found: dict[Hashable, tuple[list[int], list[Refusal]]] = {}
    for row in hosts.rows.tolist():
        refusal = why(hosts.table.uuids[row])
        if refusal is not None:
            rows, refusals = found.setdefault(_without_numbers(refusal), ([], []))
            rows.append(row)
            refusals.append(refusal)
    return [_group(rows, refusals, hosts.stage) for rows, refusals in found.values()]


def _without_numbers(refusal: Refusal) -> Hashable:
    """What must be equal for hosts to share a group; of the numbers only whether there are any."""
    available = None if isinstance(refusal.available, int) else (refusal.available,)
    has_numbers = (refusal.total is not None, refusal.ratio is not None)
    return refusal.reason, refusal.wanted, available, refusal.unit, refusal.detail, has_numbers


def _group(rows: list[int], refusals: list[Refusal], stage: str) -> RefusalGroup:
    first = refusals[0]
    columns: dict[str, Any] = {}
    if isinstance(first.available, int):
        columns["available"] = np.array([one.available for one in refusals], dtype=np.int64)
    if first.total is not None:
        columns["total"] = np.array([one.total for one in refusals], dtype=np.int64)
    if first.ratio is not None:
        columns["ratio"] = np.array([one.ratio for one in refusals], dtype=np.float64)
    beside: dict[str, Any] = dict.fromkeys(columns)
    shared = replace(first, stage=stage, **beside)
    return RefusalGroup(shared, np.array(rows, dtype=np.int64), **columns)
