"""Rules that the rows of one choice must meet together.

The search asks each rule whether the next slot may take a row. It also asks what of the rows chosen so far the rule
still depends on, so that it can recognise a dead end that it has explored already (`tree_search`), and what the rule
sees in a row, so that it can treat rows alike (`symmetry.Kinds`). A key that leaves out something that `admits`
depends on makes the search miss candidates; a key that says too much only makes it slower.
"""

from collections.abc import Sequence
from typing import Protocol

from placement.candidates.columns import FleetColumns
from placement.candidates.query import ISOLATE
from placement.candidates.request_slots import SlottedRequest

Domains = Sequence[Sequence[int]]


class SlotRule(Protocol):
    """A rule over the rows chosen for the slots 0, 1, ... so far.

    Invariant: the answers of `admits` from `depth` on are the same for two choices of that depth if, up to an exchange
    of rows with equal `symmetry_key`, the same rows have the same `undo_key`s on them, and the `state_key`s are equal.
    """

    def admits(self, row: int, chosen: Sequence[int]) -> bool:
        """Return whether the next slot may take `row`; False only where no complete choice could follow."""

    def undo_key(self, slot: int, depth: int) -> object:
        """Return what it means for the slots from `depth` on that `slot` has taken its row; None means nothing."""

    def symmetry_key(self, row: int) -> object:
        """Return what the rule sees in a row: rows with equal keys may be exchanged for each other."""

    def state_key(self, chosen: Sequence[int]) -> object:
        """Return what else the further answers of `admits` depend on, whichever rows it came from."""


class IsolateRule:
    """No two suffixed groups on one provider."""

    def __init__(self, request: SlottedRequest) -> None:
        self._is_suffixed = [bool(slot.group.suffix) for slot in request.slots]

    def admits(self, row: int, chosen: Sequence[int]) -> bool:
        """Return whether no other suffixed group has taken the row."""
        if not self._is_suffixed[len(chosen)] or row not in chosen:
            return True
        return not any(row == other and self._is_suffixed[slot] for slot, other in enumerate(chosen))

    def undo_key(self, slot: int, depth: int) -> object:
        # A suffixed slot closes its row to every later suffixed one; an un-suffixed slot closes nothing.
        return self._is_suffixed[slot] or None

    def symmetry_key(self, row: int) -> object:
        return None  # only whether a row is taken counts, never which row it is

    def state_key(self, chosen: Sequence[int]) -> object:
        return None


class SumRule:
    """What several slots take of one class of one provider must fit there together, and in one piece."""

    def __init__(self, columns: FleetColumns, request: SlottedRequest, repeated: frozenset[str]) -> None:
        self._columns = columns
        self._asked = [
            {name: amount for name, amount in slot.amounts.items() if name in repeated} for slot in request.slots
        ]
        self._room: dict[tuple[int, str], int] = {}

    def admits(self, row: int, chosen: Sequence[int]) -> bool:
        """Return whether the amounts fit together with what other slots of this choice take of the row."""
        if row not in chosen:
            return True  # alone it fits, or it would not be here
        for name, amount in self._asked[len(chosen)].items():
            taken = sum(self._asked[slot].get(name, 0) for slot, other in enumerate(chosen) if other == row)
            if taken and taken + amount > self.room(row, name):
                return False
        return True

    def undo_key(self, slot: int, depth: int) -> object:
        # What a slot takes of a class that no later slot asks for cannot refuse anybody any more.
        later = {name for asked in self._asked[depth:] for name in asked}
        return tuple(sorted((name, amount) for name, amount in self._asked[slot].items() if name in later)) or None

    def symmetry_key(self, row: int) -> object:
        # Rows may be exchanged where they have the same room of each repeated class.
        names = sorted({name for asked in self._asked for name in asked})
        return tuple(self.room(row, name) for name in names)

    def state_key(self, chosen: Sequence[int]) -> object:
        return None  # what is left of a row follows from its room and from the amounts in the keys of its slots

    def room(self, row: int, name: str) -> int:
        """Return how much of a class one candidate may take of a row."""
        room = self._room.get((row, name))
        if room is None:
            column = self._columns.classes[name]
            room = self._room[row, name] = min(column.free(row), int(column.maximum[row]))
        return room

    def is_enough(self, domains: Domains) -> bool:
        """Return whether the tree has all that is asked of each class. [Placement 16.0.0 has such a check, too.]"""
        for name in {name for asked in self._asked for name in asked}:
            slots = [slot for slot, asked in enumerate(self._asked) if name in asked]
            rows = {row for slot in slots for row in domains[slot]}
            # max_unit bounds what one candidate takes, so the sum of the rooms bounds what it can take in all.
            if sum(self._asked[slot][name] for slot in slots) > sum(self.room(row, name) for row in rows):
                return False
        return True


