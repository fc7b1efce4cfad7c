"""What the scheduler must know of instances: the request made from its spec, and who lives on which host."""

import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from django.db.models import Count, Q, QuerySet

from computeagent.protocol.guest_machine import MACHINE
from placement.selectors.names import trait_names
from scheduling.destinations.selectors.claimed_hosts import claimed_hosts
from scheduling.destinations.selectors.inputs import SchedulingInputs
from scheduling.domain.policy import Policy
from scheduling.domain.request.image_property_names import present_properties, present_words
from scheduling.domain.request.schedule_request import Destination, GroupSnapshot, ScheduleRequest
from scheduling.filters.trusted import TRUST_KEY
from scheduling.filters.type_affinity import TypeAffinityFilter
from scheduling.fleet.cache.attestation import trust_levels
from scheduling.fleet.cache.host_loads import host_loads, load_source_register
from scheduling.fleet.cache.host_metrics import EVERY, has_plugins, host_metrics, metrics_asked
from scheduling.fleet.domain.machine_traits import machine_trait
from scheduling.fleet.facts import NOTHING, FleetFacts, HostInstances
from scheduling.weighers.image_properties import ImagePropertiesWeigher
from servers.instances.domain.bodies import SpecBody
from servers.instances.selectors.host_stats import asks_metrics, asks_stats, host_stats
from servers.models import Instance, RequestSpec, ServerGroup, ServerGroupMember
from servers.states import TaskState, VmState
from servers.volumes.domain.block_devices import bus_traits
from servers.volumes.selectors.volume_needs import volume_needs

TYPE_AFFINITY = TypeAffinityFilter.__name__
IMAGE_PROPERTIES = ImagePropertiesWeigher.__name__
IO_TASKS = (
    TaskState.RESIZE_MIGRATING,
    TaskState.REBUILDING,
    TaskState.RESIZE_PREP,
    TaskState.IMAGE_SNAPSHOT,
    TaskState.IMAGE_BACKUP,
    TaskState.RESCUING,
    TaskState.UNSHELVING,
)


def schedule_request(
    spec: RequestSpec,
    uuids: Sequence[uuid.UUID],
    request_id: str,
    *,
    attempts: int,
) -> ScheduleRequest:
    """The scheduler's request for these instances, from the spec that they share. `attempts`: how many hosts may be
    tried, the first included.
    """
    asked = spec.typed_body
    return ScheduleRequest(
        request_id=request_id,
        project_id=str(spec.project_id),
        user_id=str(spec.user_id),
        instance_uuids=tuple(str(one) for one in uuids),
        flavor=asked.flavor,
        image=asked.image,
        availability_zone=asked.availability_zone or None,
        force_hosts=(asked.force_host,) if asked.force_host else (),
        force_nodes=(asked.force_node,) if asked.force_node else (),
        requested_destination=_destination(asked),
        pci_requests=asked.pci_requests,
        networks=asked.network_needs,
        root_required=asked.carriers | bus_traits(asked.block_devices or ()) | _machine_trait(asked),
        port_resources=asked.port_resources,
        is_bfv=asked.is_bfv,
        volumes=volume_needs(asked.block_devices) if asked.block_devices else (),
        hints=asked.hints,
        group=_group(asked.group_id, uuids),
        num_alternates=attempts - 1,
        min_count=_min_count(asked.min_count, len(uuids)),
    )


def _machine_trait(asked: SpecBody) -> frozenset[str]:
    """Of the machine that the image names, where any host says that it has it: no other one is sent the guest."""
    machine = present_words(asked.image.properties).get(MACHINE)
    return frozenset(trait_names(within=[machine_trait(machine)], is_associated=True)) if machine else frozenset()


def _destination(asked: SpecBody) -> Destination | None:
    if not (asked.requested_host or asked.requested_node):
        return None
    return Destination(host=asked.requested_host or None, node=asked.requested_node or None)


def _min_count(minimum: int | None, count: int) -> int | None:
    """How many of these instances must find a host; None: all. One that is scheduled again by itself must."""
    return min(minimum, count) if minimum is not None and count > 1 else None


def _group(group_id: uuid.UUID | None, uuids: Sequence[uuid.UUID]) -> GroupSnapshot | None:
    """Its members as they are now; those on their way, with a claim and no row yet, are where their claim is."""
    group = ServerGroup.objects.filter(pk=group_id).first() if group_id else None
    if group is None:
        return None
    members = list(ServerGroupMember.objects.filter(group=group).values_list("instance_uuid", flat=True))
    placed = dict(_living().filter(pk__in=members).values_list("pk", "host"))
    on_their_way = [member for member in members if member not in placed and member not in uuids]
    return GroupSnapshot(
        uuid=str(group.pk),
        policy=group.policy,
        rules=group.rules,
        members=tuple(str(one) for one in members),
        hosts=tuple(sorted({*placed.values(), *claimed_hosts(on_their_way)})),
        name=group.name,
    )


