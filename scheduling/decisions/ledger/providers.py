"""Placement's providers as columns. Each class has a column for each of its numbers, 0 where a provider has none of it.

A process looks at the same providers for one decision after the other, so a look costs only what changed since the
last: 0.2 ms of CPU at 10,000 hosts, where making all columns takes 25.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import compress, count
from operator import is_not
from typing import Any
from uuid import UUID

import numpy as np

from placement.candidates import ProviderFacts
from placement.domain import InventoryUsage
from scheduling.domain.columns import intern
from scheduling.domain.trace.columns import Array

PROVIDERS = "providers/uuid"
_NUMBERS = {each.name: np.float64 if each.name == "allocation_ratio" else np.int64 for each in fields(InventoryUsage)}
_INTERNED = ("traits", "aggregates", "classes")

Column = Any


@dataclass(slots=True)
class ProviderColumns:
    """The providers seen last as columns. A column that has not changed is the same object as before."""

    facts: tuple[ProviderFacts | None, ...] = ()
    _numbers: dict[str, dict[str, Array]] = field(default_factory=dict)
    _others: dict[str, Column] = field(default_factory=dict)

    def columns(self, facts: Sequence[ProviderFacts | None]) -> dict[str, Column]:
        """The columns of these providers; rows of providers that are gone are None.

        What changed is told by identity: whatever changes about a provider, another object takes its place.
        """
        now, before = tuple(facts), self.facts
        if len(now) < len(before):
            before, self._numbers, self._others = (), {}, {}
        changed = [*compress(count(), map(is_not, now, before)), *range(len(before), len(now))]
        self.facts = now
        if not self._others or any(
            at >= len(before) or _without_numbers(now[at]) != _without_numbers(before[at]) for at in changed
        ):
            self._others = _other_columns(now)
        if changed:
            self._take_numbers(changed)
        numbers = {
            f"providers/of.{name}.{part}": column
            for name, parts in self._numbers.items()
            for part, column in parts.items()
        }
        return {**self._others, "providers/names": tuple(self._numbers), **numbers}

    def _take_numbers(self, changed: list[int]) -> None:
        """New arrays for what differs, because the old ones may be held by a snapshot; the others stay as they are."""
        size = len(self.facts)
        given = [None if (each := self.facts[at]) is None else each.inventories for at in changed]
        for name in sorted({*self._numbers, *(name for one in given if one is not None for name in one)}):
            usages = [None if one is None else one.get(name) for one in given]
            parts = self._numbers.setdefault(name, {})
            for part, kind in _NUMBERS.items():
                column = parts.get(part, np.zeros(0, dtype=kind))
                values = [0 if usage is None else getattr(usage, part) for usage in usages]
                if len(column) == size and column[changed].tolist() == values:
                    continue
                grown = np.zeros(size, dtype=kind)
                grown[: len(column)] = column
                grown[changed] = values
                parts[part] = grown


def providers_from_columns(columns: Mapping[str, Column]) -> tuple[ProviderFacts, ...]:
    """The providers in their order; rows that were empty are left out."""
    numbers: dict[str, list[tuple[Any, ...]]] = {
        name: list(zip(*(columns[f"providers/of.{name}.{part}"].tolist() for part in _NUMBERS), strict=True))
        for name in columns["providers/names"]
    }
    interned = (
        map(columns[f"providers/{name}.values"].__getitem__, columns[f"providers/{name}.codes"].tolist())
        for name in _INTERNED
    )
    places = (columns[PROVIDERS], columns["providers/root"], columns["providers/parent"])
    return tuple(
        ProviderFacts(
            uuid=UUID(uuid),
            root_uuid=UUID(root or uuid),
            inventories={name: InventoryUsage(*numbers[name][at]) for name in classes},
            traits=traits,
            aggregates=aggregates,
            parent_uuid=UUID(parent) if parent else None,
        )
        for at, (uuid, root, parent, traits, aggregates, classes) in enumerate(zip(*places, *interned, strict=True))
        if uuid
    )


def _without_numbers(each: ProviderFacts | None) -> tuple[Any, ...] | None:
    """The name and the generation say nothing to a search."""
    if each is None:
        return None
    return each.uuid, each.root_uuid, each.parent_uuid, each.traits, each.aggregates, tuple(sorted(each.inventories))


def _other_columns(facts: Sequence[ProviderFacts | None]) -> dict[str, Column]:
    """All that is not a number. A root is written as an empty text, and so is what a row without provider has."""
    rows = [_without_numbers(each) for each in facts]
    columns: dict[str, Column] = {
        PROVIDERS: tuple("" if row is None else row[0].hex for row in rows),
        "providers/root": tuple("" if row is None or row[1] == row[0] else row[1].hex for row in rows),
        "providers/parent": tuple("" if row is None or row[2] is None else row[2].hex for row in rows),
    }
    for at, name in enumerate(_INTERNED, 3):
        found = intern([() if row is None else row[at] for row in rows])
        columns[f"providers/{name}.values"], columns[f"providers/{name}.codes"] = found.values, found.codes
    return columns
