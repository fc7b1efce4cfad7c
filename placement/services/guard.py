"""The guard: the one UPDATE that changes `inventory.used`, for all inventories of a batch.

The providers are locked before (`locks.providers_touch`), and nobody writes an inventory without that lock. So the
order in which this statement meets its rows can cause no deadlock, and nobody waits inside it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from controlplane.infra.db import rows_run
from placement.domain import Demand

# An amount that is asked must keep the units, and what is used more than before must fit. Who gives back, or takes
# no more than before, always may: an operator can have shrunk the inventory below what is used. Then the most that
# the database excuses (`used_when_set`) falls with `used`, so that it cannot rise again.
# Never below zero: a drifted counter is for the audit to report, it must not keep anybody from leaving.
_CHANGE = """
WITH change(provider, class, delta, is_asked, least, most, divisor) AS (VALUES {rows})
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


@dataclass(frozen=True, slots=True)
class Change:
    """What a batch does to one inventory: what it asks for, if anything, and what its consumers give up."""

    provider_id: int
    class_id: int
    demand: Demand | None
    given_back: int = 0

    @property
    def row(self) -> tuple[int, ...]:
        """The numbers of the statement."""
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
    """Make each change that fits; (provider id, class id) of those. Whoever asked and is missing could not have it."""
    return {(provider, name) for provider, name in rows_run(_CHANGE, [change.row for change in changes])}
