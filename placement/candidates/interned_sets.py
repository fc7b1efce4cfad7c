"""Interned sets of traits or aggregates: each is stored once, and a fleet of thousands has a few dozen of them."""

from collections.abc import Hashable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Bools = NDArray[np.bool_]
K = TypeVar("K", bound=Hashable)
Predicate = tuple[tuple[frozenset[K], ...], frozenset[K]]

_REMEMBERED = 256


class InternedSets(Generic[K]):
    """Gives each set a number and answers a question for all sets at once; a column then holds numbers of sets."""

    def __init__(self) -> None:
        self._number: dict[frozenset[K], int] = {frozenset(): 0}
        self.sets: list[frozenset[K]] = [frozenset()]
        self._answers: dict[Predicate[K], Bools] = {}

    def number_of(self, keys: frozenset[K]) -> int:
        """Return the number of this set, a new one where nobody had it."""
        number = self._number.get(keys)
        if number is None:
            number = self._number[keys] = len(self.sets)
            self.sets.append(keys)
        return number

    def matching(self, required: tuple[frozenset[K], ...], forbidden: frozenset[K] = frozenset()) -> Bools:
        """By number: whether the set has one of each required set and none of the forbidden."""
        key = (required, forbidden)
        answer = self._answers.get(key)
        # Sets are only ever added, so an answer goes stale by becoming too short.
        if answer is None or len(answer) < len(self.sets):
            answer = np.array([self._meets(keys, required, forbidden) for keys in self.sets], dtype=np.bool_)
            if len(self._answers) >= _REMEMBERED:
                self._answers.clear()
            self._answers[key] = answer
        return answer

    @staticmethod
    def _meets(keys: frozenset[K], required: tuple[frozenset[K], ...], forbidden: frozenset[K]) -> bool:
        return keys.isdisjoint(forbidden) and not any(keys.isdisjoint(alternatives) for alternatives in required)
