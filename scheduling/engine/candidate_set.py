"""This module makes candidate sets of Placement's columns: who has a candidate, which one, and why others have none."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

import numpy as np

from placement.candidates import (
    AllocationCandidate,
    CandidateQuery,
    FleetColumns,
    SearchOptions,
    Strategy,
    candidate_refusals,
    candidates_find,
)
from placement.candidates.columns import FleetView
from placement.candidates.trees import TreeIndex
from scheduling.domain.hosts.candidates import Amounts, CandidateSet
from scheduling.domain.request.candidate_query import candidate_query, without_tree
from scheduling.domain.request.resources import resource_request
from scheduling.domain.request.schedule_request import ScheduleRequest

_TREE_BY_TREE = SearchOptions(strategy=Strategy.BREADTH_FIRST)


class NodeName(NamedTuple):
    """A compute node as requests name it; `uuid` is its provider's too."""

    host: str
    nodename: str
    uuid: UUID


def request_candidates(columns: FleetColumns, request: ScheduleRequest, nodes: Collection[NodeName]) -> CandidateSet:
    """The candidates of these nodes for one instance of the request: a real run and a trial both ask here.

    Raises Invalid for a flavor that contradicts itself.
    """
    target = only_target(request, nodes)
    query = candidate_query(request, resource_request(request), in_tree=target)
    return candidate_set(columns, query, {node.uuid: str(node.uuid) for node in nodes}, target=target)


def only_target(request: ScheduleRequest, nodes: Collection[NodeName]) -> UUID | None:
    """The one node that a requested destination or forced hosts and nodes leave; None where they leave several."""
    destination = request.requested_destination
    if destination is None and not (request.force_hosts or request.force_nodes):
        return None
    hosts, names = ({name.lower() for name in some} for some in (request.force_hosts, request.force_nodes))
    wanted = [
        node
        for node in nodes
        if (destination is None or destination.allows(node.host, node.nodename))
        and (not hosts or node.host.lower() in hosts)
        and (not names or node.nodename.lower() in names)
    ]
    return wanted[0].uuid if len(wanted) == 1 else None


def candidate_set(
    columns: FleetColumns, query: CandidateQuery, nodes: Mapping[UUID, str], *, target: UUID | None = None
) -> CandidateSet:
    """How the search judges these nodes (the same uuids as text). `target` is the only one that in_tree leaves.

    Where providers are shared, in_tree is dropped: it would shut out the provider that a wanted host lives on. No
    candidates are made here: thousands of them would cost far more than judging by vectors, and one is wanted.
    """
    fleet = columns.view()
    if target is not None and fleet.served:
        query, target = without_tree(query), None
    refusals = candidate_refusals(columns, query)
    refused = [nodes[root] for root in refusals if root in nodes]
    refused += _outside(fleet, nodes)
    spread = frozenset(nodes[root] for root in _spread_roots(fleet) if root in nodes)
    return CandidateSet(query, frozenset(refused), refusals, spread, fleet, None if target is None else nodes[target])


def first_candidate(columns: FleetColumns, query: CandidateQuery, root: UUID) -> Amounts | None:
    """The first candidate of the tree of `root`; `columns` hold that tree and those that share with it, no others."""
    roots = len(columns) - len(columns.trees.parent)
    answer = candidates_find(columns, replace(query, limit=roots), _TREE_BY_TREE)
    lenders = frozenset(columns.fact(row).uuid for row in columns.sharing)
    return next((one.allocations for one in answer.candidates if _is_of(columns, one, root, lenders)), None)


def _is_of(columns: FleetColumns, candidate: AllocationCandidate, root: UUID, lenders: frozenset[UUID]) -> bool:
    """Whether a candidate takes from the tree of `root`, or from nobody but those that share with it; not from a tree
    of their own that they serve.
    """
    rows = columns.row_of
    top = rows[root]
    return all(columns.trees.root[rows[uuid]] == top or uuid in lenders for uuid in candidate.allocations)


class _Outside(NamedTuple):
    """Which of these nodes are no roots of these trees: the last answer, which mostly is the next one.

    Invariant: `trees` and `nodes` are replaced, never changed, when a provider or node comes or goes; so identity of
    both objects is enough to know that the answer still holds.
    """

    trees: TreeIndex
    nodes: Mapping[UUID, str]
    texts: tuple[str, ...]


_LAST: list[_Outside] = []


def _outside(fleet: FleetView, nodes: Mapping[UUID, str]) -> tuple[str, ...]:
    for last in _LAST:
        if last.trees is fleet.trees and last.nodes is nodes:
            return last.texts
    rows, children = fleet.row_of, fleet.trees.parent
    texts = tuple(text for uuid, text in nodes.items() if uuid not in rows or rows[uuid] in children)
    _LAST[:] = [_Outside(fleet.trees, nodes, texts)]
    return texts


def _spread_roots(fleet: FleetView) -> Iterator[UUID]:
    """Roots of trees with more than one provider, or with a member in an aggregate that somebody shares with."""
    rows = set(fleet.trees.members)
    for roots in fleet.served.values():
        rows.update(np.flatnonzero(roots).tolist())
    return (fleet.fact(row).uuid for row in rows)
