"""The next host for one instance whose host gave it back: its alternates first, then the scheduler again."""

import uuid
from dataclasses import replace

from django.db import transaction

from controlplane.kernel.errors import Fenced, KilonovaError, NoCapacity
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.work import WorkLease, work_fence, work_finish, work_history
from scheduling.destinations.selectors.inputs import scheduling_inputs
from scheduling.destinations.services.select import alternate_claim, destinations_select
from scheduling.destinations.services.selections import selection_from_json
from scheduling.errors import NoValidHost
from scheduling.policies.selectors.policies import attempts_allowed
from scheduling.topology.services.claims import claims_free
from servers.conductor.dispatch import instance_redispatch
from servers.conductor.tried_hosts import not_again_on
from servers.instances.selectors.scheduling_facts import fleet_facts, schedule_request
from servers.instances.services.journal import BUILD_ACTIONS, action_close, attempt_close, fault_record
from servers.instances.services.notifications import emit_build_failures
from servers.instances.services.state import instance_error_set
from servers.models import Instance, RequestSpec
from servers.networks.services.instance_ports import instance_ports_free
from servers.states import TaskState
from servers.volumes.domain.errors import NoValidBackend
from servers.volumes.services.with_instances import instance_volumes_release


def reschedule(work: Work, lease: WorkLease) -> None:
    """Kind `reschedule`, subject an instance whose host gave it back: next alternate, then the scheduler again."""
    instance = Instance.objects.filter(pk=work.subject, deleted_at__isnull=True, host="").first()
    if instance is None or instance.task_state != TaskState.SCHEDULING:
        work_finish(lease=lease, outcome={"note": "nothing to reschedule"})
        return
    work_fence(lease=lease, step="reschedule")
    claims_free([instance.pk])  # of an earlier run that was cut off after its claim
    try:
        if not _try_alternates(instance, lease):
            _schedule_again(instance, lease, work.request_id)
    except Fenced:
        raise
    except KilonovaError as error:  # its volumes can be made nowhere: the image they are of is gone
        claims_free([instance.pk])
        _give_up(instance, lease, error, None)


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
            _redispatch(instance, lease, rest, None)
        except NoCapacity:
            claims_free([instance.pk])
            rest.pop(0)
            continue
        return True
    return False


def _schedule_again(instance: Instance, lease: WorkLease, request_id: str) -> None:
    """The scheduler goes by what pools had a moment ago: one that is full by now is as a host that was tried."""
    spec = RequestSpec.objects.get(instance_uuid=instance.pk)
    tried = list(instance.hosts_tried)
    while True:
        inputs = scheduling_inputs()
        asked = schedule_request(spec, [instance.pk], request_id, attempts=inputs.policies.attempts_allowed())
        request = not_again_on(asked, tried, inputs.policies.policy())
        try:
            # Its claims were freed when this work began.
            inputs = replace(inputs, facts=fleet_facts(spec.typed_body, inputs), is_retry=False)
            found = destinations_select(request=request, inputs=inputs)
        except NoValidHost as error:
            _give_up(instance, lease, error, error.decision_id)
            return
        one = found.instances[0]
        try:
            _redispatch(instance, lease, [one.selected, *one.alternates], found.decision_id)
        except NoCapacity as error:
            claims_free([instance.pk])
            if one.selected.host in tried:  # a policy without RetryFilter and one host
                _give_up(instance, lease, error, found.decision_id)
                return
            tried.append(one.selected.host)
        else:
            return


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


def _give_up(instance: Instance, lease: WorkLease, error: KilonovaError, decision_id: uuid.UUID | None) -> None:
    """The owner reads the fault, the action and the notification; names of pools and their room are for operators."""
    last = instance.hosts_tried[-1] if instance.hosts_tried else ""
    said = error.for_owner() if isinstance(error, NoValidBackend) else error
    message = _(
        "No host is left after {count} of {attempts_allowed} attempts: {reason}",
        count=len(instance.hosts_tried),
        attempts_allowed=attempts_allowed(),
        reason=said.message,
    )
    details = error.message if said is not error else ""
    with transaction.atomic():
        work_finish(lease=lease, outcome={"error": details or message})
        instance_error_set(instance.pk, decision_id=decision_id)
        instance_ports_free([instance.pk])
        instance_volumes_release(instance_uuid=instance.pk, is_terminated=False)
        fault_record(instance_id=instance.pk, message=message, step="reschedule", host=last, details=details)
        action_close(instance_id=instance.pk, actions=BUILD_ACTIONS, result="error", message=message)
        emit_build_failures([instance.pk], exception="MaxRetriesExceeded", message=message)


def reschedule_overdue(work: Work, reason: str) -> None:
    """Nobody could reschedule it in time."""
    if not Instance.objects.filter(pk=work.subject, deleted_at__isnull=True, host="").exists():
        return
    claims_free([work.subject])
    message = _("Rescheduling did not finish: {reason}.", reason=reason)
    instance_error_set(work.subject)
    instance_ports_free([work.subject])
    instance_volumes_release(instance_uuid=work.subject, is_terminated=False)
    attempt_close(instance_id=work.subject, outcome="failed", reason=message)
    fault_record(instance_id=work.subject, message=message, step="reschedule", details=work_history(work))
    action_close(instance_id=work.subject, actions=BUILD_ACTIONS, result="error", message=message)
    emit_build_failures([work.subject], exception=NoValidHost.__name__, message=message)
