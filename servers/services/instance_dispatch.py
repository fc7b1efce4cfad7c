"""From a choice of hosts to rows and doorbells: the instance in its cell, the work of its host's agent."""

import uuid
from collections.abc import Mapping, Sequence

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now

from controlplane.infra.work import NewWork, compute_queue, works_create
from scheduling.services import Selection, claims_free, selection_to_json
from servers.domain.instance_rules import new_mac
from servers.domain.states import TaskState, VmState
from servers.models import (
    AttemptRecord,
    BuildRequest,
    Instance,
    InstanceAction,
    InstanceMapping,
    InstanceTag,
    Network,
    Port,
)
from servers.selectors.pending import instance_from_body
from servers.services.instance_journal import attempt_open
from servers.services.kinds import BUILD

LIMITS = "limits"
"""Argument of a build's work: the limits of the chosen host, by name."""


def build_requests_dispatch(
    requests: Sequence[BuildRequest], chosen: Mapping[uuid.UUID, Sequence[Selection]], decision_id: uuid.UUID
) -> None:
    """Turn build requests into instances on their hosts; the caller's transaction and fence are around it.

    `chosen` maps each instance to its selection, followed by the alternates. A request deleted meanwhile gives its
    claim back.
    """
    kept = _still_there(requests)
    gone = [request.instance_uuid for request in requests if request.instance_uuid not in kept]
    if gone:
        claims_free(gone)
    alive = [request for request in requests if request.instance_uuid in kept]
    instances = [_placed(_instance_of(request), chosen[request.instance_uuid], decision_id) for request in alive]
    Instance.objects.bulk_create(instances)
    _tags_and_ports_create(alive, instances)
    _actions_create(alive, instances, _build_work(instances, chosen))
    AttemptRecord.objects.bulk_create(attempt_open(instance_id=i.pk, number=1, host=i.host) for i in instances)
    _leave_build_requests(alive, cell_id=chosen[alive[0].instance_uuid][0].cell_uuid if alive else None)


def build_requests_bury(
    requests: Sequence[BuildRequest], *, cell0_id: uuid.UUID, decision_id: uuid.UUID | None, message: str
) -> list[Instance]:
    """No host: instances in cell0, in ERROR, with the decision attached. The caller records the faults."""
    kept = _still_there(requests)
    alive = [request for request in requests if request.instance_uuid in kept]
    instances = [_instance_of(request) for request in alive]
    for instance in instances:
        instance.vm_state, instance.task_state, instance.decision_id = VmState.ERROR, TaskState.NONE, decision_id
    Instance.objects.bulk_create(instances)
    _tags_and_ports_create(alive, [])
    _actions_create(alive, instances, {}, result="error", message=message)
    _leave_build_requests(alive, cell_id=cell0_id)
    return instances


def instance_redispatch(instance: Instance, choice: Sequence[Selection], decision_id: uuid.UUID | None) -> None:
    """Send an instance that has no host to the next one. Raises Conflict when it changed meanwhile."""
    first, *alternates = choice
    changed = Instance.objects.filter(
        pk=instance.pk, host="", deleted_at__isnull=True, task_state=TaskState.SCHEDULING
    ).update(
        host=first.host,
        node=first.node,
        compute_node_uuid=first.compute_node_uuid,
        availability_zone=first.availability_zone,
        alternates=[selection_to_json(one) for one in alternates],
        attempts=F("attempts") + 1,
        decision_id=decision_id or instance.decision_id,
        task_since=Now(),
        generation=F("generation") + 1,
        updated_at=Now(),
    )
    if not changed:
        # It was deleted while we chose: deletion could not know of the claim we had just made.
        claims_free([instance.pk])
        return
    instance.refresh_from_db()
    _build_work([instance], {instance.pk: choice})
    attempt_open(instance_id=instance.pk, number=instance.attempts, host=instance.host).save()


def _still_there(requests: Sequence[BuildRequest]) -> set[uuid.UUID]:
    """The requests that nobody deleted; locked until the transaction ends (on SQLite it holds the write lock)."""
    rows = BuildRequest.objects.select_for_update().filter(pk__in=[request.pk for request in requests])
    return set(rows.values_list("instance_uuid", flat=True))


def _instance_of(request: BuildRequest) -> Instance:
    return instance_from_body(request.instance_body)


def _placed(instance: Instance, choice: Sequence[Selection], decision_id: uuid.UUID) -> Instance:
    first, *alternates = choice
    instance.host, instance.node = first.host, first.node
    instance.compute_node_uuid = first.compute_node_uuid
    instance.availability_zone = first.availability_zone
    instance.alternates = [selection_to_json(one) for one in alternates]
    instance.attempts, instance.decision_id = 1, decision_id
    instance.vm_state, instance.task_state = VmState.BUILDING, TaskState.SCHEDULING
    instance.task_since = Now()  # by the database's clock, as all that is compared with it
    return instance


def _build_work(
    instances: Sequence[Instance], chosen: Mapping[uuid.UUID, Sequence[Selection]]
) -> dict[uuid.UUID, uuid.UUID]:
    deadline_s = settings.KILONOVA["BUILD_DEADLINE_S"]
    rows = works_create(
        [NewWork(compute_queue(i.host), BUILD, i.pk, deadline_s, arguments=_limits(chosen[i.pk][0])) for i in instances]
    )
    return {row.subject: row.pk for row in rows}


def _limits(selection: Selection) -> dict[str, dict[str, float]]:
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
            action="create",
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


def _tags_and_ports_create(requests: Sequence[BuildRequest], placed: Sequence[Instance]) -> None:
    InstanceTag.objects.bulk_create(
        InstanceTag(instance_id=request.instance_uuid, tag=tag)
        for request in requests
        for tag in request.instance_body.get("tags", [])
    )
    network = Network.objects.filter(is_default=True).first() if placed else None
    if network is not None:
        Port.objects.bulk_create(
            Port(
                instance_uuid=instance.pk,
                mac=new_mac(),
                network_id=network.pk,
                network_name=network.name,
                hypervisor_network=network.hypervisor_network,
            )
            for instance in placed
        )


def _leave_build_requests(requests: Sequence[BuildRequest], *, cell_id: uuid.UUID | None) -> None:
    uuids = [request.instance_uuid for request in requests]
    InstanceMapping.objects.filter(instance_uuid__in=uuids).update(cell_id=cell_id)
    BuildRequest.objects.filter(instance_uuid__in=uuids).delete()
