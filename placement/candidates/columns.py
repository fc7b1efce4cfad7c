"""The fleet as columns: one row per provider, one column per resource class, trait and aggregate that occurs."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from placement.domain import InventoryUsage

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class ProviderFacts:
    """All that the search must know about one provider."""

    uuid: UUID
    root_uuid: UUID
    inventories: Mapping[str, InventoryUsage]
    traits: frozenset[str] = frozenset()
    aggregates: frozenset[UUID] = frozenset()


@dataclass(frozen=True, slots=True)
class FleetColumns:
    """Arrays of shape (providers,) per class, trait and aggregate; a missing key means that nobody has it.

    `numbers[class]` has the rows of `NUMBERS`; a provider without the class has zeros, so max_unit 0 refuses it.
    """

    uuids: tuple[UUID, ...]
    row_of: Mapping[UUID, int]
    root: Ints
    numbers: Mapping[str, Ints]
    traits: Mapping[str, Bools]
    aggregates: Mapping[UUID, Bools]

    def __len__(self) -> int:
        return len(self.uuids)


NUMBERS = ("total", "capacity", "used", "min_unit", "max_unit", "step_size")
TOTAL, CAPACITY, USED, MIN_UNIT, MAX_UNIT, STEP_SIZE = range(len(NUMBERS))


def columns_of(providers: Iterable[ProviderFacts]) -> FleetColumns:
    """Columns of these providers, in their order."""
    rows = list(providers)
    row_of = {facts.uuid: index for index, facts in enumerate(rows)}
    return FleetColumns(
        uuids=tuple(row_of),
        row_of=row_of,
        root=np.array([row_of.get(facts.root_uuid, index) for index, facts in enumerate(rows)], dtype=np.int64),
        numbers=_numbers(rows),
        traits=_flags([facts.traits for facts in rows]),
        aggregates=_flags([facts.aggregates for facts in rows]),
    )


def _numbers(rows: list[ProviderFacts]) -> dict[str, Ints]:
    columns: dict[str, Ints] = {}
    for index, facts in enumerate(rows):
        for name, usage in facts.inventories.items():
            column = columns.get(name)
            if column is None:
                column = columns[name] = np.zeros((len(NUMBERS), len(rows)), dtype=np.int64)
                column[STEP_SIZE] = 1
            column[:, index] = (
                usage.total, usage.capacity, usage.used, usage.min_unit, usage.max_unit, usage.step_size
            )  # fmt: skip
    return columns


def _flags(sets: list[frozenset[K]]) -> dict[K, Bools]:
    columns: dict[K, Bools] = {}
    for index, keys in enumerate(sets):
        for key in keys:
            column = columns.get(key)
            if column is None:
                column = columns[key] = np.zeros(len(sets), dtype=np.bool_)
            column[index] = True
    return columns
