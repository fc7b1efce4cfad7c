"""This module asks the database for the five invariants of the design. It is safe at any moment: work in progress is no
violation.
"""

import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db.models import Count
from django.db.models.functions import Now

from controlplane.infra.db import now_plus
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.models.work import OPEN_STATES
from placement.selectors import allocations_by_consumer, client_consumers
from placement.services import audit_inventory_usage
from scheduling.fleet.selectors.hosts import host_exists
from servers.models import (
    BuildRequest,
    Instance,
    InstanceFault,
    InstanceMapping,
    IPAllocation,
    RequestSpec,
    WaitingAction,
)
from servers.repair.selectors.network_drift import ports_elsewhere, ports_ownerless
from servers.repair.services.instance_allocations import compute_roots
from servers.repair.services.neighbour_audit import neighbour_faults
from servers.repair.services.network_audit import network_faults
from servers.repair.services.topology_audit import topology_faults
from servers.repair.services.volume_audit import volume_faults, volume_owners
from servers.repair.services.zone_audit import zone_faults
from servers.states import DELETING_TASKS, TaskState, VmState

OVERDUE_GRACE_S = 30.0


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation: which invariant (1 to 5), of whom, in a sentence, with the numbers behind it."""

    invariant: int
    subject: str
    message: str
    evidence: dict[str, Any] = field(default_factory=dict)


def audit_findings() -> list[Violation]:
    """Every violation there is now, read in one pass per table; a finding seen twice in a row is real.

    Rows change while they are read, so a finding on a busy system may come from a move: run the audit again.
    """
    instances = list(Instance.objects.filter(deleted_at__isnull=True))
    pending = set(BuildRequest.objects.values_list("instance_uuid", flat=True))
    open_work = set(Work.objects.filter(state__in=OPEN_STATES).values_list("subject", flat=True))
    held = {pk: {one.provider_uuid for one in rows} for pk, rows in allocations_by_consumer().items()}
    owners = {one.pk for one in instances} | pending
    volumes = volume_owners()
    return [
        *_placement(),
        *_allocations_of_instances(instances, held),
        *_allocations_without_owner(held, owners | volumes | client_consumers(), open_work),
        *(Violation(*fault) for fault in topology_faults(instances, owners, open_work)),
        *(Violation(*fault) for fault in neighbour_faults(instances)),
        *(Violation(*fault) for fault in zone_faults(instances)),
        *_requests_without_end(instances, pending, open_work),
        *(Violation(*fault) for fault in network_faults()),
        *(Violation(*fault) for fault in volume_faults()),
        *_leftovers(),
        *_networks(),
    ]


def _networks() -> Iterator[Violation]:
    """An address is one port's; a port is where its instance is, and goes with it."""
    twice = IPAllocation.objects.values("network_id", "address_key").annotate(ports=Count("pk")).filter(ports__gt=1)
    for one in twice.order_by():
        yield Violation(1, str(one["network_id"]), f"gives address {one['address_key']} to {one['ports']} ports", {})
    for port in ports_elsewhere():
        there, bound_to = getattr(port, "instance_host", "") or "no host", port.host or "no host"
        yield Violation(2, str(port.instance_uuid), f"is on {there}, and its port {port.pk} is on {bound_to}", {})
    for port in ports_ownerless():
        yield Violation(3, str(port.instance_uuid), f"is no instance and no build request and has port {port.pk}", {})


def _placement() -> Iterator[Violation]:
    for one in audit_inventory_usage():
        yield Violation(1, str(one.provider_uuid or one.consumer_uuid), one.sentence(), asdict(one))


