"""Quota arithmetic. A limit of -1 means unlimited, as in Nova."""

from dataclasses import dataclass, fields
from typing import TypeVar

UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class QuotaAmounts:
    """So many instances, vCPUs and MiB of memory."""

    instances: int
    cores: int
    ram_mib: int

    def times(self, count: int) -> "QuotaAmounts":
        return QuotaAmounts(self.instances * count, self.cores * count, self.ram_mib * count)


@dataclass(frozen=True, slots=True)
class ImageAmounts:
    """So many images, bytes of their files, and uploads at the same time."""

    images: int
    image_bytes: int
    image_uploads: int


A = TypeVar("A", QuotaAmounts, ImageAmounts)


@dataclass(frozen=True, slots=True)
class Shortfall:
    """One resource that does not suffice."""

    resource: str
    requested: int
    used: int
    limit: int

    @property
    def sentence(self) -> str:
        if not self.requested:
            return f"{self.resource}: {self.used} in use, {self.limit} allowed."
        return f"{self.resource}: {self.requested} asked for, {self.used} of {self.limit} in use."


RESOURCES = ("instances", "cores", "ram_mib")


def shortfalls(*, wanted: A, used: A, limits: A) -> list[Shortfall]:
    """Every resource that would go over its limit. One that nothing is wanted of never does."""
    names = [field.name for field in fields(wanted)]
    rows = [(name, getattr(wanted, name), getattr(used, name), getattr(limits, name)) for name in names]
    return [Shortfall(*row) for row in rows if row[1] > 0 and row[3] != UNLIMITED and row[2] + row[1] > row[3]]


def overruns(*, used: QuotaAmounts, limits: QuotaAmounts) -> list[Shortfall]:
    """Every resource of which more is in use than allowed, with nothing asked for: its limit was lowered."""
    rows = [(name, 0, getattr(used, name), getattr(limits, name)) for name in RESOURCES]
    return [Shortfall(*row) for row in rows if row[3] != UNLIMITED and row[2] > row[3]]


def count_that_fits(*, each: QuotaAmounts, used: QuotaAmounts, limits: QuotaAmounts, maximum: int) -> int:
    """How many of `each` fit, at most `maximum`; 0 when not even one does."""
    fits = maximum
    for name in RESOURCES:
        need, limit = getattr(each, name), getattr(limits, name)
        if need > 0 and limit != UNLIMITED:
            fits = min(fits, (limit - getattr(used, name)) // need)
    return max(0, fits)
