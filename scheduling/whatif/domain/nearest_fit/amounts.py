"""Changes of amounts: ask for less, raise a ratio, free what is in use."""

import math
from collections.abc import Iterator
from dataclasses import replace

from controlplane.kernel.reasons import Refusal, RefusalReason
from controlplane.kernel.texts import Phrase, gettext_noop
from controlplane.kernel.units import amount_text, amount_words
from scheduling.domain.hosts.host_rows import HostRow
from scheduling.domain.request.resources import DISK_GB, MEMORY_MB, VCPU
from scheduling.domain.snapshots import FlavorSnapshot
from scheduling.whatif.domain.edits import FleetEdits, FreedEdit, RatioEdit
from scheduling.whatif.domain.nearest_fit.change import ChangeKind, ChangeStep, Trial, edited
from scheduling.whatif.domain.world import World

_CLASS_SHORT = {
    RefusalReason.VCPU_SHORT: VCPU,
    RefusalReason.RAM_SHORT: MEMORY_MB,
    RefusalReason.DISK_SHORT: DISK_GB,
}
_RATIO_STEP = 0.01


def room(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """Less asked for, a higher ratio, or less in use."""
    name = class_of(refusal)
    wanted, left = refusal.wanted, refusal.available
    if not isinstance(wanted, int) or not isinstance(left, int):
        return
    usage = row.inventories.get(name)
    maximum = left if usage is None else min(left, usage.max_unit)
    yield from ask_for_less(trial, name, maximum if usage is None else maximum - maximum % usage.step_size)
    yield from raise_ratio(trial, row, name, 0, wanted)
    yield from free_room(trial, row, name, 0, wanted)


def raise_ratio(trial: Trial, row: HostRow, name: str, taken: int, wanted: int) -> Iterator[ChangeStep]:
    """The least ratio at which the host has `wanted` more, when `taken` of what it has is spoken for already."""
    usage = row.inventories.get(name)
    if usage is None or usage.total <= usage.reserved:
        return
    before, after = usage.allocation_ratio, _ratio_for(usage.used + taken + wanted, usage.total - usage.reserved)
    if after > before:
        edits = FleetEdits(allocation_ratios=(RatioEdit(name, after, (row.host,)),))
        sentence = Phrase(
            gettext_noop("raise the allocation ratio of {name} on {host} from {before:g} to {after:g}"),
            name=name,
            host=row.host,
            before=before,
            after=after,
        )
        size = (after - before) / before if before else 1.0
        yield ChangeStep(ChangeKind.FLEET, "allocation_ratio", sentence, size, edited(trial, edits), names_host=True)


def free_room(trial: Trial, row: HostRow, name: str, taken: int, wanted: int) -> Iterator[ChangeStep]:
    """So much less in use on the host that it has `wanted` more."""
    usage = row.inventories.get(name)
    if usage is None:
        return
    bound = math.floor((usage.total - usage.reserved) * usage.allocation_ratio)
    missing = usage.used + taken + wanted - bound
    if 0 < missing <= usage.used:
        edits = FleetEdits(freed=(FreedEdit(row.host, name, missing),))
        sentence = Phrase(gettext_noop("free {amount} on {host}"), amount=amount_words(missing, name), host=row.host)
        yield ChangeStep(ChangeKind.FLEET, "freed", sentence, missing / wanted, edited(trial, edits), names_host=True)


def class_of(refusal: Refusal) -> str:
    """The resource class a host is short of; search refusals name it first in their detail."""
    return _CLASS_SHORT.get(refusal.reason) or refusal.detail.partition(",")[0]


def _ratio_for(wanted: int, units: int) -> float:
    """The least ratio, in hundredths, of which `units` give `wanted`."""
    ratio = math.ceil(wanted / units / _RATIO_STEP) * _RATIO_STEP
    ratio = round(ratio, 2)
    return ratio if math.floor(units * ratio) >= wanted else round(ratio + _RATIO_STEP, 2)


def ask_for_less(trial: Trial, name: str, amount: int) -> Iterator[ChangeStep]:
    """The same request with `amount` of a resource class; disk is taken off the root disk."""
    flavor = trial.request.flavor
    changed, field_name, before, after = _less(flavor, name, amount)
    if changed is None or not 0 < after < before:
        return
    yield ChangeStep(
        ChangeKind.REQUEST,
        field_name,
        Phrase(
            gettext_noop("ask for {amount} instead of {before}"),
            amount=amount_words(after, name),
            before=amount_text(before, name),
        ),
        (before - after) / before,
        replace(trial, request=replace(trial.request, flavor=changed)),
    )


def _less(flavor: FlavorSnapshot, name: str, amount: int) -> tuple[FlavorSnapshot | None, str, int, int]:
    key = f"resources:{name}"
    if key in flavor.extra_specs:
        specs = {**flavor.extra_specs, key: str(amount)}
        text = flavor.extra_specs[key]
        return replace(flavor, extra_specs=specs), key, int(text) if text.isdecimal() else 0, amount
    if name == VCPU:
        return replace(flavor, vcpus=amount), "vcpus", flavor.vcpus, amount
    if name == MEMORY_MB:
        return replace(flavor, memory_mib=amount), "memory_mib", flavor.memory_mib, amount
    if name == DISK_GB:
        root = amount - flavor.ephemeral_gib - -(-flavor.swap_mib // 1024)
        return replace(flavor, root_gib=max(0, root)), "root_gib", flavor.root_gib, root
    return None, "", 0, 0


def piece(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """A piece that is too large, or no multiple of the step: the next smaller one that is allowed."""
    for name, usage in row.inventories.items():
        if isinstance(refusal.wanted, int) and f"of {name} " in refusal.detail:
            maximum = min(refusal.wanted, usage.max_unit)
            yield from ask_for_less(trial, name, maximum - maximum % usage.step_size)
