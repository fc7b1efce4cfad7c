"""What stating an inventory anew would change, in numbers and in sentences: shown before anything is saved."""

from dataclasses import astuple, dataclass, fields
from uuid import UUID

from controlplane.kernel.texts import Translate, gettext_noop, in_english
from placement.domain.inventory import InventorySpec, InventoryUsage

CAPACITY = gettext_noop("Capacity {then}, used {used}")
CAPACITY_CHANGES = gettext_noop("Capacity {now} -> {then}, used {used}")
FREE = gettext_noop("{capacity}: {now} -> {then} free.")
OVER_COMMITTED = gettext_noop(
    "{capacity}: over-committed by {excess}; no new claims of {resource_class} until as much is given back."
)
HELD_BY_ONE = gettext_noop("What runs keeps running: 1 consumer holds some of this class and keep it.")
HELD_BY_MANY = gettext_noop("What runs keeps running: {count} consumers hold some of this class and keep it.")
LARGER_REFUSED = gettext_noop("Claims of more than {amount} in one piece are refused.")
LARGER_REFUSED_BUT_HELD = gettext_noop(
    "Claims of more than {amount} in one piece are refused; {held} larger ones are held and stay."
)
SMALLER_REFUSED = gettext_noop("Claims of less than {amount} are refused.")
MULTIPLES = gettext_noop("Claims must be multiples of {amount}.")


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

    def sentences(self, translate: Translate = in_english) -> list[str]:
        """For people, the weightiest first. The notes stay in the language that they were made in."""
        return [*self._capacity(translate), *self._units(translate), *self.notes]

    def _capacity(self, translate: Translate) -> list[str]:
        now, then, used = self.before.capacity, self.after.capacity, self.before.used
        said = translate(CAPACITY if now == then else CAPACITY_CHANGES)
        capacity = said.format(now=f"{now:,}", then=f"{then:,}", used=f"{used:,}")
        if not self.overcommitted_by:
            free, free_then = f"{self.before.free:,}", f"{then - used:,}"
            return [translate(FREE).format(capacity=capacity, now=free, then=free_then)]
        held = translate(HELD_BY_ONE if self.consumers == 1 else HELD_BY_MANY)
        return [
            translate(OVER_COMMITTED).format(
                capacity=capacity, excess=f"{self.overcommitted_by:,}", resource_class=self.resource_class
            ),
            held.format(count=f"{self.consumers:,}"),
        ]

    def _units(self, translate: Translate) -> list[str]:
        then, name, said = self.after, self.resource_class, []
        if then.max_unit < self.before.max_unit:
            larger = translate(LARGER_REFUSED_BUT_HELD if self.larger_than_max else LARGER_REFUSED)
            said.append(larger.format(amount=f"{then.max_unit:,} {name}", held=f"{self.larger_than_max:,}"))
        if then.min_unit > self.before.min_unit:
            said.append(translate(SMALLER_REFUSED).format(amount=f"{then.min_unit:,} {name}"))
        if then.step_size != self.before.step_size and then.step_size > 1:
            said.append(translate(MULTIPLES).format(amount=f"{then.step_size:,} {name}"))
        return said
