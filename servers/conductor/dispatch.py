"""From a choice of hosts to rows and wake-ups: the instance in its cell, the work of its host's agent."""

import uuid
from collections.abc import Collection, Mapping, Sequence

from django.db.models.functions import Now

from computeagent.protocol.work import WorkKind
from controlplane.kernel.errors import Conflict, KilonovaError, NoCapacity, NotFound
from controlplane.work.work import CONDUCTOR_QUEUE, NewWork, compute_queue, works_create
from scheduling.destinations.services.selections import Selection, selection_to_json
from scheduling.topology.services.claims import claims_free
from servers.conductor.network_allocation import access_addresses_set, ports_of_builds
from servers.conductor.volume_allocation import disks_of_builds, disks_without_host, volumes_of_build
from servers.conf import server_options
from servers.instances.actions.lifecycle import CREATE
from servers.instances.domain.bodies import SpecBody
from servers.instances.selectors.pending import instance_from_body
from servers.instances.services.journal import attempt_close, attempt_open
from servers.instances.services.notifications import Phase, emit_initial_states, emit_instance_action
from servers.instances.services.state import Sql, instances_insert, state_set
from servers.instances.work_kinds import RESCHEDULE
from servers.models import (
    AttemptRecord,
    BuildRequest,
    Instance,
    InstanceAction,
    InstanceMapping,
    InstanceTag,
)
from servers.networks.services.bindings import instance_ports_bind, instance_ports_unbind
from servers.networks.services.instance_ports import instance_ports_free
from servers.states import TaskState, VmState

LIMITS = "limits"
"""Argument of a build's work: the limits of the chosen host, by name."""


def build_requests_dispatch(
    requests: Sequence[BuildRequest],
    chosen: Mapping[uuid.UUID, Sequence[Selection]],
    decisions: Mapping[uuid.UUID, uuid.UUID],
    specs: Mapping[uuid.UUID, SpecBody],
) -> dict[uuid.UUID, KilonovaError]:
    """Turn build requests into instances on their hosts; the caller's transaction and fence are around it.

    `chosen` maps each instance to its selection, followed by the alternates; `decisions` to what chose them; `specs`
    reservations to what was asked for. A request deleted meanwhile gives its claim back. Returns why those were left
    that their networks cannot serve; they are requests still, with their claims.
    """
    remaining = _still_there(requests)
    gone = [request.instance_uuid for request in requests if request.instance_uuid not in remaining]
    if gone:
        claims_free(gone)
    here = [request for request in requests if request.instance_uuid in remaining]
    refused = ports_of_builds(here, specs, {one.instance_uuid: chosen[one.instance_uuid][0].host for one in here})
    placed = [
        _placed(_instance_of(request), chosen[request.instance_uuid], decisions[request.instance_uuid])
        for request in here
        if request.instance_uuid not in refused
    ]
    no_volumes = disks_of_builds(placed, {one.instance_uuid: specs[one.reservation_id] for one in here})
    elsewhere = {pk: error for pk, error in no_volumes.items() if isinstance(error, NoCapacity)}
    refused |= {pk: error for pk, error in no_volumes.items() if pk not in elsewhere}
    alive = [request for request in here if request.instance_uuid not in refused]
    if not alive:
        return refused
    instances = [instance for instance in placed if instance.pk not in refused]
    access_addresses_set(instances)
    attempts = [attempt_open(instance_id=i.pk, number=i.attempts, host=i.host) for i in instances]
    for instance in instances:
        if instance.pk in elsewhere:
            _hand_back(instance)
    _rows_create(alive, instances, VmState.BUILDING, TaskState.SCHEDULING)
    _tags_create(alive)
    request_ids = {request.instance_uuid: request.request_id for request in alive}
    works = _build_work([one for one in instances if one.pk not in elsewhere], chosen, request_ids)
    _actions_create(alive, instances, works | _reschedule_work(elsewhere, request_ids))
    AttemptRecord.objects.bulk_create(attempts)
    for pk, error in elsewhere.items():
        attempt_close(instance_id=pk, outcome="rescheduled", reason=error.message)
    _leave_build_requests(alive, {i.pk: chosen[i.pk][0].cell_uuid for i in instances})
    emit_initial_states(instances)
    emit_instance_action(CREATE.notification, Phase.START, [instance.pk for instance in instances])
    return refused


def build_requests_move_to_cell0(
    requests: Sequence[BuildRequest], *, cell0_id: uuid.UUID, decision_id: uuid.UUID | None, message: str
) -> list[Instance]:
    """No host: instances in cell0, in ERROR, with the decision attached, and ports that were given to them are free
    for others. The caller records the faults.
    """
    remaining = _still_there(requests)
    alive = [request for request in requests if request.instance_uuid in remaining]
    instances = [_instance_of(request) for request in alive]
    for instance in instances:
        instance.decision_id = decision_id or instance.decision_id
    disks_without_host(instances)
    _rows_create(alive, instances, VmState.ERROR, TaskState.NONE)
    _tags_create(alive)
    instance_ports_free([instance.pk for instance in instances])
    _actions_create(alive, instances, {}, result="error", message=message)
    _leave_build_requests(alive, {instance.pk: cell0_id for instance in instances})
    emit_initial_states(instances)
    return instances


