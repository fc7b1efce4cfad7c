"""How an instance's state is changed: compare-and-set on what the caller believed.

`state_set` is the way of all actions; the next task and the end of a build, which come for each instance, and the end
of an instance have statements of their own below. Rows of a build are written with their first states by
`instance_dispatch`, which also sends an instance without a host to the next one.
"""

import json
import uuid
from collections.abc import Collection
from typing import Any

from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from computeagent.protocol.guests import GuestFacts
from controlplane.infra.db import now_sql, uuid_value
from controlplane.kernel.errors import Conflict, NotFound
from servers.instances.domain.guards import action_refusal
from servers.instances.domain.transitions import task_sources, vm_sources
from servers.instances.services.notifications import emit_state_changes
from servers.models import Instance
from servers.states import DELETING_TASKS, TaskState, VmState


def action_require(instance: Instance, action: str) -> None:
    """Raises Conflict with the reason when the table of guards does not let the action begin now.

    The state may change right afterwards: whoever begins still compares and sets.
    """
    states = {"vm_state": instance.vm_state, "task_state": instance.task_state}
    if reason := action_refusal(action, **states, is_launched=instance.launched_at is not None):
        raise Conflict(reason, vm_state=instance.vm_state, task_state=instance.task_state or None)


def state_set(
    instance_id: uuid.UUID,
    *,
    vm_in: Collection[str] | None = None,
    task_in: Collection[str] | None = None,
    **changes: Any,
) -> None:
    """Write `changes` if the instance is alive and its states are among the expected ones, and among those that
    `transitions` lets the new ones follow. Raises Conflict.

    Without `task_in`, everything is expected but a deletion: nothing but its end replaces `deleting`.
    """
    rows = Instance.objects.filter(pk=instance_id, deleted_at__isnull=True)
    rows = rows.exclude(task_state__in=DELETING_TASKS) if task_in is None else rows.filter(task_state__in=task_in)
    if vm_in is not None:
        rows = rows.filter(vm_state__in=vm_in)
    if "vm_state" in changes:
        rows = rows.filter(vm_state__in=vm_sources(VmState(changes["vm_state"])))
    if changes.get("task_state"):
        rows = rows.filter(task_state__in=task_sources(TaskState(changes["task_state"])))
    if "task_state" in changes:
        changes["task_since"] = Now() if changes["task_state"] else None
    with emit_state_changes([instance_id]):
        if not rows.update(generation=F("generation") + 1, updated_at=Now(), **changes):
            _raise_why(instance_id)


_BUILD_TASK = """
UPDATE servers_instance
   SET task_state = %s, task_since = {now}, updated_at = {now}, generation = generation + 1
 WHERE id = %s AND deleted_at IS NULL AND vm_state = %s AND task_state NOT IN (%s, %s)
"""


def build_task_set(instance_id: uuid.UUID, task_state: TaskState) -> None:
    """`state_set` for the next task of a build, which comes several times for each: hence the SQL. Raises Conflict."""
    parameters = [task_state.value, uuid_value(instance_id), VmState.BUILDING.value, *sorted(DELETING_TASKS)]
    with emit_state_changes([instance_id]), connection.cursor() as cursor:
        cursor.execute(_BUILD_TASK.format(now=now_sql()), parameters)
        if not cursor.rowcount:
            _raise_why(instance_id)


_BUILT = """
UPDATE servers_instance
   SET vm_state = %s, task_state = '', task_since = NULL, power_state = %s, addresses = %s, console_socket = %s,
       launched_at = COALESCE(launched_at, {now}), launched_on = host, updated_at = {now},
       generation = generation + 1
 WHERE id = %s AND deleted_at IS NULL AND vm_state = %s AND task_state NOT IN (%s, %s)
"""


def built_set(instance_id: uuid.UUID, guest: GuestFacts) -> None:
    """`state_set` for the end of a build: ACTIVE on its host. Raises Conflict."""
    reported = (guest.power_state.value, json.dumps(guest.addresses), guest.vnc_socket)
    expected = (uuid_value(instance_id), VmState.BUILDING.value, *sorted(DELETING_TASKS))
    with emit_state_changes([instance_id]), connection.cursor() as cursor:
        cursor.execute(_BUILT.format(now=now_sql()), [VmState.ACTIVE.value, *reported, *expected])
        if not cursor.rowcount:
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
    with emit_state_changes([instance_id]):
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
