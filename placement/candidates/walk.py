"""One tree walked for its choices: depth first over the slots, each dead end explored once.

A state that led nowhere is remembered by what matters for the rest of the way, with interchangeable providers counted
alike. So nine groups over eight equal devices fail after a few dozen steps and not after 9!.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from random import Random

from placement.candidates.columns import FleetColumns
from placement.candidates.likeness import Kinds, LikeChildren
from placement.candidates.rules import Rule, rules_of
from placement.candidates.slots import Request, Slot

State = tuple[object, ...]


class TreeWalk:
    """The choices in the tree of `anchor`: one row for each slot, in the slots' order. Iterating does the work."""

    __slots__ = ("_anchor", "_columns", "_is_one_of_like", "_request", "_seed")

    def __init__(
        self, columns: FleetColumns, request: Request, anchor: int, is_one_of_like: bool, seed: int | None
    ) -> None:
        self._columns = columns
        self._request = request
        self._anchor = anchor
        self._is_one_of_like = is_one_of_like
        self._seed = seed

    def __iter__(self) -> Iterator[Sequence[int]]:
        domains = [domain_of(self._columns, slot, self._anchor) for slot in self._request.slots]
        if self._seed is not None:
            chance = Random(self._seed)  # noqa: S311 - an order, not a secret
            for domain in domains:
                chance.shuffle(domain)
        rules = rules_of(self._columns, self._request, domains)
        if rules is None:
            return iter(())
        like = self._like_children(domains)
        if not rules and like is None:
            return product(*domains)
        return _Descent(domains, rules, Kinds(self._columns, self._request, domains, rules), like).walk()

    def _like_children(self, domains: list[list[int]]) -> LikeChildren | None:
        if not self._is_one_of_like or self._anchor not in self._columns.trees.members:
            return None
        return LikeChildren(self._columns, self._request, self._anchor, domains)


def domain_of(columns: FleetColumns, slot: Slot, anchor: int) -> list[int]:
    """The rows that a slot may choose in the tree of `anchor`."""
    root = columns.trees.root
    rows = [row for row in columns.trees.rows_of(anchor) if slot.rows[row]]
    if slot.shared and not (slot.closed is not None and slot.closed[anchor]):
        rows += [row for row in slot.shared if root[row] != anchor and columns.shared_with(row)[anchor]]
    return rows


class _Descent:
    """The walk proper, with what has been chosen so far."""

    def __init__(self, domains: list[list[int]], rules: list[Rule], kinds: Kinds, like: LikeChildren | None) -> None:
        self._domains = domains
        self._rules = rules
        self._kinds = kinds
        self._like = like
        self._chosen: list[int] = []
        self._touched: list[frozenset[int]] = [frozenset()]
        self._dead: set[State] = set()

    def walk(self) -> Iterator[tuple[int, ...]]:
        """All choices that go on from what is chosen."""
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
            for choice in self.walk():
                is_dead = False
                yield choice
            self._chosen.pop()
            self._touched.pop()
        if is_dead:
            self._dead.add(self._state())

    def _admits(self, row: int) -> bool:
        if self._like is not None and not self._like.is_first(row, self._touched[-1]):
            return False
        return all(rule.admits(row, self._chosen) for rule in self._rules)

    def _choose(self, row: int) -> None:
        self._chosen.append(row)
        touched = self._touched[-1]
        self._touched.append(touched if self._like is None else touched.union(self._like.path(row)))

    def _state(self) -> State:
        """What the rest of the way depends on: what was left where, and what each rule remembers besides."""
        depth = len(self._chosen)
        marks: defaultdict[int, list[tuple[str, ...]]] = defaultdict(list)
        for slot, row in enumerate(self._chosen):
            mark = tuple(repr(rule.mark(slot, depth)) for rule in self._rules)
            if any(one != "None" for one in mark):
                marks[row].append(mark)
        left = sorted((self._kinds.of(row), tuple(sorted(some))) for row, some in marks.items())
        return (depth, tuple(left), *(rule.rest(self._chosen) for rule in self._rules))
