"""Changes of what hosts are reserved for: aggregates, isolated hosts, metrics, trust, and limits of groups."""

from collections.abc import Iterator
from dataclasses import replace

from controlplane.kernel.reasons import Refusal, RefusalReason
from controlplane.kernel.texts import Phrase, gettext_noop
from controlplane.kernel.units import amount_text, amount_words
from scheduling.domain.hosts.aggregates import metadata_values
from scheduling.domain.hosts.host_rows import AggregateRow, HostRow
from scheduling.domain.request.image_property_names import EARLIER_NAMES
from scheduling.domain.request.resources import DISK_GB, MEMORY_MB, VCPU
from scheduling.filters.aggregate_multitenancy import TENANT_KEY
from scheduling.filters.trusted import TRUST_KEY
from scheduling.filters.type_affinity import FLAVOR_KEY
from scheduling.whatif.domain.edits import AggregateEdit, FleetEdits
from scheduling.whatif.domain.nearest_fit.change import (
    ChangeKind,
    ChangeStep,
    Trial,
    edited,
    metadata_step,
    option_step,
    spec_step,
    without_properties,
)
from scheduling.whatif.domain.world import World

MIB_PER_GIB = 1024
# What ImagePropertiesFilter reads; the refusal names values, not which of these asked for them.
_HARDWARE = ("hw_architecture", "img_hv_type", "hw_vm_mode", "img_hv_requested_version", "hw_maxphysaddr_bits")
_OPERATORS = ("=", "<", ">", "!", "s=", "s!", "s<", "s>")


