"""Rescues that last too long are ended (Nova's `rescue_timeout`)."""

import logging

from django.db import transaction

from controlplane.infra.db import now_plus
from controlplane.kernel.errors import KilonovaError
from servers.conf import server_options
from servers.instances.actions.rescue import UNRESCUE
from servers.instances.services.host_action import host_action_begin
from servers.instances.services.state import NOW, state_set
from servers.models import Instance
from servers.states import TaskState, VmState

log = logging.getLogger(__name__)
MAX_IN_A_ROUND = 100


def rescues_end() -> int:
    """Begin the `unrescue` of what has been rescued for RESCUE_TIMEOUT_S (0: nothing), the longest first. Returns how
    many.

    As in Nova a lock does not keep it, since nobody else does it. One that cannot be ended, such as on a host that was
    removed, is tried again in the next round.
    """
    timeout_s, begun = server_options().rescue_timeout_s, 0
    if timeout_s <= 0:
        return 0
    rows = Instance.objects.filter(vm_state=VmState.RESCUED, task_state=TaskState.NONE, deleted_at__isnull=True)
    due = rows.filter(rescued_at__lt=now_plus(-timeout_s)).exclude(host="")
    for instance in due.order_by("rescued_at")[:MAX_IN_A_ROUND]:
        try:
            with transaction.atomic():
                host_action_begin(
                    instance, UNRESCUE, user_id=None, vm_in={VmState.RESCUED}, task_in=UNRESCUE.task_states
                )
        except KilonovaError as error:
            log.info("the rescue of instance %s is not ended now: %s", instance.pk, error.message)
            continue
        begun += 1
        log.info("instance %s: its rescue is ended after %.0f s", instance.pk, timeout_s)
    return begun


def unrescue_failed(instance: Instance, _is_overdue: bool) -> None:
    """It is rescued as before, and its time begins anew: what fails is not tried again in each round."""
    if instance.vm_state == VmState.RESCUED:
        state_set(instance.pk, vm_in={VmState.RESCUED}, rescued_at=NOW)
