"""Quota arithmetic. A limit of -1 means unlimited, as in Nova."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TypeVar

from controlplane.kernel.texts import phrase as _

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
    """One resource that does not suffice. `is_each`: each request is measured by it, and nothing of it is in use."""

    resource: str
    requested: int
    used: int
    limit: int
    is_each: bool = False

    @property
    def sentence(self) -> str:
        if not self.requested:
            return _(
                "{resource}: {used} in use, {limit} allowed.", resource=self.resource, used=self.used, limit=self.limit
            )
        if self.is_each:
            return _(
                "{resource}: {requested} asked for, at most {limit} allowed.",
                resource=self.resource,
                requested=self.requested,
                limit=self.limit,
            )
        return _(
            "{resource}: {requested} asked for, {used} of {limit} in use.",
            resource=self.resource,
            requested=self.requested,
            used=self.used,
            limit=self.limit,
        )


def count_shortfalls(
    *, wanted: Mapping[str, int], used: Mapping[str, int], limits: Mapping[str, int]
) -> list[Shortfall]:
    """The same of resources that are each counted on their own, by name."""
    rows = [(name, amount, used[name], limits[name]) for name, amount in wanted.items()]
    return [Shortfall(*row) for row in rows if row[1] > 0 and row[3] != UNLIMITED and row[2] + row[1] > row[3]]


RESOURCES = ("instances", "cores", "ram_mib")


def shortfalls(*, wanted: A, used: A, limits: A) -> list[Shortfall]:
    """Every resource that would go over its limit. One that nothing is wanted of never does."""
    return count_shortfalls(wanted=asdict(wanted), used=asdict(used), limits=asdict(limits))


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
