"""Single steps towards a fit: what of request, policy or fleet could be changed so that one refusal goes away.

A step is only a proposal. Whether it helps is found out by a run of the engine, never by these rules.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from controlplane.kernel.reasons import Refusal, RefusalReason
from scheduling.domain.host_rows import ZONE_KEY, HostRow
from scheduling.domain.policy import Policy
from scheduling.domain.request import FlavorSnapshot, ScheduleRequest
from scheduling.domain.resources import DISK_GB, MEMORY_MB, VCPU, resource_words
from scheduling.engine.what_if import World
from scheduling.engine.what_if_edits import NO_EDITS, AggregateEdit, FleetEdits, FreedEdit, RatioEdit

_CLASS_SHORT = {
    RefusalReason.VCPU_SHORT: VCPU,
    RefusalReason.RAM_SHORT: MEMORY_MB,
    RefusalReason.DISK_SHORT: DISK_GB,
}
# Rules about what a host is: switching them off would place instances where they cannot run.
NEVER_OFF = frozenset({"ComputeFilter", "ImagePropertiesFilter", "NUMATopologyFilter", "PciPassthroughFilter"})
_LIMIT_OPTIONS = {
    RefusalReason.NUM_INSTANCES: "max_instances_per_host",
    RefusalReason.IO_OPS: "max_io_ops_per_host",
}
_RATIO_STEP = 0.01


class ChangeKind(StrEnum):
    """Who would have to change something: whoever asks, whoever sets the rules, whoever runs the hosts."""

    REQUEST = "request"
    POLICY = "policy"
    FLEET = "fleet"


@dataclass(frozen=True, slots=True)
class Trial:
    """A request under a policy on an edited fleet."""

    request: ScheduleRequest
    policy: Policy
    edits: FleetEdits = NO_EDITS


@dataclass(frozen=True, slots=True)
class Step:
    """One change. `size` is the share of one whole thing that is given up: 0.5 for half the vCPUs, 1 for a zone, a
    hint, a filter, a host to be enabled; for ratios and limits the relative rise. `names_host`: not for tenants.
    """

    kind: ChangeKind
    what: str
    sentence: str
    size: float
    trial: Trial
    names_host: bool = False


Proposer = Callable[[Refusal, Trial, World, HostRow], Iterator[Step]]


def steps_for(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[Step]:
    """All steps that might make this refusal of this host go away. `world` is the edited one, `row` its row."""
    for propose in _PROPOSERS.get(refusal.reason, ()):
        yield from propose(refusal, trial, world, row)
    yield from _filter_off(refusal, trial)


def _room(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[Step]:
    name = class_of(refusal)
    wanted, left = refusal.wanted, refusal.available
    if not isinstance(wanted, int) or not isinstance(left, int):
        return
    usage = row.inventories.get(name)
    most = left if usage is None else min(left, usage.max_unit)
    yield from ask_for_less(trial, name, most if usage is None else most - most % usage.step_size)
    yield from raise_ratio(trial, row, name, 0, wanted)
    yield from free_room(trial, row, name, 0, wanted)


def raise_ratio(trial: Trial, row: HostRow, name: str, taken: int, wanted: int) -> Iterator[Step]:
    """The least ratio at which the host has `wanted` more, when `taken` of what it has is spoken for already."""
    usage = row.inventories.get(name)
    if usage is None or usage.total <= usage.reserved:
        return
    before, after = usage.allocation_ratio, _ratio_for(usage.used + taken + wanted, usage.total - usage.reserved)
    if after > before:
        edits = FleetEdits(allocation_ratios=(RatioEdit(name, after, (row.host,)),))
        sentence = f"raise the allocation ratio of {name} on {row.host} from {before:g} to {after:g}"
        size = (after - before) / before if before else 1.0
        yield Step(ChangeKind.FLEET, "allocation_ratio", sentence, size, _edited(trial, edits), names_host=True)


def free_room(trial: Trial, row: HostRow, name: str, taken: int, wanted: int) -> Iterator[Step]:
    """So much less in use on the host that it has `wanted` more."""
    usage = row.inventories.get(name)
    if usage is None:
        return
    bound = math.floor((usage.total - usage.reserved) * usage.allocation_ratio)
    missing = usage.used + taken + wanted - bound
    if 0 < missing <= usage.used:
        edits = FleetEdits(freed=(FreedEdit(row.host, name, missing),))
        sentence = f"free {missing} {resource_words(name).words} on {row.host}"
        yield Step(ChangeKind.FLEET, "freed", sentence, missing / wanted, _edited(trial, edits), names_host=True)


def class_of(refusal: Refusal) -> str:
    """The resource class a host is short of; search refusals name it first in their detail."""
    return _CLASS_SHORT.get(refusal.reason) or refusal.detail.partition(",")[0]


def _ratio_for(wanted: int, units: int) -> float:
    """The least ratio, in hundredths, of which `units` give `wanted`."""
    ratio = math.ceil(wanted / units / _RATIO_STEP) * _RATIO_STEP
    ratio = round(ratio, 2)
    return ratio if math.floor(units * ratio) >= wanted else round(ratio + _RATIO_STEP, 2)


def ask_for_less(trial: Trial, name: str, amount: int) -> Iterator[Step]:
    """The same request with `amount` of a resource class; disk is taken off the root disk."""
    flavor = trial.request.flavor
    changed, field_name, before, after = _less(flavor, name, amount)
    if changed is None or not 0 < after < before:
        return
    words = resource_words(name).words
    yield Step(
        ChangeKind.REQUEST,
        field_name,
        f"ask for {after} {words} instead of {before}",
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


def _piece(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[Step]:
    """A piece that is too large, or no multiple of the step: the next smaller one that is allowed."""
    for name, usage in row.inventories.items():
        if isinstance(refusal.wanted, int) and f"of {name} " in refusal.detail:
            most = min(refusal.wanted, usage.max_unit)
            yield from ask_for_less(trial, name, most - most % usage.step_size)


def _enable(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[Step]:
    edits = FleetEdits(hosts_enabled=(row.host,))
    yield Step(ChangeKind.FLEET, "host_enabled", f"enable {row.host}", 1.0, _edited(trial, edits), names_host=True)


def _bring_up(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[Step]:
    edits = FleetEdits(hosts_up=(row.host,))
    sentence = f"bring the compute service of {row.host} up"
    yield Step(ChangeKind.FLEET, "host_up", sentence, 1.0, _edited(trial, edits), names_host=True)


def _zone(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[Step]:
    wanted, here = str(refusal.wanted), str(refusal.available)
    request = replace(trial.request, availability_zone=here)
    sentence = f"ask for zone {here} instead of {wanted}"
    yield Step(ChangeKind.REQUEST, "zone", sentence, 1.0, replace(trial, request=request))
    target = next((one for one in world.aggregates if one.metadata.get(ZONE_KEY) == wanted), None)
    if target is not None:
        out = [one for one in world.aggregates if row.host in one.hosts and one.availability_zone]
        edits = FleetEdits(
            aggregates=(
                *(AggregateEdit(one.name, hosts_removed=(row.host,)) for one in out),
                AggregateEdit(target.name, hosts_added=(row.host,)),
            )
        )
        moved = f"move {row.host} to zone {wanted} (aggregate {target.name})"
        yield Step(ChangeKind.FLEET, "host_zone", moved, 1.0, _edited(trial, edits), names_host=True)


def _trait(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[Step]:
    """Without the traits in question, wherever they were asked for."""
    names = {name.strip() for name in str(refusal.wanted).split(",")}
    flavor, image, request = trial.request.flavor, trial.request.image, trial.request
    changed = replace(
        request,
        flavor=replace(flavor, extra_specs=_without_traits(flavor.extra_specs, names)),
        image=replace(image, properties=_without_traits(image.properties, names)),
        required_traits=request.required_traits - names,
        forbidden_traits=request.forbidden_traits - names,
    )
    if changed != request:
        verb = "require" if refusal.reason is RefusalReason.TRAIT_MISSING else "forbid"
        sentence = f"do not {verb} the trait {', '.join(sorted(names))}"
        yield Step(ChangeKind.REQUEST, "trait", sentence, float(len(names)), replace(trial, request=changed))


def _without_traits(specs: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {
        key: value for key, value in specs.items() if not (key.startswith("trait") and key.partition(":")[2] in names)
    }


def _hint(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[Step]:
    """Without one of the hints."""
    for name in trial.request.hints:
        hints = {key: values for key, values in trial.request.hints.items() if key != name}
        changed = replace(trial, request=replace(trial.request, hints=hints))
        yield Step(ChangeKind.REQUEST, "hint", f"drop the hint {name}", 1.0, changed)


def _group(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[Step]:
    if trial.request.group is not None:
        changed = replace(trial, request=replace(trial.request, group=None))
        name = trial.request.group.name or trial.request.group.uuid
        yield Step(ChangeKind.REQUEST, "group", f"ask outside the server group {name}", 1.0, changed)


def _extra_spec(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[Step]:
    """Without one of the flavor's extra specs that speak of hosts, not of amounts."""
    flavor = trial.request.flavor
    for key in flavor.extra_specs:
        if key.startswith(("resources", "trait", "hw:", "quota:")):
            continue
        specs = {name: value for name, value in flavor.extra_specs.items() if name != key}
        changed = replace(trial, request=replace(trial.request, flavor=replace(flavor, extra_specs=specs)))
        sentence = f"use a flavor without the extra spec {key}"
        yield Step(ChangeKind.REQUEST, "extra_spec", sentence, 1.0, changed)


