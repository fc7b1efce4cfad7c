"""A host for an instance that is kept as an image: chosen anew, without alternates, as in Nova."""

import uuid
from dataclasses import replace

from django.db import transaction

from computeagent.protocol.work import WorkKind
from controlplane.kernel.errors import Conflict, Fenced, NotFound
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.work import NewWork, WorkLease, compute_queue, work_create, work_fence, work_finish, work_history
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import destinations_select
from scheduling.destinations.services.selections import Destinations, Selection
from scheduling.domain.request.schedule_request import Destination
from scheduling.errors import NoValidHost
from scheduling.topology.services.claims import claims_free
from servers.conductor.dispatch import limits_argument
from servers.instances.actions.images import UNSHELVE
from servers.instances.selectors.scheduling_facts import fleet_facts, schedule_request
from servers.instances.selectors.work_images import FROM_IMAGE
from servers.instances.services.journal import action_close, fault_record
from servers.instances.services.nic_needs import nics_had, with_nic_needs
from servers.instances.services.notifications import Phase, emit_action
from servers.instances.services.shelving import HOST
from servers.instances.services.state import state_set
from servers.models import Instance, InstanceAction, RequestSpec
from servers.networks.services.bindings import instance_ports_bind
from servers.states import TaskState, VmState
from servers.volumes.selectors.volume_needs import attached_volume_needs

SELECT = "select_destinations"


def unshelve_schedule(work: Work, lease: WorkLease) -> None:
    """Kind `schedule_unshelve`, subject an instance on no host. Cut off anywhere and run again, it does the same."""
    instance = _waiting(work.subject)
    if instance is None:
        work_finish(lease=lease, outcome={"note": "nothing to unshelve"})
        return
    work_fence(lease=lease, step=SELECT)
    claims_free([instance.pk])  # of an earlier run that was cut off after its claim
    try:
        found = _chosen(instance, work)
    except (NoValidHost, NotFound) as error:
        decision_id = getattr(error, "decision_id", None)
        with transaction.atomic():
            work_finish(lease=lease, outcome={"error": error.message})
            _stays_shelved(instance.pk, error.message, decision_id)
        return
    try:
        with transaction.atomic():
            work_fence(lease=lease, step="dispatch")
            work_finish(lease=lease, outcome={"host": found.instances[0].selected.host})
            _to_host(instance, found.instances[0].selected, found.decision_id)
    except Fenced:
        _free_unless_owned(instance.pk)
        raise


def _free_unless_owned(instance_id: uuid.UUID) -> None:
    """Free the claim of an attempt that was overtaken, unless it may be another's by now.

    While the instance waits for a host, another attempt runs and frees it itself; on a host, that attempt made a claim
    of its own, which the host builds on.
    """
    with transaction.atomic():
        # Under the row's lock no later unshelve can begin and claim meanwhile.
        row = Instance.objects.select_for_update().filter(pk=instance_id, deleted_at__isnull=True).first()
        if row is None or not (row.host or row.task_state == TaskState.UNSHELVING):
            claims_free([instance_id])


def _waiting(instance_id: uuid.UUID) -> Instance | None:
    rows = Instance.objects.filter(pk=instance_id, deleted_at__isnull=True, host="", task_state=TaskState.UNSHELVING)
    return rows.first()


def _chosen(instance: Instance, work: Work) -> Destinations:
    spec = RequestSpec.objects.filter(instance_uuid=instance.pk).first()
    if spec is None:
        raise NotFound(_("What was asked for is not known any more, so no host can be chosen."))
    # Cards come and go while it lives: what it has now is what its host must be able to give.
    spec.body = with_nic_needs(spec.typed_body, nics_had(instance.pk)).to_dict()
    inputs = scheduling_inputs()
    host = work.arguments.get(HOST)
    request = replace(
        schedule_request(spec, [instance.pk], work.request_id, attempts=1),
        # A host that was forced when it was made is not forced again.
        force_hosts=(),
        force_nodes=(),
        requested_destination=Destination(host=host) if host else None,
        volumes=attached_volume_needs(instance.pk),
    )
    inputs = replace(inputs, facts=fleet_facts(spec.typed_body, inputs), is_retry=False)
    return destinations_select(request=request, inputs=inputs)


def _to_host(instance: Instance, chosen: Selection, decision_id: uuid.UUID) -> None:
    try:
        state_set(
            instance.pk,
            vm_in={VmState.SHELVED_OFFLOADED},
            task_in={TaskState.UNSHELVING},
            only_unplaced=True,
            host=chosen.host,
            node=chosen.node,
            compute_node_uuid=chosen.compute_node_uuid,
            availability_zone=chosen.availability_zone,
            decision_id=decision_id,
        )
    except (Conflict, NotFound):
        # It was deleted while we chose: deletion could not know of the claim we had just made.
        claims_free([instance.pk])
        return
    instance_ports_bind(instance_uuid=instance.pk, host=chosen.host)
    arguments = {FROM_IMAGE: "yes", **limits_argument(chosen)}
    queue = compute_queue(chosen.host)
    work = work_create(NewWork(queue, WorkKind.UNSHELVE, instance.pk, UNSHELVE.deadline_s, arguments))
    opened = InstanceAction.objects.filter(instance_uuid=instance.pk, action=UNSHELVE.name, finished_at__isnull=True)
    opened.update(work_id=work.pk)


def _stays_shelved(instance_id: uuid.UUID, message: str, decision_id: uuid.UUID | None, details: str = "") -> None:
    decided = {"decision_id": decision_id} if decision_id else {}
    state_set(
        instance_id,
        vm_in={VmState.SHELVED_OFFLOADED},
        task_in={TaskState.UNSHELVING},
        only_unplaced=True,
        task_state=TaskState.NONE,
        **decided,
    )
    fault_record(instance_id=instance_id, message=message, step=SELECT, details=details)
    action_close(instance_id=instance_id, actions=(UNSHELVE.name,), result="error", message=message)
    emit_action(UNSHELVE, Phase.ERROR, instance_id, problem=message, step=SELECT)


def unshelve_schedule_overdue(work: Work, reason: str) -> None:
    """Nobody could choose a host in time: it stays shelved."""
    if _waiting(work.subject) is None:
        return
    claims_free([work.subject])
    _stays_shelved(work.subject, _("No host was chosen: {reason}.", reason=reason), None, work_history(work))