def _allocations_of_instances(instances: list[Instance], held: dict[uuid.UUID, set[uuid.UUID]]) -> Iterator[Violation]:
    """An instance on a host holds allocations of its own node. Devices below the node belong to it; a pool that nodes
    share belongs to no tree.
    """
    roots = compute_roots()
    for one in instances:
        providers = held.get(one.pk, set())
        if one.host and {roots[each] for each in providers if each in roots} != {one.compute_node_uuid}:
            what = f"is on {one.host} and holds allocations on {len(providers)} providers, not on its own alone"
            if not providers and not host_exists(host=one.host):
                what = (
                    f"is on {one.host}, which is not registered, and holds nothing: enrol the host again, or delete "
                    "the instance"
                )
            yield Violation(
                2,
                str(one.pk),
                what,
                {"host": one.host, "node": str(one.compute_node_uuid), "providers": sorted(map(str, providers))},
            )
        if not one.host and providers and one.vm_state == VmState.ERROR:
            yield Violation(2, str(one.pk), "is in ERROR on no host and still holds allocations", {})


def _allocations_without_owner(
    held: dict[uuid.UUID, set[uuid.UUID]], owners: set[uuid.UUID], busy: set[uuid.UUID]
) -> Iterator[Violation]:
    for consumer in sorted(set(held) - owners - busy):
        yield Violation(3, str(consumer), "holds allocations and is no instance, no build request and no volume", {})


def _requests_without_end(
    instances: list[Instance], pending: set[uuid.UUID], open_work: set[uuid.UUID]
) -> Iterator[Violation]:
    overdue = Work.objects.filter(state__in=OPEN_STATES, deadline_at__lt=now_plus(-OVERDUE_GRACE_S))
    for work in overdue:
        yield Violation(
            4, str(work.subject), f"{work.kind} is past its deadline and was not ended", {"work": str(work.pk)}
        )
    faulty = set(InstanceFault.objects.values_list("instance_uuid", flat=True))
    for one in instances:
        if one.vm_state == VmState.ERROR and one.pk not in faulty:
            yield Violation(4, str(one.pk), "is in ERROR without a fault that says why", {})
        is_busy = one.vm_state == VmState.BUILDING or one.task_state != TaskState.NONE
        if is_busy and one.pk not in open_work and not _has_open_work_now(one.pk):
            yield Violation(4, str(one.pk), f"is {one.vm_state}/{one.task_state or '-'} and nobody works on it", {})
    for waiting in WaitingAction.objects.exclude(instance_uuid__in=open_work):
        still = WaitingAction.objects.filter(pk=waiting.pk).exists()
        if still and not Work.objects.filter(subject=waiting.instance_uuid, state__in=OPEN_STATES).exists():
            yield Violation(
                4, str(waiting.instance_uuid), _("has {action} waiting behind nothing", action=waiting.action), {}
            )
    for request in BuildRequest.objects.filter(instance_uuid__in=pending):
        if not _has_open_work_now(request.reservation_id):
            yield Violation(4, str(request.instance_uuid), "waits to be scheduled and nobody works on it", {})


def _has_open_work_now(subject: uuid.UUID) -> bool:
    """Whether work is open by now, or the row has moved on: the rows were read at different moments."""
    has_work = Work.objects.filter(subject=subject, state__in=OPEN_STATES).exists()
    moved_on = not (
        BuildRequest.objects.filter(reservation_id=subject).exists()
        or Instance.objects.filter(pk=subject, deleted_at__isnull=True)
        .exclude(vm_state__in=[VmState.ACTIVE, VmState.STOPPED, VmState.ERROR], task_state=TaskState.NONE)
        .exists()
    )
    return has_work or moved_on


def _leftovers() -> Iterator[Violation]:
    gone = set(Instance.objects.filter(deleted_at__isnull=False).values_list("pk", flat=True))
    for model in (InstanceMapping, RequestSpec):
        for uid in model._default_manager.filter(instance_uuid__in=gone).values_list("instance_uuid", flat=True):
            yield Violation(4, str(uid), f"is deleted and left a {model.__name__} behind", {})
    stuck = Instance.objects.filter(deleted_at__isnull=False, task_state__in=DELETING_TASKS, terminated_at__lt=Now())
    for pk in stuck.values_list("pk", flat=True):
        yield Violation(4, str(pk), "is deleted and still says that it is being deleted", {})
