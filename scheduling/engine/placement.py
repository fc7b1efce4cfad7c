"""This module says which hosts have the traits, the aggregates and the room: Placement's rules over columns, a provider
for each host.

That is all for a host whose provider has neither children nor sharing providers; `engine.candidates` judges the others.
Invariant: this module only proposes. The claim decides, by the same arithmetic in the database.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.columns import BoolArray, IntArray
from scheduling.domain.hosts.host_slice import Hosts, RefusalGroup, refuse_in_turn
from scheduling.domain.hosts.host_table import HostTable
from scheduling.domain.request.request_spec import RequestSpecView
from scheduling.domain.request.resources import (
    DISK_GB,
    MEMORY_MB,
    PCPU,
    VCPU,
    ResourceRequest,
    resource_words,
)
from scheduling.domain.trace.trace import Lack, Nearest, Round


def refuse_unfit(spec: RequestSpecView, hosts: Hosts) -> list[RefusalGroup]:
    """The hosts outside the aggregates, then those without the traits, then those without room. Within a batch only
    room changes, so only room is judged, and only on the host that was placed on last.
    """
    if spec.index:
        return refuse_no_room_any_more(spec.resources, hosts.only(hosts.table.last_placed()))
    traits, room = partial(_refuse_traits, spec.resources), partial(refuse_no_room, spec.resources)
    return refuse_in_turn(hosts, [partial(_refuse_outside, spec), traits, room])


def refuse_no_room(resources: ResourceRequest, hosts: Hosts) -> list[RefusalGroup]:
    """Hosts that offer PCPU are asked for it, the others for VCPU, where the request knows both ways."""
    return [group for needs, some in _by_offer(resources, hosts) for group in refuse_full(needs.amounts, some)]


def refuse_no_room_any_more(resources: ResourceRequest, hosts: Hosts) -> list[RefusalGroup]:
    """The same of the one host that was placed on last, if any. While it has room, plain numbers tell: a batch of a
    thousand asks a thousand times.
    """
    if len(hosts) == 1 and resources.fallback is None and _has_room(resources.amounts, hosts.table, int(hosts.rows[0])):
        return []
    return refuse_no_room(resources, hosts)


def _has_room(amounts: Mapping[str, int], table: HostTable, row: int) -> bool:
    """Whether `refuse_full` has nothing against this row."""
    return all(table.inventory(name).gives(row, amount) for name, amount in amounts.items())


def _by_offer(resources: ResourceRequest, hosts: Hosts) -> Iterator[tuple[ResourceRequest, Hosts]]:
    if resources.fallback is None:
        yield resources, hosts
        return
    offers = offers_pcpu(hosts.table)
    yield resources, hosts.where_flagged(offers)
    yield resources.fallback, hosts.where_not(offers)


def offers_pcpu(table: HostTable) -> BoolArray:
    """By row: the host has an inventory of dedicated CPUs."""
    offers: BoolArray = table.inventory(PCPU).total > 0
    return offers


def _refuse_outside(spec: RequestSpecView, hosts: Hosts) -> list[RefusalGroup]:
    rules = [partial(_refuse_not_in, wanted) for wanted in spec.request.member_of]
    return refuse_in_turn(hosts, rules)


def _refuse_not_in(wanted: frozenset[str], hosts: Hosts) -> list[RefusalGroup]:
    inside = {at for at, each in enumerate(hosts.table.aggregates) if each.uuid in wanted}

    def judge(members: tuple[int, ...]) -> Refusal | None:
        if inside.intersection(members):
            return None
        return Refusal(RefusalReason.NOT_IN_AGGREGATE, wanted=", ".join(sorted(wanted)))

    return hosts.refuse_by(hosts.table.aggregate_sets, judge)


def _refuse_traits(resources: ResourceRequest, hosts: Hosts) -> list[RefusalGroup]:
    return [group for needs, some in _by_offer(resources, hosts) for group in _refuse_traits_of(needs, some)]


def _refuse_traits_of(resources: ResourceRequest, hosts: Hosts) -> list[RefusalGroup]:
    required, forbidden = resources.required, resources.forbidden
    if not required and not forbidden:
        return []

    def judge(traits: frozenset[str]) -> Refusal | None:
        missing = sorted(required - traits)
        if missing:
            return Refusal(RefusalReason.TRAIT_MISSING, wanted=", ".join(missing))
        unwanted = sorted(forbidden & traits)
        return Refusal(RefusalReason.TRAIT_FORBIDDEN, wanted=", ".join(unwanted)) if unwanted else None

    return hosts.refuse_by(hosts.table.trait_sets, judge)


def refuse_full(amounts: Mapping[str, int], hosts: Hosts) -> list[RefusalGroup]:
    """The hosts without these amounts. Classes are judged in turn, and the first that is short is the reason."""
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
    largest, minimum, step = (hosts.of(each) for each in (inventory.max_unit, inventory.min_unit, inventory.step_size))
    too_much = hosts.refuse(
        amount > largest,
        RefusalReason.AMOUNT_NOT_ALLOWED,
        wanted=amount,
        available=largest,
        detail=f"the most of {name} in one allocation",
    )
    bad = np.logical_and(amount <= largest, np.logical_or(amount < minimum, amount % step != 0))
    return too_much + hosts.refuse(
        bad,
        RefusalReason.AMOUNT_NOT_ALLOWED,
        wanted=amount,
        available=minimum,
        detail=f"the least of {name} in one allocation, or its step",
    )


_CLASS_SHORT = {
    RefusalReason.VCPU_SHORT: VCPU,
    RefusalReason.RAM_SHORT: MEMORY_MB,
    RefusalReason.DISK_SHORT: DISK_GB,
}
_ROOM = frozenset({*_CLASS_SHORT, RefusalReason.RESOURCE_SHORT})


def nearest(
    table: HostTable, resources: ResourceRequest, rounds: tuple[Round, ...], is_spread: BoolArray | None = None
) -> Nearest | None:
    """Of the live hosts that were refused for want of room, the one that lacks least, summed over the parts of
    each amount.

    Columns do not say what hosts in `is_spread` lack: for these only what they were refused for counts.
    """
    groups = [group for each in rounds for group in each.refusals if group.refusal.reason in _ROOM]
    if is_spread is None:
        is_spread = np.zeros(len(table), dtype=np.bool_)
    full = [group.rows[~is_spread[group.rows]] for group in groups]
    found = [
        *_nearest_by_columns(table, resources, full),
        *(one for group in groups for one in _nearest_by_refusal(table, group, is_spread)),
    ]
    return min(found, key=lambda one: one[0])[1] if found else None


def _nearest_by_columns(
    table: HostTable, resources: ResourceRequest, full: Sequence[IntArray]
) -> Iterator[tuple[float, Nearest]]:
    if resources.fallback is None:
        yield from _nearest_of(table, resources.amounts, full)
        return
    offers = offers_pcpu(table)
    yield from _nearest_of(table, resources.amounts, [rows[offers[rows]] for rows in full])
    yield from _nearest_of(table, resources.fallback.amounts, [rows[~offers[rows]] for rows in full])


def _nearest_of(
    table: HostTable, amounts: Mapping[str, int], full: Sequence[IntArray]
) -> Iterator[tuple[float, Nearest]]:
    rows = np.sort(np.concatenate(full)) if full else np.empty(0, dtype=np.int64)
    rows = rows[table.up[rows]]
    if not len(rows):
        return
    lacking = {name: np.maximum(amount - table.inventory(name).free[rows], 0) for name, amount in amounts.items()}
    parts = np.zeros(len(rows), dtype=np.float64)
    for name, amount in amounts.items():
        parts += lacking[name] / amount
    best = int(parts.argmin())
    lacks = tuple(Lack(name, int(column[best])) for name, column in lacking.items() if column[best])
    if lacks:
        yield float(parts[best]), Nearest(table.hosts[int(rows[best])], lacks)


def _nearest_by_refusal(table: HostTable, group: RefusalGroup, is_spread: BoolArray) -> Iterator[tuple[float, Nearest]]:
    """The best of one group; its refusals are those of Placement's search, which names the class in `detail`."""
    at = np.flatnonzero(is_spread[group.rows] & table.up[group.rows])
    wanted = group.refusal.wanted
    if not len(at) or not isinstance(wanted, int):
        return
    available = np.zeros(len(group), dtype=np.int64) if group.available is None else group.available
    best = int(at[available[at].argmax()])
    name = _CLASS_SHORT.get(group.refusal.reason) or group.refusal.detail.partition(",")[0]
    lack = wanted - int(available[best])
    yield lack / wanted, Nearest(table.hosts[int(group.rows[best])], (Lack(name, lack),))
