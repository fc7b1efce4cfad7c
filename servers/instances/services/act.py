"""The actions that are asked for by name (`VERBS`): the request for one, and what the host's agent reports of it."""

import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from django.db import transaction

from computeagent.protocol.guests import GuestFacts
from computeagent.protocol.steps import BuildFailure, FailureClass
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.kernel.errors import Conflict, Invalid
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work, WorkState
from controlplane.work.work import WorkLease, work_finish, work_history
from servers.catalog.services.quota import quota_count_allowed, quota_lock
from servers.fields import Problems, refuse_if
from servers.instances.actions.argument_rules import argument_reasons
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.table import HOST_ACTIONS, VERBS
from servers.instances.domain.state_reasons import DETAILS_MAX, REASON_MAX
from servers.instances.selectors.hanging_step import hanging_words
from servers.instances.selectors.instances import instance_get
from servers.instances.services.action_beginnings import BEGINNINGS
from servers.instances.services.action_ends import AFTER_DONE, AFTER_FAILURE
from servers.instances.services.device_turns import device_turn_next
from servers.instances.services.host_action import host_action_begin
from servers.instances.services.journal import StepReport, action_close, action_open, fault_record, steps_cut
from servers.instances.services.notifications import Phase, emit_action, emit_action_at_once
from servers.instances.services.shelving import shelving_end
from servers.instances.services.state import action_require, state_set
from servers.instances.services.work_secrets import work_secrets_forget
from servers.models import Instance
from servers.states import TaskState, VmState


@audited("instance.{action}", Instance, by="instance_id")
def instance_act(
    *, caller: Caller, instance_id: uuid.UUID, action: str, arguments: Mapping[str, str] = MappingProxyType({})
) -> Instance:
    """Begin one of `VERBS`, or do it here where the table says that it is done at once.

    Raises Invalid for an unknown action, InvalidFields for its arguments, Forbidden, and Conflict for a wrong state.
    """
    rule = VERBS.get(action)
    if rule is None:
        raise Invalid(
            _("'{action:.40}' is not an action; there are: {verbs}.", action=action, verbs=", ".join(VERBS)),
            field="action",
        )
    require(caller, rule.policy)
    refuse_if(_argument_problems(rule, arguments))
    instance = instance_get(caller=caller, instance_id=instance_id)
    action_require(instance, rule.name, caller)
    with transaction.atomic():
        if rule.changes is not None:
            _at_once(instance, rule, caller, arguments)
        elif (begin := BEGINNINGS.get(rule.name)) is not None:
            begin(instance, rule, caller, arguments)
        else:
            vm_in, task_in = rule.vm_states, rule.task_states
            if rule.takes_quota:
                _quota_take(instance)
            host_action_begin(instance, rule, user_id=caller.user_id, vm_in=vm_in, task_in=task_in, arguments=arguments)
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
    quota_count_allowed(project_id=instance.project_id, user_id=instance.user_id, min_count=1, max_count=1, **size)


def _argument_problems(rule: ActionRule, arguments: Mapping[str, str]) -> Problems:
    taken = {one.name for one in rule.arguments}
    problems = {
        name: [_("{title} takes no {name}.", title=rule.title, name=name)] for name in arguments if name not in taken
    }
    return problems | {one.name: argument_reasons(one, arguments.get(one.name, "")) for one in rule.arguments}


def _at_once(instance: Instance, rule: ActionRule, caller: Caller, arguments: Mapping[str, str]) -> None:
    """Change the row under its lock. The action begins and ends here, and its one event has no phases."""
    if instance.is_pending:
        raise Conflict(_("The instance waits to be scheduled and has no row to change yet."))
    row = Instance.objects.select_for_update().filter(pk=instance.pk, deleted_at__isnull=True).first()
    if row is None:
        raise Conflict(_("The instance changed at this very moment. Look again."))
    action_require(row, rule.name, caller)
    changes = rule.changes(row, caller, arguments) if rule.changes else {}
    if not changes:
        return
    state_set(row.pk, vm_in={row.vm_state}, task_in={row.task_state}, **changes)
    action_open(instance_id=row.pk, action=rule.name, user_id=caller.user_id, project_id=row.project_id, work=None)
    message = "; ".join(arguments[one.name] for one in rule.arguments if arguments.get(one.name) and not one.is_secret)
    action_close(instance_id=row.pk, actions=(rule.name,), result="success", message=message)
    emit_action_at_once(rule, row.pk, caller)


