"""The search in one tree: it tries the slots depth first and explores each dead end once.

A state that led nowhere is remembered by what the rest of the search depends on, with interchangeable providers counted
alike. So nine groups over eight equal devices fail after a few dozen steps and not after 9!.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from random import Random

from placement.candidates.columns import FleetColumns
from placement.candidates.request_slots import RequestSlot, SlottedRequest
from placement.candidates.rules import SlotRule, slot_rules
from placement.candidates.symmetry import Kinds, SymmetricChildren

State = tuple[object, ...]


class TreeSearch:
    """The choices in the tree of `anchor`: each has one row for each slot, in order. Iterating does the work."""

    __slots__ = ("_anchor", "_columns", "_names_one_of_symmetric", "_request", "_seed")

    def __init__(
        self,
        columns: FleetColumns,
        request: SlottedRequest,
        anchor: int,
        names_one_of_symmetric: bool,
        seed: int | None,
    ) -> None:
        self._columns = columns
        self._request = request
        self._anchor = anchor
        self._names_one_of_symmetric = names_one_of_symmetric
        self._seed = seed

    def __iter__(self) -> Iterator[Sequence[int]]:
        domains = [domain_of(self._columns, slot, self._anchor) for slot in self._request.slots]
        if self._seed is not None:
            chance = Random(self._seed)  # noqa: S311 - an order, not a secret
            for domain in domains:
                chance.shuffle(domain)
        rules = slot_rules(self._columns, self._request, domains)
        if rules is None:
            return iter(())
        symmetric = None
        if self._names_one_of_symmetric and self._anchor in self._columns.trees.members:
            symmetric = SymmetricChildren(self._columns, self._request, self._anchor, domains)
        if not rules and symmetric is None:
            return product(*domains)
        return _Descent(domains, rules, Kinds(self._columns, self._request, domains, rules), symmetric).tree_search()


def domain_of(columns: FleetColumns, slot: RequestSlot, anchor: int) -> list[int]:
    """Return the rows that a slot may choose in the tree of `anchor`."""
    root = columns.trees.root
    rows = [row for row in columns.trees.rows_of(anchor) if slot.rows[row]]
    if slot.shared and not (slot.closed is not None and slot.closed[anchor]):
        rows += [row for row in slot.shared if root[row] != anchor and columns.shared_with(row)[anchor]]
    return rows


class _Descent:
    """The descent through the slots, with what has been chosen so far."""

    def __init__(
        self, domains: list[list[int]], rules: list[SlotRule], kinds: Kinds, symmetric: SymmetricChildren | None
    ) -> None:
        self._domains = domains
        self._rules = rules
        self._kinds = kinds
        self._symmetric = symmetric
        self._chosen: list[int] = []
        self._touched: list[frozenset[int]] = [frozenset()]
        self._dead: set[State] = set()

    def tree_search(self) -> Iterator[tuple[int, ...]]:
        """Yield all choices that begin with what is chosen."""
        depth = len(self._chosen)
        if depth == len(self._domains):
            yield tuple(self._chosen)
            return
        if self._dead and self._state() in self._dead:
            return
        is_dead = True
        for row in self._domains[depth]:
            if not self._admits(row):
                continue
            self._choose(row)
            for choice in self.tree_search():
                is_dead = False
                yield choice
            self._chosen.pop()
            self._touched.pop()
        if is_dead:
            self._dead.add(self._state())

    def _admits(self, row: int) -> bool:
        if self._symmetric is not None and not self._symmetric.is_first(row, self._touched[-1]):
            return False
        return all(rule.admits(row, self._chosen) for rule in self._rules)

    def _choose(self, row: int) -> None:
        self._chosen.append(row)
        touched = self._touched[-1]
        self._touched.append(touched if self._symmetric is None else touched.union(self._symmetric.path(row)))

    def _state(self) -> State:
        """Return what the rest of the search depends on, and nothing else, so that equal dead ends are found again.

        Two states may be equal only if the same slots can still be filled from both, up to an exchange of rows of one
        kind. So a row counts with its kind and with the `undo_key` of each slot that is on it; rows that no later slot
        minds are left out; and what rules remember beyond single rows is in their `state_key`.
        """
        depth = len(self._chosen)
        keys: defaultdict[int, list[tuple[str, ...]]] = defaultdict(list)
        for slot, row in enumerate(self._chosen):
            undo_key = tuple(repr(rule.undo_key(slot, depth)) for rule in self._rules)
            if any(one != "None" for one in undo_key):
                keys[row].append(undo_key)
        left = sorted((self._kinds.of(row), tuple(sorted(some))) for row, some in keys.items())
        return (depth, tuple(left), *(rule.state_key(self._chosen) for rule in self._rules))
