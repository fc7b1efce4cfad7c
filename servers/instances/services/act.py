"""The actions that are asked for by name (`VERBS`): the request for one, and what the host's agent reports of it."""

import uuid
from collections.abc import Collection, Mapping
from types import MappingProxyType

from django.db import transaction

from computeagent.protocol.guests import GuestFacts
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.work.models import Work, WorkState
from controlplane.work.work import NewWork, WorkLease, compute_queue, work_create, work_finish, work_history
from scheduling.fleet.selectors.hosts import host_exists
from servers.catalog.services.quota import quota_count_allowed, quota_lock
from servers.fields import Problems, refuse_if, text_reasons
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.table import HOST_ACTIONS, VERBS
from servers.instances.selectors.hanging_step import hanging_words
from servers.instances.selectors.instances import instance_get
from servers.instances.services.journal import StepReport, action_close, action_open, fault_record, steps_cut
from servers.instances.services.notifications import Phase, emit_action, emit_action_at_once
from servers.instances.services.state import action_require, state_set
from servers.models import Instance
from servers.states import TaskState, VmState


def instance_act(
    *, caller: Caller, instance_id: uuid.UUID, action: str, arguments: Mapping[str, str] = MappingProxyType({})
) -> Instance:
    """Begin one of `VERBS`, or do it here where the table says that it is done at once.

    Raises Invalid for an unknown action, InvalidFields for its arguments, Forbidden, and Conflict for a wrong state.
    """
    rule = VERBS.get(action)
    if rule is None:
        raise Invalid(f"'{action:.40}' is not an action; there are: {', '.join(VERBS)}.", field="action")
    require(caller, rule.policy)
    refuse_if(_argument_problems(rule, arguments))
    instance = instance_get(caller=caller, instance_id=instance_id)
    action_require(instance, rule.name, caller)
    with transaction.atomic():
        if rule.changes is not None:
            _at_once(instance, rule, caller, arguments)
        else:
            vm_in, task_in = rule.vm_states, rule.task_states
            if rule.takes_quota:
                _quota_take(instance)
            host_action_begin(
                instance, rule, user_id=caller.user_id, vm_in=vm_in, task_in=task_in, arguments=dict(arguments)
            )
    instance.refresh_from_db()
    return instance


def _quota_take(instance: Instance) -> None:
    """Hold the project's quota and ask it for this instance, in the caller's transaction, which then changes it so that
    it counts. Raises QuotaExceeded.
    """
    # Its row first, as everybody locks who needs both.
    Instance.objects.select_for_update().filter(pk=instance.pk).first()
    quota_lock(instance.project_id)
    size = {"vcpus": instance.vcpus, "memory_mib": instance.memory_mib}
    quota_count_allowed(project_id=instance.project_id, min_count=1, max_count=1, **size)


def _argument_problems(rule: ActionRule, arguments: Mapping[str, str]) -> Problems:
    taken = {one.name: one for one in rule.arguments}
    problems = {name: [f"{rule.title} takes no {name}."] for name in arguments if name not in taken}
    return problems | {
        name: text_reasons(arguments[name], maximum=one.max_length) for name, one in taken.items() if name in arguments
    }


def _at_once(instance: Instance, rule: ActionRule, caller: Caller, arguments: Mapping[str, str]) -> None:
    """Change the row under its lock. The action begins and ends here, and its one event has no phases."""
    if instance.is_pending:
        raise Conflict("The instance waits to be scheduled and has no row to change yet.")
    row = Instance.objects.select_for_update().filter(pk=instance.pk, deleted_at__isnull=True).first()
    if row is None:
        raise Conflict("The instance changed at this very moment. Look again.")
    action_require(row, rule.name, caller)
    changes = rule.changes(row, caller, arguments) if rule.changes else {}
    if not changes:
        return
    state_set(row.pk, vm_in={row.vm_state}, task_in={row.task_state}, **changes)
    action_open(instance_id=row.pk, action=rule.name, user_id=caller.user_id, project_id=row.project_id, work=None)
    message = "; ".join(filter(None, arguments.values()))
    action_close(instance_id=row.pk, actions=(rule.name,), result="success", message=message)
    emit_action_at_once(rule, row.pk, caller)


def host_action_begin(
    instance: Instance,
    rule: ActionRule,
    *,
    user_id: uuid.UUID | None,
    vm_in: Collection[VmState],
    task_in: Collection[TaskState],
    arguments: dict[str, str] | None = None,
) -> None:
    """Write the work of the host's agent and the action that people see, in the caller's transaction.

    Raises Conflict when the instance's states are not among the expected ones any more, or its host was removed.
    """
    if rule.work is None:
        raise ValueError(f"{rule.name} is nothing that a host does")
    if not host_exists(host=instance.host):
        raise Conflict("The instance's host was removed from the cloud: it can only be deleted.")
    state_set(instance.pk, vm_in=vm_in, task_in=task_in, task_state=rule.task)
    work = work_create(NewWork(compute_queue(instance.host), rule.work, instance.pk, rule.deadline_s, arguments or {}))
    action_open(instance_id=instance.pk, action=rule.name, user_id=user_id, project_id=instance.project_id, work=work)
    emit_action(rule, Phase.START, instance.pk)


def action_done(*, lease: WorkLease, guest: GuestFacts, steps: StepReport) -> None:
    """It is as asked for. Raises Fenced or Conflict."""
    rule = _verb(lease.kind)
    with transaction.atomic():
        work_finish(lease=lease)
        state_set(
            lease.subject,
            task_in={rule.task},
            vm_state=rule.vm_state_after,
            task_state=TaskState.NONE,
            power_state=guest.power_state,
            addresses=guest.addresses,
            console_socket=guest.vnc_socket,
        )
        action_close(instance_id=lease.subject, actions=(rule.name,), result="success")
        steps.write()
        emit_action(rule, Phase.END, lease.subject)


def action_failed(*, lease: WorkLease, step: str, message: str, details: str, steps: StepReport) -> None:
    """The agent failed: the instance is as the hypervisor says, which the next power sync reports. Raises Fenced."""
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
    rule = _verb(kind)
    instance = Instance.objects.filter(pk=subject, deleted_at__isnull=True, task_state=rule.task).first()
    if instance is None:
        return
    state_set(instance.pk, task_in={rule.task}, task_state=TaskState.NONE)
    steps_cut(instance_id=instance.pk, error=problem)
    fault_record(instance_id=instance.pk, message=message, step=step, host=instance.host, details=details)
    action_close(instance_id=instance.pk, actions=(rule.name,), result="error", message=message)
    emit_action(rule, Phase.ERROR, instance.pk, problem=problem, step=step)


def _verb(kind: str) -> ActionRule:
    """A build and a deletion end by services of their own, whatever an agent says of them here."""
    rule = HOST_ACTIONS.get(kind)
    if rule is None:
        raise Invalid(f"{kind:.40} is no action that ends so.")
    return rule
