"""Start, stop and reboot: the request, and what the agent reports of it."""

import uuid

from django.db import transaction

from computeagent.protocol.guests import GuestFacts
from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.work.models import Work, WorkState
from controlplane.work.work import NewWork, WorkLease, compute_queue, work_create, work_finish, work_history
from servers.instances.domain.power_actions import POWER_ACTIONS, PowerAction
from servers.instances.selectors.hanging_step import hanging_words
from servers.instances.selectors.instances import instance_get
from servers.instances.services.journal import StepReport, action_close, action_open, fault_record, steps_cut
from servers.instances.services.notifications import Phase, emit_power_action
from servers.instances.services.state import action_require, state_set
from servers.instances.work_kinds import ACTION_DEADLINE_S
from servers.models import Instance
from servers.states import TaskState


def instance_act(*, caller: Caller, instance_id: uuid.UUID, action: str) -> Instance:
    """Begin a power action of `POWER_ACTIONS`. Raises Invalid for an unknown one, Conflict for a wrong state."""
    rule = POWER_ACTIONS.get(action)
    if rule is None:
        raise Invalid(f"'{action:.40}' is not an action; there are: {', '.join(POWER_ACTIONS)}.", field="action")
    instance = instance_get(caller=caller, instance_id=instance_id)
    if not instance.host:
        raise Conflict("The instance is on no host, so there is nothing to act on.")
    action_require(instance, rule.guard)
    with transaction.atomic():
        _begin(instance, rule, caller.user_id)
    instance.refresh_from_db()
    return instance


def _begin(instance: Instance, rule: PowerAction, user_id: uuid.UUID | None) -> None:
    state_set(instance.pk, vm_in=rule.vm_states, task_in=rule.task_states, task_state=rule.task_state)
    work = work_create(NewWork(compute_queue(instance.host), rule.kind, instance.pk, ACTION_DEADLINE_S))
    action_open(instance_id=instance.pk, action=rule.name, user_id=user_id, project_id=instance.project_id, work=work)
    emit_power_action(rule.name, Phase.START, instance.pk)


def action_done(*, lease: WorkLease, guest: GuestFacts, steps: StepReport) -> None:
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
            console_socket=guest.vnc_socket,
        )
        action_close(instance_id=lease.subject, actions=(rule.name,), result="success")
        steps.write()
        emit_power_action(rule.name, Phase.END, lease.subject)


def action_failed(*, lease: WorkLease, step: str, message: str, details: str, steps: StepReport) -> None:
    """It failed: the instance is as the hypervisor says, which the next power sync will tell. Raises Fenced."""
    with transaction.atomic():
        work_finish(lease=lease, state=WorkState.FAILED, outcome={"error": message, "step": step})
        steps.write()
        said = f"The host could not do it ({lease.kind}, step {step})."
        everything = f"{message}\n{details}".strip()
        _record_failure(lease.kind, lease.subject, step, said, problem=message, details=everything)


def action_overdue(work: Work, reason: str) -> None:
    """Nobody will do it any more (too late, too often, or cancelled): the task ends so that the user can act again."""
    message = f"The host did not do it: {reason}{hanging_words(instance_id=work.subject)}."
    step, history = work.step or work.kind, work_history(work)
    _record_failure(work.kind, work.subject, step, message, problem=message, details=history)


def _record_failure(kind: str, subject: uuid.UUID, step: str, message: str, *, problem: str, details: str) -> None:
    """`message` is for the owner and names no host; `problem`, in short, and `details` are for operators."""
    rule = POWER_ACTIONS.get(kind)
    if rule is None:
        raise Invalid(f"{kind} is no power action.")
    instance = Instance.objects.filter(pk=subject, deleted_at__isnull=True, task_state=rule.task_state).first()
    if instance is None:
        return
    state_set(instance.pk, task_in={rule.task_state}, task_state=TaskState.NONE)
    steps_cut(instance_id=instance.pk, error=problem)
    fault_record(instance_id=instance.pk, message=message, step=step, host=instance.host, details=details)
    action_close(instance_id=instance.pk, actions=(rule.name,), result="error", message=message)
    emit_power_action(rule.name, Phase.ERROR, instance.pk, problem=problem, step=step)
