"""Chosen rows become candidates. They share equal parts, because a thousand of them must cost a millisecond."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import overload
from uuid import UUID

from placement.candidates.columns import FleetColumns, ProviderFacts
from placement.candidates.query import AllocationCandidate, CandidateAnswer
from placement.candidates.request_slots import SlottedRequest

Choice = Sequence[int]


class CandidateBuilder:
    """Makes the candidates of one request."""

    def __init__(self, columns: FleetColumns, request: SlottedRequest) -> None:
        self._columns = columns
        self._slots = request.slots
        by_suffix: dict[str, tuple[int, ...]] = {}
        for index, slot in enumerate(request.slots):
            by_suffix[slot.group.suffix] = (*by_suffix.get(slot.group.suffix, ()), index)
        self._groups = list(by_suffix.items())
        self._sums: dict[tuple[int, ...], Mapping[str, int]] = {}

    def candidate(self, chosen: Choice) -> AllocationCandidate:
        """Make the candidate that takes slot by slot from these rows."""
        facts = self._columns.fact
        by_row: dict[int, tuple[int, ...]] = {}
        for slot, row in enumerate(chosen):
            by_row[row] = (*by_row.get(row, ()), slot)
        allocations = {facts(row).uuid: amounts for row, slots in by_row.items() if (amounts := self._sum(slots))}
        mappings = {
            suffix: tuple([facts(row).uuid for row in dict.fromkeys([chosen[slot] for slot in slots])])
            for suffix, slots in self._groups
        }
        return AllocationCandidate(allocations, mappings)

    def _sum(self, slots: tuple[int, ...]) -> Mapping[str, int]:
        known = self._sums.get(slots)
        if known is None:
            total: dict[str, int] = {}
            for slot in slots:
                for name, amount in self._slots[slot].amounts.items():
                    total[name] = total.get(name, 0) + amount
            known = self._sums[slots] = total
        return known


class AlikeCandidates(Sequence[AllocationCandidate]):
    """Candidates of which each takes the same from one provider, for one group: each is made when it is looked at."""

    def __init__(self, uuids: list[UUID], amounts: Mapping[str, int], suffix: str) -> None:
        self.uuids, self.amounts, self.suffix = uuids, amounts, suffix

    def _made(self, uuid: UUID) -> AllocationCandidate:
        return AllocationCandidate({uuid: self.amounts}, {self.suffix: (uuid,)})

    def __len__(self) -> int:
        return len(self.uuids)

    @overload
    def __getitem__(self, index: int) -> AllocationCandidate: ...
    @overload
    def __getitem__(self, index: slice) -> list[AllocationCandidate]: ...
    def __getitem__(self, index: int | slice) -> AllocationCandidate | list[AllocationCandidate]:
        found = self.uuids[index]
        return self._made(found) if isinstance(found, UUID) else [self._made(uuid) for uuid in found]

    def __iter__(self) -> Iterator[AllocationCandidate]:
        return map(self._made, self.uuids)


def answer_of_single_rows(columns: FleetColumns, request: SlottedRequest, rows: Sequence[int]) -> CandidateAnswer:
    """The answer where each of these rows serves the whole request of one group, and no row has a tree around it."""
    group = request.query.groups[0]
    suffix, amounts = group.suffix, dict(group.resources)
    facts = [columns.fact(row) for row in rows]
    found = AlikeCandidates([one.uuid for one in facts], amounts, suffix)
    is_complete = columns.trees.is_flat or not request.query.nested
    return CandidateAnswer(found, facts if is_complete else tree_facts(columns, rows))


def tree_facts(columns: FleetColumns, rows: Iterable[int]) -> list[ProviderFacts]:
    """Return all providers of the trees of these rows, tree by tree."""
    trees = columns.trees
    root = trees.root
    roots = dict.fromkeys(int(root[row]) for row in rows)
    return [columns.fact(member) for top in roots for member in trees.rows_of(top)]