def _limit(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[Step]:
    """A higher limit of the policy, just high enough."""
    name, held = _LIMIT_OPTIONS[refusal.reason], refusal.available
    if not isinstance(held, int):
        return
    before = int(getattr(trial.policy.options, name))
    options = replace(trial.policy.options, **{name: held + 1})  # type: ignore[arg-type]  # whole numbers, both
    sentence = f"raise the policy's {name} from {before} to {held + 1}"
    policy = replace(trial.policy, options=options)
    yield Step(ChangeKind.POLICY, name, sentence, (held + 1 - before) / max(1, before), replace(trial, policy=policy))


def _unlisted(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[Step]:
    """Neither ignored hosts nor forced ones."""
    changed = replace(trial.request, ignore_hosts=(), force_hosts=(), force_nodes=())
    sentence = "name no hosts to ignore or force"
    yield Step(ChangeKind.REQUEST, "hosts", sentence, 1.0, replace(trial, request=changed), names_host=True)


def _filter_off(refusal: Refusal, trial: Trial) -> Iterator[Step]:
    name = refusal.stage
    if name in trial.policy.filters and name not in NEVER_OFF:
        policy = replace(trial.policy, filters=tuple(one for one in trial.policy.filters if one != name))
        sentence = f"switch the filter {name} off"
        yield Step(ChangeKind.POLICY, "filter_off", sentence, 1.0, replace(trial, policy=policy))


def _edited(trial: Trial, edits: FleetEdits) -> Trial:
    return replace(trial, edits=trial.edits.plus(edits))


_PROPOSERS: Mapping[RefusalReason, tuple[Proposer, ...]] = {
    RefusalReason.VCPU_SHORT: (_room,),
    RefusalReason.RAM_SHORT: (_room,),
    RefusalReason.DISK_SHORT: (_room,),
    RefusalReason.RESOURCE_SHORT: (_room,),
    RefusalReason.AMOUNT_NOT_ALLOWED: (_piece,),
    RefusalReason.DISABLED: (_enable,),
    RefusalReason.DOWN: (_bring_up,),
    RefusalReason.WRONG_ZONE: (_zone,),
    RefusalReason.TRAIT_MISSING: (_trait,),
    RefusalReason.TRAIT_FORBIDDEN: (_trait,),
    RefusalReason.NOT_SAME_HOST: (_hint,),
    RefusalReason.NOT_DIFFERENT_HOST: (_hint,),
    RefusalReason.PLUGIN_REFUSED: (_hint, _extra_spec),
    RefusalReason.CAPABILITY_MISSING: (_extra_spec,),
    RefusalReason.CAPABILITY_MISMATCH: (_extra_spec,),
    RefusalReason.AGGREGATE_METADATA_MISSING: (_extra_spec,),
    RefusalReason.AGGREGATE_METADATA_MISMATCH: (_extra_spec,),
    RefusalReason.GROUP_AFFINITY: (_group,),
    RefusalReason.GROUP_ANTI_AFFINITY: (_group,),
    RefusalReason.NUM_INSTANCES: (_limit,),
    RefusalReason.IO_OPS: (_limit,),
    RefusalReason.IGNORED: (_unlisted,),
    RefusalReason.NOT_FORCED: (_unlisted,),
}
