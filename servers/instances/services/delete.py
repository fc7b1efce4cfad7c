"""This module deletes an instance at any moment of its life, and leaves nothing behind."""

import uuid

from django.db import transaction

from computeagent.protocol.work import WorkKind
from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.kernel.errors import Conflict
from controlplane.kernel.texts import phrase as _
from controlplane.work.models import Work
from controlplane.work.work import (
    NewWork,
    WorkLease,
    compute_queue,
    work_cancel,
    work_create,
    work_finish,
    work_history,
    work_lock,
)
from scheduling.fleet.selectors.hosts import host_exists
from scheduling.topology.services.claims import claims_free
from servers.conf import server_options
from servers.images.services.snapshot_images import unfinished_images_discard
from servers.instances.actions.guards import ANY_TASK, ANY_VM
from servers.instances.actions.lifecycle import DELETE, FORCE_DELETE, SOFT_DELETE
from servers.instances.actions.rule import DEVICE_TASKS, ActionRule
from servers.instances.domain.soft_delete import Deletion, deletion_asked
from servers.instances.selectors.hanging_step import hanging_words
from servers.instances.selectors.instances import instance_get
from servers.instances.selectors.pending import pending_instance
from servers.instances.services.device_turns import device_turns_cancel
from servers.instances.services.hints import requests_changed
from servers.instances.services.host_action import host_action_begin
from servers.instances.services.journal import (
    StepReport,
    action_close,
    action_open,
    action_take_up,
    actions_cancel,
    attempt_close,
    fault_record,
    steps_cut,
)
from servers.instances.services.notifications import API, COMPUTE, Phase, emit_instance_action, emit_pending_deletion
from servers.instances.services.shelving import shelved_image_discard
from servers.instances.services.state import action_require, instance_deleted_set, state_set
from servers.models import (
    BuildRequest,
    ConsoleLog,
    FirstBootData,
    GuestCounterChunk,
    GuestPassword,
    Instance,
    InstanceMapping,
    InstanceTag,
    RequestSpec,
    Screenshot,
    ServerGroupMember,
    WorkSecret,
)
from servers.networks.services.instance_ports import instance_ports_free
from servers.states import DELETING_TASKS, TaskState, VmState
from servers.volumes.services.with_instances import instance_volumes_release

MAX_ROUNDS = 5
"""How often an instance may turn from a row into a request and back while its deletion searches for it."""
CUT = _("The instance was deleted.")


@audited("instance.delete", Instance, by="instance_id", also=("is_forced",))
def instance_delete(*, caller: Caller, instance_id: uuid.UUID, is_forced: bool = False) -> None:
    """Begin or finish the deletion. Deleting twice is one deletion. Raises NotFound for a stranger's instance.

    With RECLAIM_INSTANCE_INTERVAL_S an instance that ran is only soft-deleted; `is_forced` deletes it for good.
    """
    rule = FORCE_DELETE if is_forced else DELETE
    require(caller, rule.policy)
    action_require(instance_get(caller=caller, instance_id=instance_id), rule.name, caller)
    with transaction.atomic():
        for _rest in range(MAX_ROUNDS):
            if _build_request_deleted(instance_id, rule, caller):
                return
            work_lock(subject=instance_id)
            # Scheduling again turns the row into a request under the lock that this one waits for.
            instance = Instance.objects.select_for_update().filter(pk=instance_id).first()
            if instance is not None:
                _row_delete(instance, rule, caller)
                return
        raise Conflict(_("The instance changed again and again. Ask once more."))


def _build_request_deleted(instance_id: uuid.UUID, rule: ActionRule, caller: Caller) -> bool:
    """Delete an instance that has no row yet: without its build request the conductor frees the claim and skips it."""
    request = BuildRequest.objects.select_for_update().filter(instance_uuid=instance_id).first()
    if request is None:
        return False
    action_require(pending_instance(request), rule.name, caller)
    if not BuildRequest.objects.filter(pk=request.pk).delete()[0]:
        return False
    requests_changed([request])
    claims_free([instance_id])
    _traces_remove(instance_id)
    emit_pending_deletion(pending_instance(request), caller)
    return True


def _row_delete(instance: Instance, rule: ActionRule, caller: Caller) -> None:
    if instance.deleted_at is not None:
        return
    asked = deletion_asked(
        vm_state=instance.vm_state,
        task_state=instance.task_state,
        is_on_host=_is_on_host(instance),
        is_launched=instance.launched_at is not None,
        interval_s=server_options().reclaim_instance_interval_s,
        is_forced=rule is FORCE_DELETE,
    )
    if asked is Deletion.NOTHING:
        return
    action_require(instance, rule.name, caller)
    if asked is Deletion.FOR_GOOD:
        delete_for_good(instance, user_id=caller.user_id)
        return
    _others_end(instance)
    host_action_begin(instance, SOFT_DELETE, user_id=caller.user_id, vm_in=ANY_VM, task_in=ANY_TASK - DELETING_TASKS)


