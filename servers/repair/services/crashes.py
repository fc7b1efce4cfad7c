"""What follows when a guest crashed: it is started again, if its policy says so and not too often, or stays off.

Invariant: called in the transaction that holds the instance's lock, so one crash is one entry and at most one start.
"""

import logging

from computeagent.protocol.power import StateReason
from controlplane.infra.db import now_plus
from controlplane.kernel.texts import phrase as _
from servers.conf import server_options
from servers.instances.actions.crash_policy import CrashOutcome, crash_outcome
from servers.instances.actions.power import START
from servers.instances.domain.state_reasons import CRASH
from servers.instances.services.host_action import host_action_begin
from servers.instances.services.journal import action_close, action_open, fault_record
from servers.instances.services.state import state_set
from servers.models import Instance, InstanceAction
from servers.states import TaskState, VmState

log = logging.getLogger(__name__)


def crash_handle(instance: Instance) -> CrashOutcome:
    """Write down the crash as entry and fault, and act on it. Raises Conflict when the instance changed meanwhile."""
    options = server_options()
    interval_s, limit = options.guest_restart_interval_s, options.guest_restarts
    lately = InstanceAction.objects.filter(
        instance_uuid=instance.pk, action=CRASH, started_at__gt=now_plus(-interval_s)
    ).count()
    outcome = crash_outcome(instance.on_crash or options.guest_on_crash, restarts=lately, limit=limit)
    message = f"{_what(instance)} {_then(outcome, lately, limit, interval_s)}"
    log.warning("instance %s on %s: %s", instance.pk, instance.host, message)
    Instance.objects.filter(pk=instance.pk).update(crash_is_seen=False)
    action_open(instance_id=instance.pk, action=CRASH, user_id=None, project_id=instance.project_id, work=None)
    action_close(instance_id=instance.pk, actions=(CRASH,), result="error", message=message)
    details = f"On {instance.host}: {instance.power_details}" if instance.power_details else f"On {instance.host}."
    fault_record(instance_id=instance.pk, message=message, step=CRASH, host=instance.host, details=details)
    vm_in, task_in = {VmState(instance.vm_state)}, {TaskState.NONE}
    if outcome is CrashOutcome.RESTART:
        host_action_begin(instance, START, user_id=None, vm_in=vm_in, task_in=task_in)
    else:
        state_set(instance.pk, vm_in=vm_in, task_in=task_in, vm_state=VmState.STOPPED)
    return outcome


def _what(instance: Instance) -> str:
    if instance.power_reason == StateReason.PANICKED:
        return _("The system inside crashed.")
    return _("The guest crashed: it ended by itself on its host.")


def _then(outcome: CrashOutcome, lately: int, limit: int, interval_s: float) -> str:
    within = _("{interval_s:g} min", interval_s=interval_s / 60)
    if outcome is CrashOutcome.RESTART:
        return _(
            "It is started again, for the {lately}. of at most {limit} times within {within}.",
            lately=lately + 1,
            limit=limit,
            within=within,
        )
    if outcome is CrashOutcome.GIVE_UP:
        return _(
            "It was started again {lately} times within {within}, and is not any more: the instance is stopped.",
            lately=lately,
            within=within,
        )
    return _("The instance is stopped since.")
