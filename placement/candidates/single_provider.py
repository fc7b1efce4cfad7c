"""Trees in which there is nothing to choose: one row serves all, and vectors find it without a tree search."""

import numpy as np

from placement.candidates.columns import FleetColumns, Ints
from placement.candidates.request_slots import SlottedRequest, has_traits


def single_provider_rows(columns: FleetColumns, request: SlottedRequest) -> Ints | None:
    """By root: the one row that must serve everything, -1 where only a search can say. None: never for this request."""
    if len(request.query.groups) != 1 or request.is_shared or request.query.same_subtree:
        return None
    group = request.query.groups[0]
    rows = has_traits(columns, group.required, group.forbidden) & columns.alive
    for slot in request.slots:
        rows = rows & slot.rows
    if columns.trees.is_flat:
        return np.where(rows, columns.trees.root, -1)
    return _in_trees(columns, request, np.flatnonzero(rows))


def _in_trees(columns: FleetColumns, request: SlottedRequest, rows: Ints) -> Ints:
    """Where each slot has a single row in the tree, and it is the same row for all."""
    root = columns.trees.root
    single = np.full(len(columns), -1, dtype=np.int64)
    single[root[rows]] = rows
    for slot in request.slots:
        choices = np.bincount(root[slot.rows], minlength=len(columns))
        single[choices != 1] = -1
    return single
