"""The guard: the two UPDATEs that change `inventory.used`. One statement for all inventories of a batch.

Written in SQL because the ORM cannot join an UPDATE with a list of values; PostgreSQL and SQLite (3.35 and later)
read the same text. It carries row ids and amounts only.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from django.db import connection

from placement.domain import Demand

CHUNK = 500

_ADD = """
WITH take(inventory_id, total, least, most, divisor) AS (VALUES {rows})
UPDATE placement_inventory SET used = used + take.total FROM take
 WHERE placement_inventory.id = take.inventory_id
   AND used + take.total <= capacity
   AND take.least >= min_unit AND take.most <= max_unit AND take.divisor %% step_size = 0
RETURNING id
"""

# Never below zero: a drifted counter is for the audit to report, it must not keep anybody from leaving.
_GIVE_BACK = """
WITH back(provider, class, amount) AS (VALUES {rows})
UPDATE placement_inventory SET used = CASE WHEN used > back.amount THEN used - back.amount ELSE 0 END FROM back
 WHERE provider_id = back.provider AND resource_class_id = back.class
"""


@dataclass(frozen=True, slots=True)
class Take:
    """What a batch takes from one inventory."""

    inventory_id: int
    demand: Demand


def used_add(takes: Iterable[Take]) -> set[int]:
    """Add each demand where it fits; the ids of the inventories that gave. Whoever is missing could not."""
    rows = [
        (take.inventory_id, take.demand.total, take.demand.least, take.demand.most, take.demand.divisor)
        for take in takes
    ]
    gave: set[int] = set()
    with connection.cursor() as cursor:
        for chunk in _chunks(rows):
            cursor.execute(*_statement(_ADD, chunk))
            gave.update(inventory_id for (inventory_id,) in cursor.fetchall())
    return gave


def used_give_back(amounts: Iterable[tuple[int, int, int]]) -> None:
    """Subtract (provider id, resource class id, amount), each pair named once."""
    with connection.cursor() as cursor:
        for chunk in _chunks(list(amounts)):
            cursor.execute(*_statement(_GIVE_BACK, chunk))


def _chunks(rows: Sequence[tuple[int, ...]]) -> Iterable[list[tuple[int, ...]]]:
    walk = iter(rows)
    while chunk := list(islice(walk, CHUNK)):
        yield chunk


def _statement(template: str, rows: Sequence[tuple[int, ...]]) -> tuple[str, list[int]]:
    """The statement with a placeholder per number. PostgreSQL types a list of values by its first row."""
    one = "(" + ", ".join(["%s"] * len(rows[0])) + ")"
    return template.format(rows=", ".join([one] * len(rows))), [int(number) for row in rows for number in row]
