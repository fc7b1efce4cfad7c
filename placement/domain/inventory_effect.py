"""What stating an inventory anew would change, in numbers and in sentences: shown before anything is saved."""

from dataclasses import astuple, dataclass, fields
from uuid import UUID

from placement.domain.inventory import InventorySpec, InventoryUsage


@dataclass(frozen=True, slots=True)
class InventoryEffect:
    """One class of one provider, now and as it would be. Amounts are in the class's unit.

    `generation` is the provider's when this was read: saving with it fails when anything changed meanwhile.
    `consumers` hold some of this class, `larger_than_max` of them more in one piece than the new `max_unit`.
    `notes` come from other apps: which flavors still fit, who states these numbers otherwise.
    """

    provider_uuid: UUID
    provider_name: str
    resource_class: str
    generation: int
    before: InventoryUsage
    after: InventorySpec
    consumers: int
    larger_than_max: int
    notes: tuple[str, ...] = ()

    @property
    def changes(self) -> list[tuple[str, str, str]]:
        """(field, now, then) of what differs, `capacity` last."""
        names = [field.name for field in fields(InventorySpec)]
        rows = zip(names, astuple(self.before.spec), astuple(self.after), strict=True)
        stated = [(name, f"{now:,}", f"{then:,}") for name, now, then in rows if now != then]
        derived = (self.before.capacity, self.after.capacity)
        return [*stated, *([("capacity", f"{derived[0]:,}", f"{derived[1]:,}")] if derived[0] != derived[1] else [])]

    @property
    def usage_after(self) -> InventoryUsage:
        """The inventory as it would be: what is used stays."""
        spec = self.after
        return InventoryUsage(
            total=spec.total,
            reserved=spec.reserved,
            allocation_ratio=spec.allocation_ratio,
            used=self.before.used,
            capacity=spec.capacity,
            min_unit=spec.min_unit,
            max_unit=spec.max_unit,
            step_size=spec.step_size,
        )

    @property
    def overcommitted_by(self) -> int:
        """How much more would be used than may be, 0 when it fits."""
        return max(0, self.before.used - self.after.capacity)

    def sentences(self) -> list[str]:
        """For people, the weightiest first."""
        return [*self._capacity(), *self._units(), *self.notes]

    def _capacity(self) -> list[str]:
        now, then, used = self.before.capacity, self.after.capacity, self.before.used
        said = f"Capacity {now:,} -> {then:,}, used {used:,}" if now != then else f"Capacity {then:,}, used {used:,}"
        if not self.overcommitted_by:
            return [f"{said}: {self.before.free:,} -> {then - used:,} free."]
        excess = f"{self.overcommitted_by:,}"
        return [
            f"{said}: over-committed by {excess}; no new claims of {self.resource_class} until as much is given back.",
            f"What runs keeps running: {_holders(self.consumers)} of this class and keep it.",
        ]

    def _units(self) -> list[str]:
        then, name, said = self.after, self.resource_class, []
        if then.max_unit < self.before.max_unit:
            larger = f"; {self.larger_than_max:,} larger ones are held and stay" if self.larger_than_max else ""
            said.append(f"Claims of more than {then.max_unit:,} {name} in one piece are refused{larger}.")
        if then.min_unit > self.before.min_unit:
            said.append(f"Claims of less than {then.min_unit:,} {name} are refused.")
        if then.step_size != self.before.step_size and then.step_size > 1:
            said.append(f"Claims must be multiples of {then.step_size:,} {name}.")
        return said


def _holders(count: int) -> str:
    return "1 consumer holds some" if count == 1 else f"{count:,} consumers hold some"
