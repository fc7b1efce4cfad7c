"""Whose turn it is when a change of an instance's devices ended: see `device_requests`, which has them wait."""

import logging
import uuid
from collections.abc import Callable, Mapping

from django.db import transaction

from controlplane.infra.request_id import request_id_scope
from controlplane.kernel.errors import Conflict, NotFound
from controlplane.work.work import open_work_of
from servers.instances.actions.interfaces import ATTACH_INTERFACE
from servers.instances.actions.table import ACTIONS
from servers.instances.actions.volumes import ATTACH_VOLUME, DETACH_VOLUME
from servers.instances.services import volumes
from servers.instances.services.host_action import host_action_begin
from servers.instances.services.interfaces import attach_given_up
from servers.instances.services.journal import action_close, action_open
from servers.models import Instance, WaitingAction

log = logging.getLogger(__name__)
SOME_WAIT = "EXISTS (SELECT 1 FROM servers_waitingaction)"
"""While this does not hold, `device_turns_round` has nothing to do."""
BATCH = 200

GIVEN_UP: Mapping[str, Callable[[Instance, Mapping[str, str], str], None]] = {
    ATTACH_INTERFACE.name: attach_given_up,
    ATTACH_VOLUME.name: volumes.attach_given_up,
    DETACH_VOLUME.name: volumes.detach_given_up,
}
"""What becomes of the port or volume of an action that never begins, told why."""


def device_turn_next(instance_id: uuid.UUID) -> None:
    """Begin the oldest that waits, in the transaction in which the one before it ended. One that may not begin any more
    ends with the reason, and gives back what it took.
    """
    while (waiting := WaitingAction.objects.filter(instance_uuid=instance_id).order_by("pk").first()) is not None:
        instance = Instance.objects.select_for_update().filter(pk=instance_id, deleted_at__isnull=True).first()
        waiting.delete()
        if instance is not None and _is_begun(waiting, instance):
            return


def _is_begun(waiting: WaitingAction, instance: Instance) -> bool:
    rule = ACTIONS[waiting.action]
    vm_in, task_in = rule.vm_states, rule.task_states
    user, arguments = waiting.user_id, waiting.arguments
    with request_id_scope(waiting.request_id):
        try:
            with transaction.atomic():
                host_action_begin(instance, rule, user_id=user, vm_in=vm_in, task_in=task_in, arguments=arguments)
        except (Conflict, NotFound) as error:
            _give_up(waiting, instance, f"It was not begun: {error.message}")
            return False
    return True


def device_turns_cancel(instance: Instance, *, reason: str) -> None:
    """None of those that wait begins: something stronger took over. In the caller's transaction and lock."""
    for waiting in WaitingAction.objects.filter(instance_uuid=instance.pk).order_by("pk"):
        waiting.delete()
        _give_up(waiting, instance, reason)


def _give_up(waiting: WaitingAction, instance: Instance, reason: str) -> None:
    action, project = waiting.action, instance.project_id
    if (give_up := GIVEN_UP.get(action)) is not None:
        give_up(instance, waiting.arguments, reason)
    with request_id_scope(waiting.request_id):
        action_open(instance_id=instance.pk, action=action, user_id=waiting.user_id, project_id=project, work=None)
        action_close(instance_id=instance.pk, actions=(action,), result="error", message=reason)


def device_turns_round() -> int:
    """Begin what waits for nothing: the task before it ended without its work, as a healed one does. Returns of how
    many instances; a second run finds none of them.
    """
    ids = WaitingAction.objects.order_by().values_list("instance_uuid", flat=True).distinct()
    return sum(_overlooked(one) for one in ids[:BATCH])


def _overlooked(instance_id: uuid.UUID) -> bool:
    try:
        with transaction.atomic():
            row = Instance.objects.select_for_update().filter(pk=instance_id).first()
            if row is None or row.deleted_at is not None:
                WaitingAction.objects.filter(instance_uuid=instance_id).delete()
                return True
            if row.task_state or open_work_of(subject=instance_id) is not None:
                return False
            device_turn_next(instance_id)
    except Exception:
        log.exception("what waits for the devices of instance %s was not begun", instance_id)
        return False
    return True
