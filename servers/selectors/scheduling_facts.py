"""What the scheduler must know of instances: the request made from its spec, and who lives on which host."""

import uuid
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from django.db.models import Count, Q, QuerySet

from scheduling.domain.request import FlavorSnapshot, GroupSnapshot, ImageSnapshot, ScheduleRequest
from scheduling.filters.trusted import TRUST_KEY
from scheduling.filters.type_affinity import TypeAffinityFilter
from scheduling.selectors import attempts_allowed, policy_active, trust_levels
from scheduling.services import FleetFacts, HostFacts
from scheduling.weighers.image_properties import ImagePropertiesWeigher
from servers.domain.states import TaskState, VmState
from servers.models import Instance, RequestSpec, ServerGroup, ServerGroupMember

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
    spec: RequestSpec, uuids: Sequence[uuid.UUID], request_id: str, *, ignore_hosts: tuple[str, ...] = ()
) -> ScheduleRequest:
    """The scheduler's request for these instances, from the spec that they share."""
    body: dict[str, Any] = spec.body
    force_host = body.get("force_host") or ""
    return ScheduleRequest(
        request_id=request_id,
        project_id=str(spec.project_id),
        user_id=str(spec.user_id),
        instance_uuids=tuple(str(one) for one in uuids),
        flavor=FlavorSnapshot(**body["flavor"]),
        image=ImageSnapshot(**body["image"]),
        availability_zone=body.get("availability_zone") or None,
        ignore_hosts=ignore_hosts,
        force_hosts=(force_host,) if force_host else (),
        hints={key: tuple(values) for key, values in body.get("hints", {}).items()},
        group=_group(body.get("group_id")),
        num_alternates=attempts_allowed() - 1,
    )


def _group(group_id: str | None) -> GroupSnapshot | None:
    group = ServerGroup.objects.filter(pk=group_id).first() if group_id else None
    if group is None:
        return None
    members = list(ServerGroupMember.objects.filter(group=group).values_list("instance_uuid", flat=True))
    hosts = Instance.objects.filter(pk__in=members, deleted_at__isnull=True).exclude(host="")
    return GroupSnapshot(
        uuid=str(group.pk),
        policy=group.policy,
        rules=group.rules,
        members=tuple(str(one) for one in members),
        hosts=tuple(hosts.values_list("host", flat=True).distinct()),
        name=group.name,
    )


def fleet_facts(spec: RequestSpec) -> FleetFacts:
    """Per host: how many instances and I/O-heavy operations, and which instances the request's rules speak of.

    Three queries. Naming every instance of the fleet would cost as much as the fleet is large, so only those that a
    hint or the group names are listed. Flavors of instances are read only where the policy's TypeAffinityFilter looks
    at them, their images only where its ImagePropertiesWeigher is on, trust only for a flavor that asks for it.
    """
    named = _named_instances(spec)
    on_host: dict[str, set[str]] = defaultdict(set)
    living = Instance.objects.filter(deleted_at__isnull=True).exclude(host="")
    if named:
        for pk, host in living.filter(pk__in=named).values_list("pk", "host"):
            on_host[host].add(str(pk))
    is_busy = Q(vm_state=VmState.BUILDING) | Q(task_state__in=IO_TASKS)
    policy = policy_active()
    flavors = _flavors_by_host(living) if TYPE_AFFINITY in policy.filters else {}
    is_weighed = any(each.name == IMAGE_PROPERTIES and each.multiplier for each in policy.weighers)
    images = _image_properties_by_host(living) if is_weighed else {}
    counts = living.values("host").annotate(instances=Count("pk"), io_ops=Count("pk", filter=is_busy)).order_by("host")
    return FleetFacts(
        hosts={
            row["host"]: HostFacts(
                instance_uuids=frozenset(on_host[row["host"]]),
                num_instances=row["instances"],
                num_io_ops=row["io_ops"],
                flavor_ids=flavors.get(row["host"], frozenset()),
                image_properties=images.get(row["host"], {}),
            )
            for row in counts
        },
        trust_levels=trust_levels() if TRUST_KEY in spec.body.get("flavor", {}).get("extra_specs", {}) else {},
    )


def _image_properties_by_host(living: QuerySet[Instance]) -> dict[str, Counter[tuple[str, str]]]:
    """How many instances on each host have an image with each property and value (as text)."""
    found: dict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
    for host, image in living.order_by().values_list("host", "image"):
        found[host].update((name, str(value)) for name, value in (image.get("properties") or {}).items())
    return found


def _flavors_by_host(living: QuerySet[Instance]) -> dict[str, frozenset[str]]:
    """Ids of the flavors that the instances on each host have."""
    found: dict[str, set[str]] = defaultdict(set)
    for host, flavor_id in living.order_by().values_list("host", "flavor_id").distinct():
        found[host].add(str(flavor_id))
    return {host: frozenset(ids) for host, ids in found.items()}


def _named_instances(spec: RequestSpec) -> list[uuid.UUID]:
    hints = spec.body.get("hints", {})
    named = {uuid.UUID(one) for key in ("same_host", "different_host") for one in hints.get(key, [])}
    if group_id := spec.body.get("group_id"):
        named |= set(ServerGroupMember.objects.filter(group_id=group_id).values_list("instance_uuid", flat=True))
    return sorted(named)
