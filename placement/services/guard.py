"""The guard: the one UPDATE that changes `inventory.used`, for all inventories of a batch.

Its callers lock the providers before (`locks.providers_touch`), and nobody writes an inventory without that lock. So
the order in which this statement meets its rows can cause no deadlock, and nobody waits inside it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.infra.db import rows_run
from placement.domain import Demand

# Invariants that this statement holds, and the constraints of the table behind it:
# - `used` never grows beyond `capacity`: who takes more than before (delta > 0) must fit.
# - Who gives back, or takes no more than before, always may: an operator can have shrunk the inventory below what is
#   used. `used_when_set` is the maximum that the database excuses then; it falls with `used` and never rises here, so
#   what was given back above the capacity cannot be taken again.
# - An amount that is asked for obeys min_unit, max_unit and step_size, also where the sum does not grow.
# - `used` never falls below zero: a drifted counter is for the audit to report, it must not keep anybody from leaving.
# A row that is not returned was refused and is unchanged; the caller then undoes the whole batch.
_CHANGE = """
WITH change(provider, class, delta, is_asked, least, most, divisor) AS ({rows})
UPDATE placement_inventory
   SET used = CASE WHEN used + change.delta > 0 THEN used + change.delta ELSE 0 END,
       used_when_set = CASE WHEN change.delta >= 0 OR used + change.delta >= used_when_set THEN used_when_set
                            WHEN used + change.delta > 0 THEN used + change.delta ELSE 0 END
  FROM change
 WHERE provider_id = change.provider AND resource_class_id = change.class
   AND (change.delta <= 0 OR used + change.delta <= capacity)
   AND (change.is_asked = 0
        OR (change.least >= min_unit AND change.most <= max_unit AND change.divisor %% step_size = 0))
RETURNING provider_id, resource_class_id
"""
_TYPES = ("bigint",) * 7


@dataclass(frozen=True, slots=True)
class Change:
    """What a batch does to one inventory: what it asks for, if anything, and what its consumers give back."""

    provider_id: int
    class_id: int
    demand: Demand | None
    given_back: int = 0

    @property
    def row(self) -> tuple[int, ...]:
        """The numbers of this change in the order of `change(...)` in the statement."""
        if self.demand is None:
            return (self.provider_id, self.class_id, -self.given_back, 0, 0, 0, 0)
        asked = self.demand
        return (
            self.provider_id,
            self.class_id,
            asked.total - self.given_back,
            1,
            asked.minimum,
            asked.maximum,
            asked.divisor,
        )


def used_change(changes: Iterable[Change]) -> set[tuple[int, int]]:
    """Make each change that fits. Returns (provider id, class id) of these; one that is missing was refused."""
    return {(provider, name) for provider, name in rows_run(_CHANGE, [change.row for change in changes], types=_TYPES)}