def instance_redispatch(instance: Instance, choice: Sequence[Selection], decision_id: uuid.UUID | None) -> None:
    """Send an instance that has no host to the next one. One that changed meanwhile (it is deleted, or placed) is left
    as it is, and the claim that was made for it is given back. Raises NoCapacity, and what else keeps its build from
    making its volumes there.
    """
    first, *alternates = choice
    try:
        state_set(
            instance.pk,
            task_in={TaskState.SCHEDULING},
            only_unplaced=True,
            task_state=TaskState.SCHEDULING,
            host=first.host,
            node=first.node,
            compute_node_uuid=first.compute_node_uuid,
            availability_zone=first.availability_zone,
            alternates=[selection_to_json(one) for one in alternates],
            attempts=Sql("attempts + 1"),
            decision_id=decision_id or instance.decision_id,
        )
    except (Conflict, NotFound):
        # It was deleted while we chose: deletion could not know of the claim we had just made.
        claims_free([instance.pk])
        return
    instance.refresh_from_db()
    if instance.has_block_devices and (error := volumes_of_build(instance)) is not None:
        raise error
    instance_ports_bind(instance_uuid=instance.pk, host=instance.host)
    _build_work([instance], {instance.pk: choice}, {})
    attempt_open(instance_id=instance.pk, number=instance.attempts, host=instance.host).save()
    emit_instance_action(CREATE.notification, Phase.START, [instance.pk])


def _still_there(requests: Sequence[BuildRequest]) -> set[uuid.UUID]:
    """The requests that nobody deleted; locked until the transaction ends (on SQLite it holds the write lock)."""
    rows = BuildRequest.objects.select_for_update().filter(pk__in=[request.pk for request in requests])
    return set(rows.values_list("instance_uuid", flat=True))


def _instance_of(request: BuildRequest) -> Instance:
    return instance_from_body(request.typed_body)


def _rows_create(
    requests: Sequence[BuildRequest], instances: Sequence[Instance], vm_state: VmState, task_state: TaskState
) -> None:
    """One statement; one more for each instance that is scheduled again, which keeps the time when it was made."""
    instances_insert(instances, vm_state=vm_state, task_state=task_state)
    for request in requests:
        if made_at := request.typed_body.created_at:
            Instance.objects.filter(pk=request.instance_uuid).update(created_at=made_at)


def _placed(instance: Instance, choice: Sequence[Selection], decision_id: uuid.UUID) -> Instance:
    first, *alternates = choice
    instance.host, instance.node = first.host, first.node
    instance.compute_node_uuid = first.compute_node_uuid
    instance.availability_zone = first.availability_zone
    instance.alternates = [selection_to_json(one) for one in alternates]
    instance.attempts += 1  # one that is scheduled again goes on counting, so that no two attempts share a number
    instance.decision_id = decision_id
    return instance


def _hand_back(instance: Instance) -> None:
    """The pools of the chosen host have no room any more: the conductor chooses the next one."""
    claims_free([instance.pk])
    instance.hosts_tried = [*instance.hosts_tried, instance.host]
    instance.host, instance.node, instance.compute_node_uuid = "", "", None
    instance_ports_unbind(instance_uuid=instance.pk)


def _reschedule_work(
    instance_ids: Collection[uuid.UUID], request_ids: Mapping[uuid.UUID, str]
) -> dict[uuid.UUID, uuid.UUID]:
    deadline_s = server_options().build_deadline_s
    rows = works_create(
        [
            NewWork(CONDUCTOR_QUEUE, RESCHEDULE, pk, deadline_s, request_id=request_ids.get(pk, ""))
            for pk in instance_ids
        ]
    )
    return {row.subject: row.pk for row in rows}


def _build_work(
    instances: Sequence[Instance],
    chosen: Mapping[uuid.UUID, Sequence[Selection]],
    request_ids: Mapping[uuid.UUID, str],
) -> dict[uuid.UUID, uuid.UUID]:
    deadline_s = server_options().build_deadline_s
    rows = works_create(
        [
            NewWork(
                compute_queue(i.host),
                WorkKind.BUILD,
                i.pk,
                deadline_s,
                arguments=limits_argument(chosen[i.pk][0]),
                request_id=request_ids.get(i.pk, ""),
            )
            for i in instances
        ]
    )
    return {row.subject: row.pk for row in rows}


def limits_argument(selection: Selection) -> dict[str, dict[str, float]]:
    """What the agent is told of the filters' limits: numbers only, whatever a plug-in wrote."""
    numbers = {key: value for key, value in selection.limits.items() if isinstance(value, int | float)}
    return {LIMITS: numbers} if numbers else {}


def _actions_create(
    requests: Sequence[BuildRequest],
    instances: Sequence[Instance],
    work_ids: Mapping[uuid.UUID, uuid.UUID],
    result: str = "",
    message: str = "",
) -> None:
    InstanceAction.objects.bulk_create(
        InstanceAction(
            instance_uuid=instance.pk,
            action=CREATE.name,
            request_id=request.request_id,
            user_id=instance.user_id,
            project_id=instance.project_id,
            work_id=work_ids.get(instance.pk),
            started_at=request.created_at,
            finished_at=Now() if result else None,
            result=result,
            message=message,
        )
        for request, instance in zip(requests, instances, strict=True)
    )


def _tags_create(requests: Sequence[BuildRequest]) -> None:
    InstanceTag.objects.bulk_create(
        InstanceTag(instance_id=request.instance_uuid, tag=tag)
        for request in requests
        for tag in request.typed_body.tags
    )


def _leave_build_requests(requests: Sequence[BuildRequest], cells: Mapping[uuid.UUID, uuid.UUID]) -> None:
    """Each instance is in the cell of its own host. One statement for each cell of the batch, mostly one."""
    for cell_id in set(cells.values()):
        here = [instance_id for instance_id, cell in cells.items() if cell == cell_id]
        InstanceMapping.objects.filter(instance_uuid__in=here).update(cell_id=cell_id)
    BuildRequest.objects.filter(instance_uuid__in=[request.instance_uuid for request in requests]).delete()
