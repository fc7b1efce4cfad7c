"""Reset state: an administrator says what an instance is where its rows do not (Nova's `os-resetState`)."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.db import transaction

from controlplane.audit_log.recording.audited import audited
from controlplane.identity.domain import Caller
from controlplane.identity.policy import require
from controlplane.kernel.errors import Conflict, InvalidFields
from controlplane.kernel.texts import any_of
from controlplane.kernel.texts import phrase as _
from controlplane.work.work import open_work_of
from scheduling.topology.services.claims import claims_free
from servers.fields import refuse_if, text_reasons
from servers.images.services.snapshot_images import snapshot_image_discard, unfinished_images_discard
from servers.instances.actions.record import RESET_STATE
from servers.instances.selectors.instances import instance_get
from servers.instances.services.action_ends import open_actions_failed
from servers.instances.services.journal import (
    action_close,
    action_open,
    actions_cancel,
    attempt_close,
    fault_record,
    steps_cut,
)
from servers.instances.services.shelving import NOT_SHELVED
from servers.instances.services.state import action_require, state_set
from servers.models import Instance
from servers.states import TaskState, VmState

STATES = (VmState.ACTIVE, VmState.ERROR)
"""What an instance can be reset to."""


@audited("instance.reset_state", Instance, by="instance_id", also=("reason",))
def instance_reset_state(*, caller: Caller, instance_id: uuid.UUID, state: str, reason: str = "") -> Instance:
    """Set the state to `active` or `error` and end the task; the guest is left as it is, and the next look at its host
    says whether it runs.

    One piece of work per instance runs at a time: while one is open it alone says how the instance ends, and the reset
    is refused with its id, so that it is cancelled first. Raises InvalidFields, Forbidden, NotFound, Conflict.
    """
    require(caller, RESET_STATE.policy)
    if state not in STATES:
        raise InvalidFields(
            {"state": [_("Is {state!r:.40}; an instance is reset to {states}.", state=state, states=any_of(STATES))]}
        )
    refuse_if({"reason": text_reasons(reason, maximum=255)})
    instance = instance_get(caller=caller, instance_id=instance_id)
    if instance.is_pending:
        raise Conflict(_("The instance waits to be scheduled and has no row to change yet."))
    with transaction.atomic():
        row = Instance.objects.select_for_update().filter(pk=instance.pk, deleted_at__isnull=True).first()
        if row is None:
            raise Conflict(_("The instance changed at this very moment. Look again."))
        action_require(row, RESET_STATE.name, caller)
        # Whoever writes work changes the instance's row first, so under its lock none can come.
        if work := open_work_of(subject=row.pk):
            raise Conflict(
                _(
                    "Its work {kind} ({work}) is {state}; cancel it first: that ends the task too.",
                    kind=work.kind,
                    work=work.pk,
                    state=work.state,
                ),
                work=str(work.pk),
            )
        if state == VmState.ACTIVE and not row.host:
            raise Conflict(_("The instance is on no host, so it cannot be active."))
        if (row.vm_state, row.task_state) != (state, TaskState.NONE):
            _reset(row, VmState(state), caller, reason)
    row.refresh_from_db()
    return row


def _reset(row: Instance, state: VmState, caller: Caller, reason: str) -> None:
    task = f", task {row.task_state}" if row.task_state else ""
    because = f": {reason}" if reason else "."
    ended = f"An administrator reset the state to {state}{because}"
    open_actions_failed(row)  # first, for it may change the state
    actions_cancel(instance_id=row.pk, message=ended)
    steps_cut(instance_id=row.pk, error=ended)
    attempt_close(instance_id=row.pk, outcome="cancelled", reason=ended)
    unfinished_images_discard(row.pk)
    if not row.host:
        claims_free([row.pk])  # what nobody uses
    if state is VmState.ERROR:
        fault_record(instance_id=row.pk, message=ended, step=RESET_STATE.name, host=row.host)
    action_open(
        instance_id=row.pk, action=RESET_STATE.name, user_id=caller.user_id, project_id=row.project_id, work=None
    )
    words = f"From {row.vm_state}{task} to {state}{because}"
    changes: Mapping[str, Any] = {}
    if state is VmState.ACTIVE:
        changes, words = NOT_SHELVED, words + _shelved_image_end(row)
    action_close(instance_id=row.pk, actions=(RESET_STATE.name,), result="success", message=words)
    # Last, for its event names who began the latest action. The row is under its lock, so nobody else changed it.
    now = Instance.objects.get(pk=row.pk)
    state_set(
        row.pk, vm_in={now.vm_state}, task_in={now.task_state}, vm_state=state, task_state=TaskState.NONE, **changes
    )


def _shelved_image_end(row: Instance) -> str:
    """What becomes of the image that the instance was kept in, for the journey; empty where there is nothing to say.

    One that was shelved on its host has its whole disk there. Of any other nobody knows, so the image stays, as one of
    the project's.
    """
    if row.shelved_image_id is None:
        return ""
    if row.vm_state == VmState.SHELVED:
        snapshot_image_discard(row.shelved_image_id)
        return ""
    return " " + _("The image that it was kept in stays: {image_id}.", image_id=row.shelved_image_id)
