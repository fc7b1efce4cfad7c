"""Single steps towards a fit: what of request, policy or fleet could be changed so that one refusal goes away.

A step is only a proposal. Whether it helps is found out by a run of the engine, never by these rules.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from controlplane.kernel.reasons import Refusal, RefusalReason
from controlplane.kernel.texts import Phrase, gettext_noop
from scheduling.domain.hosts.host_rows import ZONE_KEY, HostRow
from scheduling.whatif.domain.edits import AggregateEdit, FleetEdits
from scheduling.whatif.domain.nearest_fit import isolation as keeping
from scheduling.whatif.domain.nearest_fit import topology as shape
from scheduling.whatif.domain.nearest_fit.amounts import piece, room
from scheduling.whatif.domain.nearest_fit.change import ChangeKind, ChangeStep, Proposer, Trial, edited
from scheduling.whatif.domain.nearest_fit.traits import derived_traits
from scheduling.whatif.domain.nearest_fit.volumes import smaller_volume, without_volume
from scheduling.whatif.domain.world import World

# Rules about what a host is: switching them off would place instances where they cannot run.
NEVER_OFF = frozenset({"ComputeFilter", "ImagePropertiesFilter", "NUMATopologyFilter", "PciPassthroughFilter"})
_LIMIT_OPTIONS = {
    RefusalReason.NUM_INSTANCES: "max_instances_per_host",
    RefusalReason.IO_OPS: "max_io_ops_per_host",
}


def steps_for_refusal(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """All steps that might make this refusal of this host go away. `world` is the edited one, `row` its row."""
    for propose in PROPOSERS.get(refusal.reason, ()):
        yield from propose(refusal, trial, world, row)
    yield from _filter_off(refusal, trial)


def _enable(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    edits = FleetEdits(hosts_enabled=(row.host,))
    yield ChangeStep(
        ChangeKind.FLEET,
        "host_enabled",
        Phrase(gettext_noop("enable {host}"), host=row.host),
        1.0,
        edited(trial, edits),
        names_host=True,
    )


def _bring_up(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    edits = FleetEdits(hosts_up=(row.host,))
    sentence = Phrase(gettext_noop("bring the compute service of {host} up"), host=row.host)
    yield ChangeStep(ChangeKind.FLEET, "host_up", sentence, 1.0, edited(trial, edits), names_host=True)


def _zone(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    wanted, here = str(refusal.wanted), str(refusal.available)
    request = replace(trial.request, availability_zone=here)
    sentence = Phrase(gettext_noop("ask for zone {here} instead of {wanted}"), here=here, wanted=wanted)
    yield ChangeStep(ChangeKind.REQUEST, "zone", sentence, 1.0, replace(trial, request=request))
    target = next((one for one in world.aggregates if one.metadata.get(ZONE_KEY) == wanted), None)
    # A host with instances stays in its zone.
    if target is not None and not (row.instances or row.num_instances):
        out = [one for one in world.aggregates if row.host in one.hosts and one.availability_zone]
        edits = FleetEdits(
            aggregates=(
                *(AggregateEdit(one.name, hosts_removed=(row.host,)) for one in out),
                AggregateEdit(target.name, hosts_added=(row.host,)),
            )
        )
        moved = Phrase(
            gettext_noop("move {host} to zone {wanted} (aggregate {aggregate})"),
            host=row.host,
            wanted=wanted,
            aggregate=target.name,
        )
        yield ChangeStep(ChangeKind.FLEET, "host_zone", moved, 1.0, edited(trial, edits), names_host=True)


def _trait(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
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
        is_missing = refusal.reason is RefusalReason.TRAIT_MISSING
        without = (gettext_noop("do not forbid the trait {names}"), gettext_noop("do not require the trait {names}"))
        sentence = Phrase(without[is_missing], names=", ".join(sorted(names)))
        yield ChangeStep(ChangeKind.REQUEST, "trait", sentence, float(len(names)), replace(trial, request=changed))


def _without_traits(specs: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {
        key: value for key, value in specs.items() if not (key.startswith("trait") and key.partition(":")[2] in names)
    }


def _hint(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """Without one of the hints."""
    for name in trial.request.hints:
        hints = {key: values for key, values in trial.request.hints.items() if key != name}
        changed = replace(trial, request=replace(trial.request, hints=hints))
        yield ChangeStep(
            ChangeKind.REQUEST, "hint", Phrase(gettext_noop("drop the hint {name}"), name=name), 1.0, changed
        )


def _group(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    if trial.request.group is not None:
        changed = replace(trial, request=replace(trial.request, group=None))
        name = trial.request.group.name or trial.request.group.uuid
        yield ChangeStep(
            ChangeKind.REQUEST,
            "group",
            Phrase(gettext_noop("ask outside the server group {name}"), name=name),
            1.0,
            changed,
        )


def _extra_spec(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """Without one of the flavor's extra specs that speak of hosts, not of amounts."""
    flavor = trial.request.flavor
    for key in flavor.extra_specs:
        if key.startswith(("resources", "trait", "hw:", "quota:")):
            continue
        specs = {name: value for name, value in flavor.extra_specs.items() if name != key}
        changed = replace(trial, request=replace(trial.request, flavor=replace(flavor, extra_specs=specs)))
        sentence = Phrase(gettext_noop("use a flavor without the extra spec {key}"), key=key)
        yield ChangeStep(ChangeKind.REQUEST, "extra_spec", sentence, 1.0, changed)


