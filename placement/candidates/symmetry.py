"""Interchangeable providers of a tree: those that the answer need not name apart, and those the search need not try."""

from collections.abc import Sequence

from placement.candidates.columns import FleetColumns
from placement.candidates.request_slots import SlottedRequest
from placement.candidates.rules import SlotRule

Domains = Sequence[Sequence[int]]


class SymmetricChildren:
    """Children of one provider that are alike with all their descendants: `before` names the earlier ones of each.

    Providers are alike when they have the same numbers of the classes asked for, the same traits and aggregates, and
    the same slots that may choose them. So it is enough to take the first of those that no choice touches yet: what the
    others could give differs only by an exchange of names.
    """

    def __init__(self, columns: FleetColumns, request: SlottedRequest, anchor: int, domains: Domains) -> None:
        self._columns = columns
        self._names = sorted({name for slot in request.slots for name in slot.amounts})
        self._members = [frozenset(domain) for domain in domains]
        self._rows = columns.trees.rows_of(anchor)
        self._children: dict[int, list[int]] = {}
        for row in self._rows:
            if row != anchor:
                self._children.setdefault(columns.trees.parent[row], []).append(row)
        self._numbers: dict[object, int] = {}
        self._paths: dict[int, tuple[int, ...]] = {}
        self.before = self._before(anchor)

    def path(self, row: int) -> tuple[int, ...]:
        """Return the row and its ancestors."""
        path = self._paths.get(row)
        if path is None:
            path = self._paths[row] = self._columns.trees.path(row)
        return path

    def is_first(self, row: int, touched: frozenset[int]) -> bool:
        """Whether no untouched provider that is like this one, or like one of its ancestors, comes before it."""
        if row not in self.before:
            return True
        for one in self.path(row):
            if one not in touched and not touched.issuperset(self.before.get(one, ())):
                return False
        return True

    def _before(self, anchor: int) -> dict[int, tuple[int, ...]]:
        self._signature(anchor)
        found: dict[int, tuple[int, ...]] = {anchor: ()}
        for children in self._children.values():
            symmetric: dict[int, list[int]] = {}
            for child in children:
                earlier = symmetric.setdefault(self._known.get(child, -child), [])
                found[child] = tuple(earlier)
                earlier.append(child)
        return found

    def _signature(self, top: int) -> None:
        """Number all rows below `top`, the deepest first: equal numbers mean that the subtrees are alike."""
        self._known: dict[int, int] = {}
        order = [top]
        for row in order:
            order += self._children.get(row, ())
        for row in reversed(order):
            below = sorted(self._known[child] for child in self._children.get(row, ()))
            key = (self._own(row), tuple(below))
            self._known[row] = self._numbers.setdefault(key, len(self._numbers))

    def _own(self, row: int) -> object:
        facts = self._columns.fact(row)
        usages = tuple((name, facts.inventories[name]) for name in self._names if name in facts.inventories)
        slots = tuple(row in members for members in self._members)
        return usages, facts.traits, facts.aggregates, slots


class Kinds:
    """For each row a kind: rows of one kind are interchangeable for the rest of a search, whatever the answer names.

    Rows of one kind serve the same slots, and have the same `symmetry_key` for every rule. Where a rule judges
    subtrees, only childless children of one parent are of one kind, so an exchange moves nobody's ancestors.
    """

    def __init__(
        self, columns: FleetColumns, request: SlottedRequest, domains: Domains, rules: Sequence[SlotRule]
    ) -> None:
        self._parent = columns.trees.parent
        self._is_place_minded = bool(request.query.same_subtree)
        self._above = frozenset(self._parent.values()) if self._is_place_minded else frozenset()
        self._members = [frozenset(domain) for domain in domains]
        self._rules = rules
        self._found: dict[int, int] = {}
        self._by_key: dict[object, int] = {}

    def of(self, row: int) -> int:
        """The kind of a row, as a number."""
        kind = self._found.get(row)
        if kind is None:
            serves = tuple(row in members for members in self._members)
            key = (self._place(row), serves, tuple(rule.symmetry_key(row) for rule in self._rules))
            kind = self._found[row] = self._by_key.setdefault(key, len(self._by_key))
        return kind

    def _place(self, row: int) -> object:
        if not self._is_place_minded:
            return None
        return (row,) if row in self._above else self._parent.get(row, (row,))
