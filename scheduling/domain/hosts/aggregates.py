"""Metadata of a host's aggregates: the union of values, and the minimum of an overriding number."""

import math
from collections.abc import Callable, Iterable

import numpy as np

from scheduling.domain.columns import FloatArray
from scheduling.domain.hosts.host_rows import AggregateRow
from scheduling.domain.hosts.host_slice import Hosts


def metadata_values(aggregates: Iterable[AggregateRow]) -> dict[str, frozenset[str]]:
    """Each key with all its values over these aggregates; a value is a comma-separated list of words."""
    found: dict[str, set[str]] = {}
    for aggregate in aggregates:
        for key, value in aggregate.metadata.items():
            found.setdefault(key, set()).update(word.strip() for word in str(value).split(","))
    return {key: frozenset(values) for key, values in found.items()}


def same_project(project_id: str, said: str) -> bool:
    """Whether a value of metadata names this project. Keystone writes ids without dashes, and so do people."""
    return said == project_id or ("-" not in said and said.lower() == project_id.replace("-", "").lower())


def min_numbers(hosts: Hosts, key: str, default: float, note: Callable[[str], None]) -> float | FloatArray:
    """`default`, or per host the minimum of the numbers that its aggregates give for `key`.

    A value that is no number is noted and counts as the default, as in Nova. The answer is one number if no aggregate
    has the key.
    """
    aggregates = hosts.table.aggregates
    if not any(key in aggregate.metadata for aggregate in aggregates):
        return default
    sets = hosts.table.aggregate_sets
    minimum = np.array([_min_of([aggregates[each] for each in one], key, default, note) for one in sets.values])
    return minimum[hosts.of(sets.codes)]


def _min_of(aggregates: list[AggregateRow], key: str, default: float, note: Callable[[str], None]) -> float:
    numbers = [_number(each.metadata[key]) for each in aggregates if key in each.metadata]
    good = [number for number in numbers if number is not None]
    if len(good) != len(numbers):
        names = ", ".join(each.name for each in aggregates if key in each.metadata)
        note(f"{key} of aggregates {names} is not a number everywhere; {default:g} was used")
        return default
    return min(good, default=default)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
