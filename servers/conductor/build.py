"""The conductor's part: choose hosts for a batch, or the next host for one instance, and hand over to the agents."""

import uuid
from collections.abc import Sequence
from dataclasses import replace

from django.db import transaction

from controlplane.kernel.errors import Fenced, KilonovaError, NoCapacity, QuotaExceeded
from controlplane.work.models import Work
from controlplane.work.work import WorkLease, work_fence, work_finish, work_history
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import alternate_claim, destinations_select
from scheduling.destinations.services.selections import Destinations, selection_from_json
from scheduling.errors import NoValidHost
from scheduling.fleet.domain.cells import CELL0_ID
from scheduling.policies.selectors.policies import attempts_allowed
from scheduling.topology.services.claims import claims_free
from servers.catalog.services.quota import quota_recheck
from servers.conductor.dispatch import build_requests_dispatch, build_requests_move_to_cell0, instance_redispatch
from servers.conductor.tried_hosts import not_again_on
from servers.instances.selectors.scheduling_facts import fleet_facts, schedule_request
from servers.instances.services.journal import BUILD_ACTIONS, action_close, attempt_close, fault_record, step_failed
from servers.instances.services.notifications import emit_build_failures
from servers.instances.services.state import instance_error_set
from servers.models import BuildRequest, Instance, RequestSpec
from servers.states import TaskState

SELECT = "select_destinations"


def schedule_and_build(work: Work, lease: WorkLease) -> None:
    """Kind `schedule_and_build`, subject a reservation: every build request of it that is still there.

    Cut off anywhere and run again, it does the same: claims of the earlier run are given back first, and what was
    dispatched has no build request any more.
    """
    requests = list(BuildRequest.objects.filter(reservation_id=work.subject).order_by("batch_index"))
    if not requests:
        work_finish(lease=lease, outcome={"note": "nothing left to build"})
        return
    work_fence(lease=lease, step=SELECT)
    spec = RequestSpec.objects.filter(reservation_id=work.subject).first()
    if spec is None:  # all were deleted since: a request goes together with its spec
        work_finish(lease=lease, outcome={"note": "nothing left to build"})
        return
    uuids = [request.instance_uuid for request in requests]
    inputs = scheduling_inputs()
    try:
        found = destinations_select(
            request=schedule_request(spec, uuids, work.request_id, attempts=inputs.policies.attempts_allowed()),
            inputs=replace(inputs, facts=fleet_facts(spec, inputs), is_retry=lease.attempt > 1),
            subject=work.subject,
        )
    except NoValidHost as error:
        move_to_cell0(lease, requests, error, decision_id=error.decision_id)
        return
    _dispatch(lease, requests, found)


def _dispatch(lease: WorkLease, requests: Sequence[BuildRequest], found: Destinations) -> None:
    """To their hosts. Of a batch that was to be placed as far as it fits, the rest ends as if it had been refused."""
    chosen = {one.instance_uuid: [one.selected, *one.alternates] for one in found.instances}
    placed = [request for request in requests if request.instance_uuid in chosen]
    left = [request for request in requests if request.instance_uuid not in chosen]
    with transaction.atomic():
        work_fence(lease=lease, step="dispatch")
        if over := over_quota(requests[0].project_id):
            claims_free([request.instance_uuid for request in requests])
            _to_cell0(requests, over, found.decision_id, exception=QuotaExceeded.__name__)
            work_finish(lease=lease, outcome={"error": over, "decision": str(found.decision_id)})
            return
        build_requests_dispatch(placed, chosen, dict.fromkeys(chosen, found.decision_id))
        if left:
            text = f"No host was left for this instance: {len(placed)} of the {len(requests)} of its batch were placed."
            _to_cell0(left, text, found.decision_id)
        work_finish(lease=lease, outcome={"decision": str(found.decision_id), "placed": len(placed)})


def over_quota(project_id: uuid.UUID) -> str:
    """Why a batch of this project may not be built after all, though it was taken; empty when it may."""
    try:
        quota_recheck(project_id=project_id)
    except QuotaExceeded as error:
        return error.message
    return ""


def move_to_cell0(
    lease: WorkLease | None,
    requests: Sequence[BuildRequest],
    error: KilonovaError,
    *,
    decision_id: uuid.UUID | None,
    details: str = "",
) -> None:
    """The batch has no host: every instance of it to cell0, in ERROR, with the verdict as its fault. `details` are for
    operators.
    """
    with transaction.atomic():
        if lease is not None:
            work_finish(lease=lease, outcome={"error": error.message, "decision": str(decision_id)})
        _to_cell0(requests, error.message, decision_id, details=details)


