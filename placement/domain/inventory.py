"""One inventory: how much of a resource class a provider has, in which pieces, and how far overcommitted."""

import math
from dataclasses import dataclass

from controlplane.kernel.errors import Invalid
from controlplane.kernel.texts import phrase as _

MAX_INT = 2**31 - 1
_MAX_CAPACITY = 2**63 - 1


def capacity_of(*, total: int, reserved: int, allocation_ratio: float) -> int:
    """Units that may be allocated: (total - reserved) * allocation_ratio, rounded down.

    Computed in double precision, as Placement compares it. Clamped to what a database integer holds.
    """
    product = (total - reserved) * allocation_ratio
    return _MAX_CAPACITY if product >= _MAX_CAPACITY else math.floor(product)


@dataclass(frozen=True, slots=True)
class InventorySpec:
    """What a driver or an operator states about one class of one provider. Defaults are Placement's.

    Units are the class's own (MEMORY_MB is MiB, DISK_GB is GiB).
    """

    total: int
    reserved: int = 0
    min_unit: int = 1
    max_unit: int = MAX_INT
    step_size: int = 1
    allocation_ratio: float = 1.0

    @property
    def capacity(self) -> int:
        """Units that may be allocated."""
        return capacity_of(total=self.total, reserved=self.reserved, allocation_ratio=self.allocation_ratio)

    def check(self, resource_class: str) -> None:
        """Raise Invalid, naming the field, when Placement would refuse these numbers."""
        for name in ("total", "min_unit", "max_unit", "step_size"):
            if not 1 <= getattr(self, name) <= MAX_INT:
                raise _invalid(resource_class, name, _("must be between 1 and {max_int}", max_int=MAX_INT))
        if not 0 <= self.reserved <= self.total:
            raise _invalid(resource_class, "reserved", _("must be between 0 and the total, {total}", total=self.total))
        if not (math.isfinite(self.allocation_ratio) and self.allocation_ratio >= 0):
            raise _invalid(resource_class, "allocation_ratio", _("must be a finite number that is not negative"))


def _invalid(resource_class: str, name: str, rule: str) -> Invalid:
    return Invalid(
        _("{resource_class}: {name} {rule}.", resource_class=resource_class, name=name, rule=rule),
        field=f"inventories.{resource_class}.{name}",
    )


@dataclass(frozen=True, slots=True)
class InventoryUsage:
    """An inventory with what is allocated of it. `used` exceeds `capacity` only where an operator shrank it."""

    total: int
    reserved: int
    allocation_ratio: float
    used: int
    capacity: int
    min_unit: int
    max_unit: int
    step_size: int

    @property
    def free(self) -> int:
        """Units that a claim can still get; never negative."""
        return max(0, self.capacity - self.used)

    @property
    def spec(self) -> InventorySpec:
        """The stated part, without usage."""
        return InventorySpec(
            total=self.total,
            reserved=self.reserved,
            min_unit=self.min_unit,
            max_unit=self.max_unit,
            step_size=self.step_size,
            allocation_ratio=self.allocation_ratio,
        )
