"""Which hosts have the traits, the aggregates and the room: Placement's rules over columns.

It only proposes. The claim decides, by the same arithmetic in the database.
"""

from collections.abc import Mapping
from functools import partial

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.host_table import HostTable
from scheduling.domain.hosts import Hosts, RefusalGroup, refuse_in_turn
from scheduling.domain.request_spec import RequestSpec
from scheduling.domain.resources import resource_words
from scheduling.domain.trace import Lack, Nearest, Round


def refuse_unfit(spec: RequestSpec, hosts: Hosts) -> list[RefusalGroup]:
    """Aggregates, traits, then room; within a batch, where only room changes, room alone."""
    room = partial(_refuse_full, spec.resources.amounts)
    if spec.index:
        return room(hosts)
    return refuse_in_turn(hosts, [partial(_refuse_outside, spec), partial(_refuse_traits, spec), room])


def _refuse_outside(spec: RequestSpec, hosts: Hosts) -> list[RefusalGroup]:
    rules = [partial(_refuse_not_in, wanted) for wanted in spec.request.member_of]
    return refuse_in_turn(hosts, rules)


def _refuse_not_in(wanted: frozenset[str], hosts: Hosts) -> list[RefusalGroup]:
    inside = {at for at, each in enumerate(hosts.table.aggregates) if each.uuid in wanted}

    def judge(members: tuple[int, ...]) -> Refusal | None:
        if inside.intersection(members):
            return None
        return Refusal(RefusalReason.NOT_IN_AGGREGATE, wanted=", ".join(sorted(wanted)))

    return hosts.refuse_by(hosts.table.aggregate_sets, judge)


def _refuse_traits(spec: RequestSpec, hosts: Hosts) -> list[RefusalGroup]:
    required, forbidden = spec.resources.required, spec.resources.forbidden
    if not required and not forbidden:
        return []

    def judge(traits: frozenset[str]) -> Refusal | None:
        missing = sorted(required - traits)
        if missing:
            return Refusal(RefusalReason.TRAIT_MISSING, wanted=", ".join(missing))
        unwanted = sorted(forbidden & traits)
        return Refusal(RefusalReason.TRAIT_FORBIDDEN, wanted=", ".join(unwanted)) if unwanted else None

    return hosts.refuse_by(hosts.table.trait_sets, judge)


def _refuse_full(amounts: Mapping[str, int], hosts: Hosts) -> list[RefusalGroup]:
    """Class by class; the first that is short is the reason."""
    rules = [partial(_refuse_class, name, amount) for name, amount in amounts.items()]
    return refuse_in_turn(hosts, rules)


def _refuse_class(name: str, amount: int, hosts: Hosts) -> list[RefusalGroup]:
    inventory, words = hosts.table.inventory(name), resource_words(name)
    free = hosts.of(inventory.free)
    detail = name if words.short is RefusalReason.RESOURCE_SHORT else ""
    short = hosts.refuse(
        free < amount,
        words.short,
        wanted=amount,
        available=np.maximum(free, 0),
        unit=words.unit,
        detail=detail,
        total=hosts.of(inventory.total),
        ratio=hosts.of(inventory.allocation_ratio),
    )
    return short + _refuse_units(name, amount, hosts.without(short))


def _refuse_units(name: str, amount: int, hosts: Hosts) -> list[RefusalGroup]:
    """Placement's bounds of one allocation: min_unit, max_unit, step_size."""
    inventory = hosts.table.inventory(name)
    largest, least, step = (hosts.of(each) for each in (inventory.max_unit, inventory.min_unit, inventory.step_size))
    too_much = hosts.refuse(
        amount > largest,
        RefusalReason.AMOUNT_NOT_ALLOWED,
        wanted=amount,
        available=largest,
        detail=f"the most of {name} in one allocation",
    )
    bad = np.logical_and(amount <= largest, np.logical_or(amount < least, amount % step != 0))
    return too_much + hosts.refuse(
        bad,
        RefusalReason.AMOUNT_NOT_ALLOWED,
        wanted=amount,
        available=least,
        detail=f"the least of {name} in one allocation, or its step",
    )


_ROOM = frozenset(
    {
        RefusalReason.VCPU_SHORT,
        RefusalReason.RAM_SHORT,
        RefusalReason.DISK_SHORT,
        RefusalReason.RESOURCE_SHORT,
    }
)


def nearest(table: HostTable, amounts: Mapping[str, int], rounds: tuple[Round, ...]) -> Nearest | None:
    """Of the live hosts refused for want of room the one that lacks least, summed over the parts of each amount."""
    full = [group.rows for each in rounds for group in each.refusals if group.refusal.reason in _ROOM]
    rows = np.sort(np.concatenate(full)) if full else np.empty(0, dtype=np.int64)
    rows = rows[table.up[rows]]
    if not len(rows):
        return None
    lacking = {name: np.maximum(amount - table.inventory(name).free[rows], 0) for name, amount in amounts.items()}
    parts = np.zeros(len(rows), dtype=np.float64)
    for name, amount in amounts.items():
        parts += lacking[name] / amount
    best = int(parts.argmin())
    lacks = tuple(Lack(name, int(column[best])) for name, column in lacking.items() if column[best])
    return Nearest(table.hosts[int(rows[best])], lacks) if lacks else None
