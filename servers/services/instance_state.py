"""The one way to change an instance's state: compare-and-set on what the caller believed."""

import uuid
from collections.abc import Collection
from typing import Any

from django.db.models import F
from django.db.models.functions import Now

from controlplane.kernel.errors import Conflict, NotFound
from servers.domain.states import DELETING_TASKS, TaskState, VmState
from servers.models import Instance


def state_set(
    instance_id: uuid.UUID,
    *,
    vm_in: Collection[str] | None = None,
    task_in: Collection[str] | None = None,
    **changes: Any,
) -> None:
    """Write `changes` if the instance is alive and its states are among the expected ones. Raises Conflict.

    Without `task_in`, everything is expected but a deletion: nothing but its end replaces `deleting`.
    """
    rows = Instance.objects.filter(pk=instance_id, deleted_at__isnull=True)
    rows = rows.exclude(task_state__in=DELETING_TASKS) if task_in is None else rows.filter(task_state__in=task_in)
    if vm_in is not None:
        rows = rows.filter(vm_state__in=vm_in)
    if "task_state" in changes:
        changes["task_since"] = Now() if changes["task_state"] else None
    if not rows.update(generation=F("generation") + 1, updated_at=Now(), **changes):
        _raise_why(instance_id)


def _raise_why(instance_id: uuid.UUID) -> None:
    row = Instance.objects.filter(pk=instance_id).values("vm_state", "task_state", "deleted_at").first()
    if row is None or row["deleted_at"] is not None:
        raise NotFound(f"Instance {instance_id} does not exist.")
    task = row["task_state"] or "none"
    raise Conflict(
        f"The instance is {row['vm_state']} (task {task}), which does not allow this.",
        vm_state=row["vm_state"],
        task_state=row["task_state"] or None,
    )


def instance_error_set(instance_id: uuid.UUID, **changes: Any) -> None:
    """To ERROR, whatever it was, unless it is being deleted or gone. Raises Conflict or NotFound then."""
    state_set(instance_id, vm_state=VmState.ERROR, task_state=TaskState.NONE, **changes)


def instance_deleted_set(instance_id: uuid.UUID) -> bool:
    """The end of an instance; True for the one caller that ended it."""
    rows = Instance.objects.filter(pk=instance_id, deleted_at__isnull=True)
    return bool(
        rows.update(
            vm_state=VmState.DELETED,
            task_state=TaskState.NONE,
            task_since=None,
            power_state="nostate",
            terminated_at=Now(),
            deleted_at=Now(),
            updated_at=Now(),
            generation=F("generation") + 1,
        )
    )