class SubtreeRule:
    """Of the providers of the named groups, one is above all others, or is all of them."""

    def __init__(
        self, columns: FleetColumns, request: SlottedRequest, suffixes: frozenset[str], domains: Domains
    ) -> None:
        self._path = columns.trees.path
        self._slots = [index for index, slot in enumerate(request.slots) if slot.group.suffix in suffixes]
        self._domains = domains

    def admits(self, row: int, chosen: Sequence[int]) -> bool:
        """Return whether a common ancestor of all that are chosen is chosen itself, or still can be."""
        here = len(chosen)
        if here not in self._slots:
            return True
        rows = {chosen[slot] for slot in self._slots if slot < here} | {row}
        above = set.intersection(*(set(self._path(one)) for one in rows))
        if not above.isdisjoint(rows):
            return True
        return any(not above.isdisjoint(self._domains[slot]) for slot in self._slots if slot > here)

    def undo_key(self, slot: int, depth: int) -> object:
        # A named slot counts, with the row that it is on, as long as another named slot is still to come.
        return (slot in self._slots and any(other >= depth for other in self._slots)) or None

    def symmetry_key(self, row: int) -> object:
        return None  # `Kinds` itself lets only childless children of one parent be alike where there is such a rule

    def state_key(self, chosen: Sequence[int]) -> object:
        return None


class CoverRule:
    """The providers of the un-suffixed group have all its required traits together."""

    def __init__(self, columns: FleetColumns, request: SlottedRequest, domains: Domains) -> None:
        self._columns = columns
        self._is_open = [not slot.group.suffix for slot in request.slots]
        self._required = next(slot.group.required for slot in request.slots if not slot.group.suffix)
        self._all = (1 << len(self._required)) - 1
        self._bits: dict[int, int] = {}
        self._later = self._bits_to_come(domains)

    def admits(self, row: int, chosen: Sequence[int]) -> bool:
        """Return whether the slots to come can bring the traits that are still missing."""
        if not self._is_open[len(chosen)]:
            return True
        has = self.state_key(chosen) | self.bits(row) | self._later[len(chosen)]
        return has == self._all

    def undo_key(self, slot: int, depth: int) -> object:
        return None  # it does not matter who brought a trait: `state_key` has those that are there

    def symmetry_key(self, row: int) -> object:
        # Rows may be exchanged where they bring the same required traits.
        return self.bits(row)

    def state_key(self, chosen: Sequence[int]) -> int:
        """Return which of the required traits the chosen rows of the un-suffixed group bring, as bits."""
        bits = 0
        for slot, row in enumerate(chosen):
            if self._is_open[slot]:
                bits |= self.bits(row)
        return bits

    def bits(self, row: int) -> int:
        """Return which of the required traits this provider has, as bits."""
        bits = self._bits.get(row)
        if bits is None:
            traits = self._columns.fact(row).traits
            bits = sum(1 << index for index, wanted in enumerate(self._required) if not traits.isdisjoint(wanted))
            self._bits[row] = bits
        return bits

    def _bits_to_come(self, domains: Domains) -> list[int]:
        later, bits = [0] * len(domains), 0
        for slot in range(len(domains) - 1, -1, -1):
            later[slot] = bits
            if self._is_open[slot]:
                for row in domains[slot]:
                    bits |= self.bits(row)
        return later


def slot_rules(columns: FleetColumns, request: SlottedRequest, domains: Domains) -> list[SlotRule] | None:
    """Return the rules that matter for this tree; None where it is plain at once that no choice meets them."""
    rules: list[SlotRule] = []
    if repeated := request.repeated:
        sums = SumRule(columns, request, repeated)
        if not sums.is_enough(domains):
            return None
        rules.append(sums)
    if request.query.group_policy == ISOLATE and sum(bool(slot.group.suffix) for slot in request.slots) > 1:
        rules.append(IsolateRule(request))
    rules += [SubtreeRule(columns, request, suffixes, domains) for suffixes in request.query.same_subtree]
    open_slots = [slot for slot in request.slots if not slot.group.suffix]
    if len(open_slots) > 1 and open_slots[0].group.required:
        rules.append(CoverRule(columns, request, domains))
    return rules
