"""Delete, at any moment of an instance's life, and leave nothing behind."""

import uuid

from django.db import transaction

from controlplane.identity.domain import Caller
from controlplane.infra.models import Work
from controlplane.infra.work import Lease, NewWork, compute_queue, work_cancel, work_create, work_finish
from controlplane.kernel.errors import Conflict
from scheduling.services import claims_free
from servers.domain.states import DELETING_TASKS, TaskState
from servers.models import (
    BuildRequest,
    ConsoleLog,
    Instance,
    InstanceMapping,
    Port,
    RequestSpec,
    ServerGroupMember,
)
from servers.selectors.instance import instance_get
from servers.services.instance_journal import (
    action_close,
    action_open,
    action_take_up,
    actions_cancel,
    attempt_close,
    fault_record,
    steps_cut,
)
from servers.services.instance_state import instance_deleted_set, instance_error_set, state_set
from servers.services.kinds import DELETE, DELETE_DEADLINE_S

CUT = "The instance was deleted."


def instance_delete(*, caller: Caller, instance_id: uuid.UUID) -> None:
    """Begin or finish the deletion. Deleting twice is one deletion. Raises NotFound for a stranger's instance."""
    instance_get(caller=caller, instance_id=instance_id)
    with transaction.atomic():
        if _build_request_deleted(instance_id):
            return
        instance = Instance.objects.select_for_update().get(pk=instance_id)
        if instance.task_state in DELETING_TASKS:
            return
        work_cancel(subject=instance_id)
        actions_cancel(instance_id=instance_id, message=CUT)
        steps_cut(instance_id=instance_id, error=CUT)
        attempt_close(instance_id=instance_id, outcome="cancelled", reason=CUT)
        _begin(instance, caller)


def _build_request_deleted(instance_id: uuid.UUID) -> bool:
    """Before it has a row: without its build request the conductor gives the claim back and skips it."""
    deleted, _ = BuildRequest.objects.filter(instance_uuid=instance_id).delete()
    if deleted:
        claims_free([instance_id])
        _traces_remove(instance_id)
    return bool(deleted)


def _begin(instance: Instance, caller: Caller) -> None:
    if not instance.host:
        _finish(instance.pk)
        action = action_open(
            instance_id=instance.pk, action="delete", user_id=caller.user_id, project_id=instance.project_id, work=None
        )
        action_close(instance_id=action.instance_uuid, actions=("delete",), result="success")
        return
    state_set(instance.pk, task_state=TaskState.DELETING)
    work = work_create(NewWork(compute_queue(instance.host), DELETE, instance.pk, DELETE_DEADLINE_S, max_attempts=1000))
    action_open(
        instance_id=instance.pk, action="delete", user_id=caller.user_id, project_id=instance.project_id, work=work
    )


def deletion_take_up(instance: Instance) -> None:
    """Go on with a deletion whose work was lost; the caller's transaction and lock are around it. Raises Conflict."""
    if not instance.host:
        _finish(instance.pk)
        action_close(instance_id=instance.pk, actions=("delete",), result="success")
        return
    state_set(instance.pk, task_in={instance.task_state}, task_state=TaskState.DELETING)
    work = work_create(NewWork(compute_queue(instance.host), DELETE, instance.pk, DELETE_DEADLINE_S, max_attempts=1000))
    action_take_up(instance_id=instance.pk, action="delete", project_id=instance.project_id, work=work)


def delete_done(*, lease: Lease, work: Work) -> None:
    """The host holds nothing of it any more. Raises Fenced."""
    with transaction.atomic():
        work_finish(lease=lease)
        _finish(work.subject)
        action_close(instance_id=work.subject, actions=("delete",), result="success")


def delete_overdue(work: Work, reason: str) -> None:
    """The host never answered: ERROR, so that somebody looks; deleting again begins anew."""
    message = f"The host did not confirm the deletion: {reason}."
    instance = Instance.objects.filter(pk=work.subject, deleted_at__isnull=True).first()
    if instance is None:
        return
    state_set(instance.pk, task_in=DELETING_TASKS, task_state=TaskState.NONE)
    instance_error_set(instance.pk)
    fault_record(instance_id=instance.pk, message=message, step=work.step or DELETE, host=instance.host)
    action_close(instance_id=instance.pk, actions=("delete",), result="error", message=message)


def _finish(instance_id: uuid.UUID) -> None:
    if not instance_deleted_set(instance_id):
        raise Conflict("The instance is deleted already.")
    claims_free([instance_id])
    _traces_remove(instance_id)


def _traces_remove(instance_id: uuid.UUID) -> None:
    """All that points to a living instance. Its row, actions and faults stay as history."""
    for model in (InstanceMapping, RequestSpec, ServerGroupMember, Port, ConsoleLog):
        model._default_manager.filter(instance_uuid=instance_id).delete()