def delete_for_good(instance: Instance, *, user_id: uuid.UUID | None) -> None:
    """Begin or finish it, in the caller's transaction and lock, whatever is under way. `user_id`: None for nobody."""
    _others_end(instance)
    _begin(instance, user_id)


def _is_on_host(instance: Instance) -> bool:
    """Of a host that was removed there is nobody to ask, and nothing to wait for."""
    return bool(instance.host) and host_exists(host=instance.host)


def _others_end(instance: Instance) -> None:
    work_cancel(subject=instance.pk)
    actions_cancel(instance_id=instance.pk, message=CUT)
    steps_cut(instance_id=instance.pk, error=CUT)
    attempt_close(instance_id=instance.pk, outcome="cancelled", reason=CUT)
    unfinished_images_discard(instance.pk)
    if instance.task_state in DEVICE_TASKS:
        device_turns_cancel(instance, reason=CUT)


def _begin(instance: Instance, user_id: uuid.UUID | None) -> None:
    if not _is_on_host(instance):
        action_open(
            instance_id=instance.pk,
            action=DELETE.name,
            user_id=user_id,
            project_id=instance.project_id,
            work=None,
        )
        emit_instance_action(DELETE.notification, Phase.START, [instance.pk], binary=API)
        _finish(instance.pk, binary=API)
        action_close(instance_id=instance.pk, actions=(DELETE.name,), result="success")
        return
    state_set(instance.pk, task_in=ANY_TASK, task_state=DELETE.task)
    action_open(
        instance_id=instance.pk,
        action=DELETE.name,
        user_id=user_id,
        project_id=instance.project_id,
        work=_host_work(instance),
    )
    emit_instance_action(DELETE.notification, Phase.START, [instance.pk])


def deletion_take_up(instance: Instance) -> None:
    """Continue a deletion whose work was lost, in the caller's transaction and lock. Raises Conflict."""
    if not instance.host or not host_exists(host=instance.host):
        _finish(instance.pk)
        action_close(instance_id=instance.pk, actions=(DELETE.name,), result="success")
        return
    state_set(instance.pk, task_in={instance.task_state}, task_state=DELETE.task)
    action_take_up(
        instance_id=instance.pk, action=DELETE.name, project_id=instance.project_id, work=_host_work(instance)
    )


def _host_work(instance: Instance) -> Work:
    queue = compute_queue(instance.host)
    return work_create(NewWork(queue, WorkKind.DELETE, instance.pk, DELETE.deadline_s, max_attempts=1000))


def delete_done(*, lease: WorkLease, steps: StepReport) -> None:
    """The host holds nothing of it any more. Raises Fenced."""
    with transaction.atomic():
        work_finish(lease=lease)
        _finish(lease.subject)
        action_close(instance_id=lease.subject, actions=(DELETE.name,), result="success")
        steps.write()


def delete_overdue(work: Work, reason: str) -> None:
    """Nobody removed the guest in time: the instance ends in ERROR, so that a person acts; deleting again begins anew.

    An instance that is not being deleted any more (an administrator reset it) is left as it is.
    """
    message = _(
        "The host did not confirm the deletion: {reason}{hanging_words}.",
        reason=reason,
        hanging_words=hanging_words(instance_id=work.subject),
    )
    rows = Instance.objects.filter(pk=work.subject, deleted_at__isnull=True, task_state__in=DELETING_TASKS)
    instance = rows.first()
    if instance is None:
        return
    state_set(instance.pk, task_in=DELETING_TASKS, vm_state=VmState.ERROR, task_state=TaskState.NONE)
    step, details = work.step or work.kind, work_history(work)
    fault_record(instance_id=instance.pk, message=message, step=step, host=instance.host, details=details)
    action_close(instance_id=instance.pk, actions=(DELETE.name,), result="error", message=message)
    emit_instance_action(DELETE.notification, Phase.ERROR, [instance.pk], problem=message, step=step)


def _finish(instance_id: uuid.UUID, binary: str = COMPUTE) -> None:
    if not instance_deleted_set(instance_id):
        raise Conflict(_("The instance is deleted already."))
    claims_free([instance_id])
    emit_instance_action(
        DELETE.notification, Phase.END, [instance_id], binary=binary
    )  # while it still has its addresses
    _traces_remove(instance_id)
    shelved_image_discard(instance_id)  # as in Nova
    # Its row stays as history for a time; what its owner gave it does not outlive it.
    InstanceTag.objects.filter(instance=instance_id).delete()
    Instance.objects.filter(pk=instance_id).update(
        user_data="", public_key="", metadata={}, addresses={}, console_socket=""
    )


def _traces_remove(instance_id: uuid.UUID) -> None:
    """Remove all that points to a living instance. Its row, actions and faults stay as history."""
    instance_ports_free([instance_id])
    instance_volumes_release(instance_uuid=instance_id, is_terminated=True)
    for model in (
        InstanceMapping,
        RequestSpec,
        ServerGroupMember,
        ConsoleLog,
        GuestCounterChunk,
        FirstBootData,
        GuestPassword,
        WorkSecret,
        Screenshot,
    ):
        model._default_manager.filter(instance_uuid=instance_id).delete()
