"""Start, stop and reboot: the request, and what the agent reports of it."""

import uuid

from django.db import transaction

from controlplane.identity.domain import Caller
from controlplane.infra.models import Work, WorkState
from controlplane.infra.work import Lease, NewWork, compute_queue, open_work_subjects, work_create, work_finish
from controlplane.kernel.errors import Conflict, Invalid
from servers.domain.actions import POWER_ACTIONS, PowerAction
from servers.domain.states import PowerState, TaskState, VmState
from servers.models import Instance
from servers.selectors.instance import instance_get
from servers.services.build_outcome import GuestState
from servers.services.instance_journal import action_close, action_open, fault_record, steps_cut
from servers.services.instance_state import state_set
from servers.services.kinds import ACTION_DEADLINE_S, STOP


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


def action_done(*, lease: Lease, work: Work, guest: GuestState) -> None:
    """It is as asked for. Raises Fenced or Conflict."""
    rule = POWER_ACTIONS[work.kind]
    with transaction.atomic():
        work_finish(lease=lease)
        state_set(
            work.subject,
            task_in={rule.task_state},
            vm_state=rule.vm_state_after,
            task_state=TaskState.NONE,
            power_state=guest.power_state,
            addresses=guest.addresses,
            console_host=guest.console_host,
            console_port=guest.console_port,
        )
        action_close(instance_id=work.subject, actions=(rule.name,), result="success")


def action_failed(*, lease: Lease, work: Work, step: str, message: str, details: str) -> None:
    """It failed: the instance is as the hypervisor says, which the next power sync will tell. Raises Fenced."""
    with transaction.atomic():
        work_finish(lease=lease, state=WorkState.FAILED, outcome={"error": message, "step": step})
        _record_failure(work, step, message, details)


def action_overdue(work: Work, reason: str) -> None:
    """The agent did not answer in time; the task ends so that the user can act again."""
    _record_failure(work, work.step or work.kind, f"The host did not do it in time: {reason}.", "")


def _record_failure(work: Work, step: str, message: str, details: str) -> None:
    rule = POWER_ACTIONS.get(work.kind)
    if rule is None:
        raise Invalid(f"{work.kind} is no power action.")
    instance = Instance.objects.filter(pk=work.subject, deleted_at__isnull=True, task_state=rule.task_state).first()
    if instance is None:
        return
    state_set(instance.pk, task_in={rule.task_state}, task_state=TaskState.NONE)
    steps_cut(instance_id=instance.pk, error=message)
    fault_record(instance_id=instance.pk, message=message, step=step, host=instance.host, details=details)
    action_close(instance_id=instance.pk, actions=(rule.name,), result="error", message=message)


def power_states_sync(*, host: str, guests: dict[uuid.UUID, GuestState]) -> None:
    """Periodic truth from the hypervisor. Instances with a task or open work are left alone (Nova's rule)."""
    rows = Instance.objects.filter(pk__in=guests, host=host, deleted_at__isnull=True, task_state=TaskState.NONE)
    instances = list(rows)
    busy = open_work_subjects(subjects=[instance.pk for instance in instances])
    for instance in instances:
        if instance.pk not in busy:
            _sync_one(instance, guests[instance.pk])


def _sync_one(instance: Instance, guest: GuestState) -> None:
    changes: dict[str, object] = {}
    if guest.power_state != instance.power_state:
        changes["power_state"] = guest.power_state
    if guest.addresses and guest.addresses != instance.addresses:
        changes["addresses"] = guest.addresses
    if guest.console_port and guest.console_port != instance.console_port:
        changes |= {"console_port": guest.console_port, "console_host": guest.console_host}
    is_off = guest.power_state in {PowerState.SHUTDOWN, PowerState.CRASHED}
    if instance.vm_state == VmState.ACTIVE and is_off:
        changes["vm_state"] = VmState.STOPPED  # the guest powered itself off
    if changes:
        rows = Instance.objects.filter(pk=instance.pk, generation=instance.generation, task_state=TaskState.NONE)
        rows.update(generation=instance.generation + 1, **changes)
    if instance.vm_state == VmState.STOPPED and guest.power_state == PowerState.RUNNING:
        _stop_again(instance)


def _stop_again(instance: Instance) -> None:
    """It should be off and runs: Nova's sync stops it, and so do we, as an action that people can see."""
    with transaction.atomic():
        rule = POWER_ACTIONS[STOP]
        state_set(instance.pk, vm_in={VmState.STOPPED}, task_in={TaskState.NONE}, task_state=rule.task_state)
        work = work_create(NewWork(compute_queue(instance.host), rule.kind, instance.pk, ACTION_DEADLINE_S))
        action_open(instance_id=instance.pk, action=STOP, user_id=None, project_id=instance.project_id, work=work)