def _limit(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """A higher limit of the policy, just high enough."""
    name, held = _LIMIT_OPTIONS[refusal.reason], refusal.available
    if not isinstance(held, int):
        return
    yield from keeping.limit_of_aggregates(trial, world, row, name, held + 1)
    before = int(getattr(trial.policy.options, name))
    if before > held:
        return
    options = replace(trial.policy.options, **{name: held + 1})  # type: ignore[arg-type]  # whole numbers, both
    sentence = Phrase(
        gettext_noop("raise the policy's {name} from {before} to {after}"), name=name, before=before, after=held + 1
    )
    policy = replace(trial.policy, options=options)
    yield ChangeStep(
        ChangeKind.POLICY, name, sentence, (held + 1 - before) / max(1, before), replace(trial, policy=policy)
    )


def _unlisted(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """Neither ignored hosts nor forced ones."""
    changed = replace(trial.request, ignore_hosts=(), force_hosts=(), force_nodes=())
    sentence = Phrase(gettext_noop("name no hosts to ignore or force"))
    yield ChangeStep(ChangeKind.REQUEST, "hosts", sentence, 1.0, replace(trial, request=changed), names_host=True)


def _no_address(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """Without the address to be near to, and its prefix."""
    hints = {key: value for key, value in trial.request.hints.items() if key not in ("build_near_host_ip", "cidr")}
    changed = replace(trial, request=replace(trial.request, hints=hints))
    yield ChangeStep(ChangeKind.REQUEST, "hint", "ask for no network to be near to", 1.0, changed)


def _filter_off(refusal: Refusal, trial: Trial) -> Iterator[ChangeStep]:
    name = refusal.stage
    if name in trial.policy.filters and name not in NEVER_OFF:
        policy = replace(trial.policy, filters=tuple(one for one in trial.policy.filters if one != name))
        sentence = Phrase(gettext_noop("switch the filter {name} off"), name=name)
        yield ChangeStep(ChangeKind.POLICY, "filter_off", sentence, 1.0, replace(trial, policy=policy))


PROPOSERS: Mapping[RefusalReason, tuple[Proposer, ...]] = {
    RefusalReason.VCPU_SHORT: (room,),
    RefusalReason.RAM_SHORT: (room,),
    RefusalReason.DISK_SHORT: (room,),
    RefusalReason.RESOURCE_SHORT: (room,),
    RefusalReason.AMOUNT_NOT_ALLOWED: (piece,),
    RefusalReason.DISABLED: (_enable,),
    RefusalReason.DOWN: (_bring_up,),
    RefusalReason.WRONG_ZONE: (_zone,),
    RefusalReason.TRAIT_MISSING: (_trait, derived_traits),
    RefusalReason.TRAIT_FORBIDDEN: (_trait, derived_traits),
    RefusalReason.NOT_SAME_HOST: (_hint,),
    RefusalReason.NOT_DIFFERENT_HOST: (_hint,),
    RefusalReason.PLUGIN_REFUSED: (_hint, _extra_spec),
    RefusalReason.CAPABILITY_MISSING: (_extra_spec,),
    RefusalReason.CAPABILITY_MISMATCH: (_extra_spec,),
    RefusalReason.AGGREGATE_METADATA_MISSING: (_extra_spec, keeping.report_aggregate),
    RefusalReason.AGGREGATE_METADATA_MISMATCH: (_extra_spec, keeping.report_aggregate),
    RefusalReason.GROUP_AFFINITY: (_group,),
    RefusalReason.GROUP_ANTI_AFFINITY: (_group, keeping.more_members),
    RefusalReason.NUM_INSTANCES: (_limit,),
    RefusalReason.IO_OPS: (_limit,),
    RefusalReason.IGNORED: (_unlisted,),
    RefusalReason.NOT_FORCED: (_unlisted,),
    RefusalReason.NUMA_TOPOLOGY_MISSING: (shape.plain_guest,),
    RefusalReason.NUMA_CELLS_SHORT: (shape.other_cells, shape.plain_guest),
    RefusalReason.NUMA_MEMORY_SHORT: (shape.less_memory, shape.other_cells, shape.plain_guest),
    RefusalReason.NUMA_CPU_SHORT: (shape.fewer_cpus, shape.other_cells, shape.plain_guest),
    RefusalReason.PINNED_CPU_SHORT: (shape.fewer_cpus, shape.other_cells, shape.shared_cpus),
    RefusalReason.CPU_THREADS_UNSUITED: (shape.any_threads, shape.shared_cpus),
    RefusalReason.PAGES_SHORT: (shape.fewer_pages, shape.other_pages, shape.other_cells),
    RefusalReason.PAGE_SIZE_UNSUPPORTED: (shape.other_pages,),
    RefusalReason.PCI_SHORT: (shape.fewer_devices,),
    RefusalReason.PCI_NUMA_FAR: (shape.devices_anywhere, shape.fewer_devices),
    RefusalReason.HOST_ISOLATED: (keeping.isolate_image, keeping.open_host, keeping.no_restriction),
    RefusalReason.HOST_NOT_ISOLATED: (keeping.isolate_host, keeping.open_image),
    RefusalReason.METRIC_MISSING: (keeping.without_metrics,),
    RefusalReason.TRUST_LEVEL: (keeping.any_trust,),
    RefusalReason.NOT_IN_NETWORK: (_no_address,),
    RefusalReason.QUERY_NOT_MET: (_hint,),
    RefusalReason.NOT_EXACT: (keeping.exact_amount,),
    RefusalReason.IMAGE_PROPERTY_UNSUPPORTED: (keeping.without_property,),
    RefusalReason.IMAGE_NOT_ALLOWED: (keeping.without_property, keeping.allow_image),
    RefusalReason.FLAVOR_NOT_ALLOWED: (keeping.allow_flavor,),
    RefusalReason.TENANT_NOT_ALLOWED: (keeping.allow_project,),
    RefusalReason.NOT_IN_AGGREGATE: (keeping.join_aggregate,),
    RefusalReason.AGGREGATE_ISOLATED: (keeping.require_isolated, keeping.leave_aggregate),
    RefusalReason.VOLUME_UNREACHED: (without_volume,),
    RefusalReason.VOLUME_POOL_SHORT: (smaller_volume, without_volume),
}