def _to_cell0(
    requests: Sequence[BuildRequest],
    message: str,
    decision_id: uuid.UUID | None,
    exception: str = NoValidHost.__name__,
    details: str = "",
) -> None:
    instances = build_requests_move_to_cell0(requests, cell0_id=CELL0_ID, decision_id=decision_id, message=message)
    for instance in instances:
        fault_record(instance_id=instance.pk, message=message, step=SELECT, details=details)
        step_failed(instance_id=instance.pk, name=SELECT, error=message)
        action_close(instance_id=instance.pk, actions=BUILD_ACTIONS, result="error", message=message)
    emit_build_failures([one.pk for one in instances], exception=exception, message=message)


def schedule_and_build_overdue(work: Work, reason: str) -> None:
    """The batch was not scheduled in time: its claims go back, its instances are buried."""
    requests = list(BuildRequest.objects.filter(reservation_id=work.subject).order_by("batch_index"))
    claims_free([request.instance_uuid for request in requests])
    error = KilonovaError(f"Scheduling did not finish: {reason}.")
    move_to_cell0(None, requests, error, decision_id=None, details=work_history(work))


def reschedule(work: Work, lease: WorkLease) -> None:
    """Kind `reschedule`, subject an instance whose host gave it back: next alternate, then the scheduler again."""
    instance = Instance.objects.filter(pk=work.subject, deleted_at__isnull=True, host="").first()
    if instance is None or instance.task_state != TaskState.SCHEDULING:
        work_finish(lease=lease, outcome={"note": "nothing to reschedule"})
        return
    work_fence(lease=lease, step="reschedule")
    claims_free([instance.pk])  # of an earlier run that was cut off after its claim
    if not _try_alternates(instance, lease):
        _schedule_again(instance, lease, work.request_id)


def _try_alternates(instance: Instance, lease: WorkLease) -> bool:
    rest = [selection_from_json(one) for one in instance.alternates]
    while rest:
        try:
            alternate_claim(
                instance_uuid=instance.pk,
                selection=rest[0],
                project_id=instance.project_id,
                user_id=instance.user_id,
            )
        except NoCapacity:
            rest.pop(0)
            continue
        _redispatch(instance, lease, rest, None)
        return True
    return False


def _schedule_again(instance: Instance, lease: WorkLease, request_id: str) -> None:
    spec = RequestSpec.objects.get(instance_uuid=instance.pk)
    inputs = scheduling_inputs()
    asked = schedule_request(spec, [instance.pk], request_id, attempts=inputs.policies.attempts_allowed())
    request = not_again_on(asked, instance.hosts_tried, inputs.policies.policy())
    try:
        # Its claims were freed when this work began.
        inputs = replace(inputs, facts=fleet_facts(spec, inputs), is_retry=False)
        found = destinations_select(request=request, inputs=inputs)
    except NoValidHost as error:
        _give_up(instance, lease, error)
        return
    one = found.instances[0]
    _redispatch(instance, lease, [one.selected, *one.alternates], found.decision_id)


def _redispatch(instance: Instance, lease: WorkLease, choice: list, decision_id: uuid.UUID | None) -> None:  # type: ignore[type-arg]
    try:
        with transaction.atomic():
            work_fence(lease=lease, step="dispatch")
            work_finish(lease=lease, outcome={"host": choice[0].host})
            instance_redispatch(instance, choice, decision_id)
    except Fenced:
        # Deleted while we chose, or another attempt runs: a claim without an owner is swept by the reconciler.
        if not Instance.objects.filter(pk=instance.pk, deleted_at__isnull=True).exists():
            claims_free([instance.pk])
        raise


def _give_up(instance: Instance, lease: WorkLease, error: NoValidHost) -> None:
    last = instance.hosts_tried[-1] if instance.hosts_tried else ""
    message = f"No host is left after {len(instance.hosts_tried)} of {attempts_allowed()} attempts: {error.message}"
    with transaction.atomic():
        work_finish(lease=lease, outcome={"error": message})
        instance_error_set(instance.pk, decision_id=error.decision_id)
        fault_record(instance_id=instance.pk, message=message, step="reschedule", host=last)
        action_close(instance_id=instance.pk, actions=BUILD_ACTIONS, result="error", message=message)
        emit_build_failures([instance.pk], exception="MaxRetriesExceeded", message=message)


def reschedule_overdue(work: Work, reason: str) -> None:
    """Nobody could reschedule it in time."""
    if not Instance.objects.filter(pk=work.subject, deleted_at__isnull=True, host="").exists():
        return
    claims_free([work.subject])
    message = f"Rescheduling did not finish: {reason}."
    instance_error_set(work.subject)
    attempt_close(instance_id=work.subject, outcome="failed", reason=message)
    fault_record(instance_id=work.subject, message=message, step="reschedule", details=work_history(work))
    action_close(instance_id=work.subject, actions=BUILD_ACTIONS, result="error", message=message)
    emit_build_failures([work.subject], exception=NoValidHost.__name__, message=message)
