"""Handing an action to the agent of the instance's host: state, work, the row that people see, and the event."""

import uuid
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from controlplane.identity.domain import Caller
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from controlplane.work.work import NewWork, compute_queue, work_create
from scheduling.fleet.selectors.hosts import host_exists
from servers.instances.actions.rule import ActionRule, work_deadline_s
from servers.instances.services.journal import action_open
from servers.instances.services.notifications import Phase, emit_action
from servers.instances.services.state import action_require, state_set
from servers.instances.services.work_secrets import work_secrets_store
from servers.models import Instance
from servers.states import TaskState, VmState


def row_locked(instance: Instance, rule: ActionRule, caller: Caller) -> Instance:
    """Its row under lock, in which the action may begin: of two who add to an instance one waits, and then finds it
    busy. Raises Conflict.
    """
    row = Instance.objects.select_for_update().filter(pk=instance.pk, deleted_at__isnull=True).first()
    if row is None:
        raise Conflict(_("The instance changed at this very moment. Look again."))
    action_require(row, rule.name, caller)
    return row


def host_action_begin(
    instance: Instance,
    rule: ActionRule,
    *,
    user_id: uuid.UUID | None,
    vm_in: Collection[VmState],
    task_in: Collection[TaskState],
    arguments: Mapping[str, str] = MappingProxyType({}),
    changes: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Write the work of the host's agent and the action that people see, in the caller's transaction.

    `changes` are columns of the instance that change with its beginning. Raises Conflict when the instance's states are
    not among the expected ones any more, or its host was removed.
    """
    if rule.work is None:
        raise ValueError(f"{rule.name} is nothing that a host does")
    if not host_exists(host=instance.host):
        raise Conflict(_("The instance's host was removed from the cloud: it can only be deleted."))
    begun: dict[str, Any] = {"task_state": rule.task} if rule.is_task else {}
    state_set(instance.pk, vm_in=vm_in, task_in=task_in, **begun, **changes)
    secrets = {one.name: arguments[one.name] for one in rule.arguments if one.is_secret and one.name in arguments}
    open_arguments = {name: value for name, value in arguments.items() if name not in secrets}
    deadline_s = work_deadline_s(rule, instance)
    work = work_create(NewWork(compute_queue(instance.host), rule.work, instance.pk, deadline_s, open_arguments))
    if secrets:
        work_secrets_store(work, secrets)
    action_open(instance_id=instance.pk, action=rule.name, user_id=user_id, project_id=instance.project_id, work=work)
    emit_action(rule, Phase.START, instance.pk)
