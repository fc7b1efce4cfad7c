"""Start, stop and reboot: the request, and what the agent reports of it."""

import uuid

from django.db import transaction

from controlplane.identity.domain import Caller
from controlplane.infra.models import Work, WorkState
from controlplane.infra.work import Lease, NewWork, compute_queue, work_create, work_finish
from controlplane.kernel.errors import Conflict, Invalid
from servers.domain.actions import POWER_ACTIONS, PowerAction
from servers.domain.states import TaskState
from servers.models import Instance
from servers.selectors.hanging_step import hanging_words
from servers.selectors.instance import instance_get
from servers.services.instance_journal import StepsTold, action_close, action_open, fault_record, steps_cut
from servers.services.instance_state import GuestState, state_set
from servers.services.kinds import ACTION_DEADLINE_S
from servers.services.notifications import Phase, power_told


def instance_act(*, caller: Caller, instance_id: uuid.UUID, action: str) -> Instance:
    """Begin a power action of `POWER_ACTIONS`. Raises Invalid for an unknown one, Conflict for a wrong state."""
    rule = POWER_ACTIONS.get(action)
    if rule is None:
        raise Invalid(f"'{action:.40}' is not an action; there are: {', '.join(POWER_ACTIONS)}.", field="action")
    instance = instance_get(caller=caller, instance_id=instance_id)
    if not instance.host:
        raise Conflict("The instance is on no host, so there is nothing to act on.")
    with transaction.atomic():
        _begin(instance, rule, caller.user_id)
    instance.refresh_from_db()
    return instance


def _begin(instance: Instance, rule: PowerAction, user_id: uuid.UUID | None) -> None:
    state_set(instance.pk, vm_in=rule.vm_states, task_in=rule.task_states, task_state=rule.task_state)
    work = work_create(NewWork(compute_queue(instance.host), rule.kind, instance.pk, ACTION_DEADLINE_S))
    action_open(instance_id=instance.pk, action=rule.name, user_id=user_id, project_id=instance.project_id, work=work)
    power_told(rule.name, Phase.START, instance.pk)


def action_done(*, lease: Lease, guest: GuestState, steps: StepsTold) -> None:
    """It is as asked for. Raises Fenced or Conflict."""
    rule = POWER_ACTIONS[lease.kind]
    with transaction.atomic():
        work_finish(lease=lease)
        state_set(
            lease.subject,
            task_in={rule.task_state},
            vm_state=rule.vm_state_after,
            task_state=TaskState.NONE,
            power_state=guest.power_state,
            addresses=guest.addresses,
            console_socket=guest.console_socket,
        )
        action_close(instance_id=lease.subject, actions=(rule.name,), result="success")
        steps.write()
        power_told(rule.name, Phase.END, lease.subject)


def action_failed(*, lease: Lease, step: str, message: str, details: str, steps: StepsTold) -> None:
    """It failed: the instance is as the hypervisor says, which the next power sync will tell. Raises Fenced."""
    with transaction.atomic():
        work_finish(lease=lease, state=WorkState.FAILED, outcome={"error": message, "step": step})
        steps.write()
        _record_failure(lease.kind, lease.subject, step, message, details)


def action_overdue(work: Work, reason: str) -> None:
    """Nobody will do it any more (too late, too often, or cancelled): the task ends so that the user can act again."""
    message = f"The host did not do it: {reason}{hanging_words(instance_id=work.subject)}."
    _record_failure(work.kind, work.subject, work.step or work.kind, message, "")


def _record_failure(kind: str, subject: uuid.UUID, step: str, message: str, details: str) -> None:
    rule = POWER_ACTIONS.get(kind)
    if rule is None:
        raise Invalid(f"{kind} is no power action.")
    instance = Instance.objects.filter(pk=subject, deleted_at__isnull=True, task_state=rule.task_state).first()
    if instance is None:
        return
    state_set(instance.pk, task_in={rule.task_state}, task_state=TaskState.NONE)
    steps_cut(instance_id=instance.pk, error=message)
    fault_record(instance_id=instance.pk, message=message, step=step, host=instance.host, details=details)
    action_close(instance_id=instance.pk, actions=(rule.name,), result="error", message=message)
    power_told(rule.name, Phase.ERROR, instance.pk, problem=message, step=step)
