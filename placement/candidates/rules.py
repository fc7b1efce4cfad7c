"""What choices must meet together. Each rule is asked about the next row, and says what of the past it still minds."""

from collections.abc import Sequence
from typing import Protocol

from placement.candidates.columns import FleetColumns
from placement.candidates.query import ISOLATE
from placement.candidates.request_slots import SlottedRequest

Domains = Sequence[Sequence[int]]


class SlotRule(Protocol):
    """A rule over the rows chosen for the slots 0, 1, ... so far."""

    def admits(self, row: int, chosen: Sequence[int]) -> bool:
        """Whether the next slot may take `row`; False only where no complete choice could follow."""

    def undo_key(self, slot: int, depth: int) -> object:
        """What it means for the slots from `depth` on that `slot` sits on its row; None: nothing."""

    def symmetry_key(self, row: int) -> object:
        """What it sees in a provider: rows in which all rules see the same can stand for each other."""

    def state_key(self, chosen: Sequence[int]) -> object:
        """What else the further answers of `admits` depend on."""


class IsolateRule:
    """No two suffixed groups on one provider."""

    def __init__(self, request: SlottedRequest) -> None:
        self._is_suffixed = [bool(slot.group.suffix) for slot in request.slots]

    def admits(self, row: int, chosen: Sequence[int]) -> bool:
        """Not taken by another suffixed group."""
        if not self._is_suffixed[len(chosen)] or row not in chosen:
            return True
        return not any(row == other and self._is_suffixed[slot] for slot, other in enumerate(chosen))

    def undo_key(self, slot: int, depth: int) -> object:
        """Taken."""
        return self._is_suffixed[slot] or None

    def symmetry_key(self, row: int) -> object:
        """Nothing."""

    def state_key(self, chosen: Sequence[int]) -> object:
        """Nothing."""


class SumRule:
    """What several slots take of one class of one provider must fit there together, and in one piece."""

    def __init__(self, columns: FleetColumns, request: SlottedRequest, repeated: frozenset[str]) -> None:
        self._columns = columns
        self._asked = [
            {name: amount for name, amount in slot.amounts.items() if name in repeated} for slot in request.slots
        ]
        self._room: dict[tuple[int, str], int] = {}

    def admits(self, row: int, chosen: Sequence[int]) -> bool:
        """The sum with what others of this choice take there."""
        if row not in chosen:
            return True  # alone it fits, or it would not be here
        for name, amount in self._asked[len(chosen)].items():
            taken = sum(self._asked[slot].get(name, 0) for slot, other in enumerate(chosen) if other == row)
            if taken and taken + amount > self.room(row, name):
                return False
        return True

    def undo_key(self, slot: int, depth: int) -> object:
        """What it takes of classes that are still asked for."""
        later = {name for asked in self._asked[depth:] for name in asked}
        return tuple(sorted((name, amount) for name, amount in self._asked[slot].items() if name in later)) or None

    def symmetry_key(self, row: int) -> object:
        """How much there is of each class that counts."""
        names = sorted({name for asked in self._asked for name in asked})
        return tuple(self.room(row, name) for name in names)

    def state_key(self, chosen: Sequence[int]) -> object:
        """Nothing."""

    def room(self, row: int, name: str) -> int:
        """How much of a class one candidate may take of a row."""
        room = self._room.get((row, name))
        if room is None:
            column = self._columns.classes[name]
            room = self._room[row, name] = min(column.free(row), int(column.maximum[row]))
        return room

    def is_enough(self, domains: Domains) -> bool:
        """Whether all that is asked of each class is there at all. [Placement 16.0.0 has such a check, too.]"""
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
        """Some provider above all that are chosen is chosen itself, or still can be."""
        here = len(chosen)
        if here not in self._slots:
            return True
        rows = {chosen[slot] for slot in self._slots if slot < here} | {row}
        above = set.intersection(*(set(self._path(one)) for one in rows))
        if not above.isdisjoint(rows):
            return True
        return any(not above.isdisjoint(self._domains[slot]) for slot in self._slots if slot > here)

    def undo_key(self, slot: int, depth: int) -> object:
        """That it counts, as long as somebody is to come."""
        return (slot in self._slots and any(other >= depth for other in self._slots)) or None

    def symmetry_key(self, row: int) -> object:
        """Nothing."""

    def state_key(self, chosen: Sequence[int]) -> object:
        """Nothing."""


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
        """Whoever is to come can bring what is missing."""
        if not self._is_open[len(chosen)]:
            return True
        has = self.state_key(chosen) | self.bits(row) | self._later[len(chosen)]
        return has == self._all

    def undo_key(self, slot: int, depth: int) -> object:
        """Nothing: see `state_key`."""
        return None

    def symmetry_key(self, row: int) -> object:
        """Which of the required it has."""
        return self.bits(row)

    def state_key(self, chosen: Sequence[int]) -> int:
        """Which of the required are there, as bits."""
        bits = 0
        for slot, row in enumerate(chosen):
            if self._is_open[slot]:
                bits |= self.bits(row)
        return bits

    def bits(self, row: int) -> int:
        """Which of the required this provider has."""
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
    """The rules that matter for this tree; None when it can be seen at once that nothing meets them."""
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