def isolate_image(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """The image among those that isolated hosts are for."""
    image, options = trial.request.image, trial.policy.options
    if image.id:
        sentence = Phrase(
            gettext_noop("add the image {image} to the policy's isolated_images"), image=image.name or image.id
        )
        yield from option_step(trial, "isolated_images", sentence, isolated_images=(*options.isolated_images, image.id))


def open_image(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """The image no longer among those for isolated hosts."""
    image, options = trial.request.image, trial.policy.options
    left = tuple(one for one in options.isolated_images if one != image.id)
    sentence = Phrase(
        gettext_noop("take the image {image} out of the policy's isolated_images"), image=image.name or image.id
    )
    yield from option_step(trial, "isolated_images", sentence, isolated_images=left)


def open_host(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """The host no longer reserved for isolated images."""
    left = tuple(one for one in trial.policy.options.isolated_hosts if one != row.host)
    sentence = Phrase(gettext_noop("take {host} out of the policy's isolated_hosts"), host=row.host)
    yield from option_step(trial, "isolated_hosts", sentence, names_host=True, isolated_hosts=left)


def isolate_host(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """The host among those that isolated images run on."""
    more = (*trial.policy.options.isolated_hosts, row.host)
    sentence = Phrase(gettext_noop("add {host} to the policy's isolated_hosts"), host=row.host)
    yield from option_step(trial, "isolated_hosts", sentence, names_host=True, isolated_hosts=more)


def no_restriction(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """Isolated hosts open to every image."""
    name = "restrict_isolated_hosts_to_isolated_images"
    yield from option_step(
        trial, name, Phrase(gettext_noop("switch the policy's {name} off"), name=name), **{name: False}
    )


def without_metrics(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """A policy that does not weigh by the metrics that the host does not report."""
    missing = {name.strip() for name in str(refusal.wanted).split(",")}
    setting = trial.policy.options.metrics_weight_setting
    left = {name: weight for name, weight in setting.items() if name not in missing}
    names = ", ".join(sorted(missing))
    yield from option_step(
        trial,
        "metrics_weight_setting",
        Phrase(gettext_noop("do not weigh by the metric {names}"), names=names),
        metrics_weight_setting=left,
    )


def any_trust(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """A flavor that asks for no level of trust."""
    yield from spec_step(
        trial, {TRUST_KEY: None}, Phrase(gettext_noop("use a flavor without the extra spec {key}"), key=TRUST_KEY)
    )


def exact_amount(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """Exactly what the host has free."""
    free, wanted = refusal.available, refusal.wanted
    if not isinstance(free, int) or not isinstance(wanted, int) or free <= 0:
        return
    flavor = trial.request.flavor
    what, name, amount, before = "vcpus", VCPU, free, wanted
    if refusal.detail == "MB of memory":
        what, name = "memory_mib", MEMORY_MB
    elif refusal.detail == "MB of disk":
        rest = flavor.ephemeral_gib * MIB_PER_GIB + flavor.swap_mib
        if free <= rest or (free - rest) % MIB_PER_GIB:
            return
        what, name, amount, before = "root_gib", DISK_GB, (free - rest) // MIB_PER_GIB, flavor.root_gib
    changed = replace(flavor, **{what: amount})  # type: ignore[arg-type]  # whole numbers, all three
    size = abs(amount - before) / max(amount, before)
    sentence = Phrase(
        gettext_noop("ask for {amount} instead of {before}"),
        amount=amount_words(amount, name),
        before=amount_text(before, name),
    )
    then = replace(trial, request=replace(trial.request, flavor=changed))
    yield ChangeStep(ChangeKind.REQUEST, what, sentence, size, then)


def more_members(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """A group of which one host may hold more. The rule is set when a group is made."""
    group, held = trial.request.group, refusal.available
    if group is not None and isinstance(held, int):
        rules = {**group.rules, "max_server_per_host": held + 1}
        changed = replace(trial.request, group=replace(group, rules=rules))
        before = group.max_server_per_host
        sentence = Phrase(
            gettext_noop("use a server group with max_server_per_host {after} instead of {before}"),
            after=held + 1,
            before=before,
        )
        size = (held + 1 - before) / before
        yield ChangeStep(ChangeKind.REQUEST, "group_rule", sentence, size, replace(trial, request=changed))


def without_property(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """An image without one of the properties in question."""
    properties = trial.request.image.properties
    if refusal.reason is RefusalReason.IMAGE_NOT_ALLOWED:
        wanted: tuple[str, ...] = (str(refusal.wanted).partition(" ")[0],)
    else:
        wanted = _HARDWARE
    for name in properties:
        if EARLIER_NAMES.get(name, name) in wanted:
            then = without_properties(trial, frozenset({name}))
            sentence = Phrase(gettext_noop("use an image without the property {name}"), name=name)
            yield ChangeStep(ChangeKind.REQUEST, "image_property", sentence, 1.0, then)


def allow_image(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """The image's value among those of the aggregates."""
    key, _, value = str(refusal.wanted).partition(" ")
    yield from _one_more(trial, world, row, key, value)


def allow_flavor(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """The flavor among those that an aggregate names."""
    yield from _one_more(trial, world, row, FLAVOR_KEY, trial.request.flavor.name)


def allow_project(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """The project named by an aggregate of the host, under a key of its own."""
    project = trial.request.project_id
    for aggregate in _aggregates_of(world, row)[:1]:
        yield from metadata_step(trial, aggregate.name, f"{TENANT_KEY}_{project}", project)


def report_aggregate(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """What the flavor asks for, said by an aggregate of the host; only for a plain value."""
    key, _, value = str(refusal.wanted).partition(" ")
    if key and value and "," not in value and not value.startswith(_OPERATORS):
        yield from _one_more(trial, world, row, key, value)


def join_aggregate(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """The host in one of the aggregates that are asked for."""
    wanted = {uuid.strip() for uuid in str(refusal.wanted).split(",")}
    for aggregate in world.aggregates:
        if aggregate.uuid in wanted and row.host not in aggregate.hosts:
            edits = FleetEdits(aggregates=(AggregateEdit(aggregate.name, hosts_added=(row.host,)),))
            sentence = Phrase(
                gettext_noop("add {host} to the aggregate {aggregate}"), host=row.host, aggregate=aggregate.name
            )
            yield ChangeStep(ChangeKind.FLEET, "host_aggregate", sentence, 1.0, edited(trial, edits), names_host=True)


def leave_aggregate(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """The host out of the aggregates that are reserved for others."""
    names = {name.strip() for name in str(refusal.available).split(",")}
    inside = [one.name for one in _aggregates_of(world, row) if one.name in names]
    edits = FleetEdits(aggregates=tuple(AggregateEdit(name, hosts_removed=(row.host,)) for name in inside))
    if edits:
        sentence = Phrase(
            gettext_noop("take {host} out of the aggregate {names}"), host=row.host, names=", ".join(inside)
        )
        yield ChangeStep(ChangeKind.FLEET, "host_aggregate", sentence, float(len(inside)), edited(trial, edits), True)


def require_isolated(refusal: Refusal, trial: Trial, world: World, row: HostRow) -> Iterator[ChangeStep]:
    """A flavor that requires the traits which the aggregates are reserved for."""
    names = {name.strip() for name in str(refusal.available).split(",")}
    keys = {
        key: "required"
        for one in _aggregates_of(world, row)
        if one.name in names
        for key, value in one.metadata.items()
        if key.startswith("trait:") and value == "required"
    }
    sentence = Phrase(
        gettext_noop("require the trait {names}"), names=", ".join(sorted(key.partition(":")[2] for key in keys))
    )
    yield from spec_step(trial, keys, sentence, float(len(keys)))


def limit_of_aggregates(trial: Trial, world: World, row: HostRow, key: str, minimum: int) -> Iterator[ChangeStep]:
    """A higher limit in every aggregate of the host that sets a lower one."""
    low = [one for one in _aggregates_of(world, row) if one.metadata.get(key, "").isdecimal()]
    low = [one for one in low if int(one.metadata[key]) < minimum]
    if low:
        edits = FleetEdits(aggregates=tuple(AggregateEdit(one.name, metadata={key: str(minimum)}) for one in low))
        names = ", ".join(one.name for one in low)
        sentence = Phrase(
            gettext_noop("raise {key} of the aggregate {names} to {minimum}"), key=key, names=names, minimum=minimum
        )
        yield ChangeStep(ChangeKind.FLEET, "aggregate_metadata", sentence, 1.0, edited(trial, edits), names_host=True)


def _one_more(trial: Trial, world: World, row: HostRow, key: str, value: str) -> Iterator[ChangeStep]:
    """One more word among the values of a key, in an aggregate of the host that has the key, or in its first."""
    aggregates = _aggregates_of(world, row)
    having = [one for one in aggregates if key in one.metadata] or aggregates
    for one in having[:1]:
        words = metadata_values([one]).get(key, frozenset())
        yield from metadata_step(trial, one.name, key, ",".join(sorted({*words, value} - {""})))


def _aggregates_of(world: World, row: HostRow) -> list[AggregateRow]:
    return [one for one in world.aggregates if row.host in one.hosts]