def fleet_facts(asked: SpecBody | None, inputs: SchedulingInputs) -> FleetFacts:
    """Per host: how many instances and I/O-heavy operations, and which instances the request's rules speak of;
    without `asked`, none.

    No query for most requests, however large the fleet: hosts are counted again only where `inputs` polled a change.
    Naming every instance of the fleet would cost as much as the fleet is large, so only those that a hint or the group
    names are listed. Flavors of instances are read only where the policy's TypeAffinityFilter looks at them, their
    images only where its ImagePropertiesWeigher is on, trust only for a flavor that asks for it, metrics only where a
    policy or the request looks at them, and counts by state, task, project and operating system likewise.
    """
    hosts, policy = host_loads().read(_loads), inputs.policies.policy()
    policies = inputs.policies.policies()
    flavors = _flavors_by_host(_living()) if TYPE_AFFINITY in policy.filters else {}
    images = _image_properties_by_host(_living()) if _weighs_images(policy) else {}
    on_host = _named_by_host(asked) if asked else {}
    stats = host_stats() if any(map(has_plugins, policies)) or (asked and asks_stats(asked)) else {}
    hosts_with_facts = {
        host: replace(
            hosts.get(host, NOTHING),
            instance_uuids=on_host.get(host, frozenset()),
            flavor_ids=flavors.get(host, frozenset()),
            image_properties=images.get(host, {}),
            stats=stats.get(host, {}),
        )
        for host in {*on_host, *flavors, *images, *stats}
    }
    return FleetFacts(
        hosts={**hosts, **hosts_with_facts} if hosts_with_facts else hosts,
        trust_levels=trust_levels() if asked and _asks_trust(asked) else {},
        metrics=host_metrics().of(EVERY if asked and asks_metrics(asked) else metrics_asked(policies)),
    )


def facts_with_placed(facts: FleetFacts, hosts: Iterable[str]) -> FleetFacts:
    """The facts as if instances had been placed on these, one for each time that a host is named: all being built."""
    more = {}
    for host, count in Counter(hosts).items():
        old = facts.of(host)
        more[host] = replace(old, num_instances=old.num_instances + count, num_io_ops=old.num_io_ops + count)
    return replace(facts, hosts={**facts.hosts, **more})


def may_share_facts(policy: Policy) -> bool:
    """Whether the policy looks at no more of others' instances than how many there are."""
    return TYPE_AFFINITY not in policy.filters and not _weighs_images(policy)


def names_no_instances(asked: SpecBody) -> bool:
    """Whether nothing that is asked for depends on who else is where, or on what only its own facts tell."""
    own = _asks_trust(asked) or asks_metrics(asked) or asks_stats(asked)
    return not (own or asked.group_id or "same_host" in asked.hints or "different_host" in asked.hints)


def _asks_trust(asked: SpecBody) -> bool:
    return TRUST_KEY in asked.flavor.extra_specs


def _weighs_images(policy: Policy) -> bool:
    return any(each.name == IMAGE_PROPERTIES and each.multiplier for each in policy.weighers)


def is_busy(vm_state: str, task_state: str | None) -> bool:
    """Whether an instance in these states counts as an I/O-heavy operation."""
    return vm_state == VmState.BUILDING or task_state in IO_TASKS


def loads_watch() -> None:
    """Let the change feed report which hosts get or lose instances, or busy ones. Called when the apps are ready."""
    tasks = ", ".join(f"'{task.value}'" for task in IO_TASKS)
    is_busy = f"({{row}}.vm_state = '{VmState.BUILDING.value}' OR {{row}}.task_state IN ({tasks}))"
    parts = ("{row}.host", "({row}.deleted_at IS NULL)", is_busy)
    load_source_register(table=Instance._meta.db_table, key="host", parts=parts)


def _living() -> QuerySet[Instance]:
    return Instance.objects.filter(deleted_at__isnull=True).exclude(host="")


def _loads(hosts: Collection[str] | None) -> dict[str, HostInstances]:
    """Counts of these hosts, or of all that have instances. One query."""
    is_busy = Q(vm_state=VmState.BUILDING) | Q(task_state__in=IO_TASKS)
    rows = _living() if hosts is None else Instance.objects.filter(deleted_at__isnull=True, host__in=hosts)
    counts = rows.order_by().values_list("host").annotate(instances=Count("pk"), io_ops=Count("pk", filter=is_busy))
    return {
        host: HostInstances(num_instances=instances, num_io_ops=io_ops) for host, instances, io_ops in counts if host
    }


def _named_by_host(asked: SpecBody) -> dict[str, frozenset[str]]:
    """Those that a hint or the group names, as text."""
    named = _named_instances(asked)
    found: dict[str, set[str]] = defaultdict(set)
    if named:
        for pk, host in _living().filter(pk__in=named).values_list("pk", "host"):
            found[host].add(str(pk))
    return {host: frozenset(uuids) for host, uuids in found.items()}


def _image_properties_by_host(living: QuerySet[Instance]) -> dict[str, Counter[tuple[str, str]]]:
    """How many instances on each host have an image with each known property and value of today (as text)."""
    found: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for host, image in living.order_by().values_list("host", "image"):
        found[host].update(
            (name, str(value)) for name, value in present_properties(image.get("properties") or {}).items()
        )
    return found


def _flavors_by_host(living: QuerySet[Instance]) -> dict[str, frozenset[str]]:
    """Ids of the flavors that the instances on each host have."""
    found: dict[str, set[str]] = defaultdict(set)
    for host, flavor_id in living.order_by().values_list("host", "flavor_id").distinct():
        found[host].add(str(flavor_id))
    return {host: frozenset(ids) for host, ids in found.items()}


def _named_instances(asked: SpecBody) -> list[uuid.UUID]:
    named = {uuid.UUID(one) for key in ("same_host", "different_host") for one in asked.hints.get(key, ())}
    if asked.group_id:
        named |= set(ServerGroupMember.objects.filter(group_id=asked.group_id).values_list("instance_uuid", flat=True))
    return sorted(named)