def action_done(*, lease: WorkLease, guest: GuestFacts, steps: StepReport) -> None:
    """It is as asked for. Raises Fenced or Conflict."""
    rule = _verb(lease.kind)
    with transaction.atomic():
        work_finish(lease=lease)
        work_secrets_forget(rule, work_id=lease.work_id, instance_id=lease.subject)
        if rule.is_task:
            _state_end(rule, lease.subject, guest)
        action_close(instance_id=lease.subject, actions=(rule.name,), result="success")
        steps.write()
        emit_action(rule, Phase.END, lease.subject)
        if (do := AFTER_DONE.get(rule.name)) is not None:
            do(lease)
        if rule.waits_behind:
            device_turn_next(lease.subject)


def _state_end(rule: ActionRule, instance_id: uuid.UUID, guest: GuestFacts) -> None:
    """The task is over, and the guest is as its host says. Raises Conflict."""
    stable = _state_after(rule, instance_id)
    state_set(
        instance_id,
        task_in=rule.tasks,
        task_state=TaskState.NONE,
        power_state=guest.power_state,
        addresses=guest.addresses,
        console_socket=guest.vnc_socket,
        power_reason=guest.reason[:REASON_MAX],
        power_details=guest.details[:DETAILS_MAX],
        **stable,
        **rule.columns_after,
    )
    if stable.get("vm_state") == VmState.ACTIVE:
        shelving_end(instance_id)


def _state_after(rule: ActionRule, instance_id: uuid.UUID) -> dict[str, Any]:
    """What becomes of the stable state; nothing where it stays. Nobody else changes it while this work is open."""
    comes_back = bool(rule.comes_back_to) and (
        Instance.objects.filter(pk=instance_id, vm_state__in=rule.comes_back_to).exists()
    )
    return {} if rule.vm_state_after is None or comes_back else {"vm_state": rule.vm_state_after}


def action_failed(*, lease: WorkLease, failure: BuildFailure, steps: StepReport) -> None:
    """The agent failed: the instance is as the hypervisor says, which the next power sync reports. Raises Fenced."""
    problem, step = failure.message, failure.step
    with transaction.atomic():
        work_finish(lease=lease, state=WorkState.FAILED, outcome={"error": problem, "step": step})
        work_secrets_forget(_verb(lease.kind), work_id=lease.work_id, instance_id=lease.subject)
        steps.write()
        said = _("The host could not do it ({kind}, step {step}).", kind=lease.kind, step=step)
        if failure.failure_class is FailureClass.USER:
            said = _("It could not be done: {problem}.", problem=problem)
        everything = f"{problem}\n{failure.details}".strip()
        _record_failure(lease.kind, lease.subject, step, said, problem=problem, details=everything, is_overdue=False)


def action_overdue(work: Work, reason: str) -> None:
    """Nobody will do it any more (too late, too often, or cancelled): the task ends so that the user can act again."""
    message = _(
        "The host did not do it: {reason}{hanging_words}.",
        reason=reason,
        hanging_words=hanging_words(instance_id=work.subject),
    )
    step, history = work.step or work.kind, work_history(work)
    work_secrets_forget(_verb(work.kind), work_id=work.pk, instance_id=work.subject)
    _record_failure(work.kind, work.subject, step, message, problem=message, details=history, is_overdue=True)


def _record_failure(
    kind: str, subject: uuid.UUID, step: str, message: str, *, problem: str, details: str, is_overdue: bool
) -> None:
    """`message` is for the owner and names no host; `problem`, in short, and `details` are for operators."""
    rule = _verb(kind)
    busy = {"task_state__in": rule.tasks} if rule.is_task else {}
    instance = Instance.objects.filter(pk=subject, deleted_at__isnull=True, **busy).first()
    if instance is None:
        return
    worse: dict[str, Any] = {"vm_state": rule.vm_state_on_failure} if rule.vm_state_on_failure else {}
    if rule.is_task:
        state_set(instance.pk, task_in=rule.tasks, task_state=TaskState.NONE, **worse)
    steps_cut(instance_id=instance.pk, error=problem)
    fault_record(instance_id=instance.pk, message=message, step=step, host=instance.host, details=details)
    action_close(instance_id=instance.pk, actions=(rule.name,), result="error", message=message)
    emit_action(rule, Phase.ERROR, instance.pk, problem=problem, step=step)
    if (do := AFTER_FAILURE.get(rule.name)) is not None:
        do(instance, is_overdue)
    if rule.waits_behind:
        device_turn_next(instance.pk)


def _verb(kind: str) -> ActionRule:
    """A build and a deletion end by services of their own, whatever an agent says of them here."""
    rule = HOST_ACTIONS.get(kind)
    if rule is None:
        raise Invalid(_("{kind:.40} is no action that ends so.", kind=kind))
    return rule
