"""What follows when a guest crashed or hangs: it is started again, if its policy says so and not too often, or stays as
it is.

Invariant: called in the transaction that holds the instance's lock, so one crash is one entry and at most one start.
"""

import logging
from itertools import pairwise

from computeagent.protocol.power import StateReason
from controlplane.infra.db import now_plus
from controlplane.kernel.texts import phrase as _
from servers.conf import server_options
from servers.instances.actions.crash_policy import CrashOutcome, crash_outcome
from servers.instances.actions.power import REBOOT, START
from servers.instances.actions.table import ACTIONS
from servers.instances.domain.state_reasons import CRASH, STOOD_STILL, reason_sentence
from servers.instances.services.host_action import host_action_begin
from servers.instances.services.incidents import incident_record
from servers.instances.services.journal import action_close, action_open, fault_record
from servers.instances.services.state import state_set
from servers.models import Instance, InstanceAction
from servers.states import TaskState, VmState

log = logging.getLogger(__name__)


def crash_handle(instance: Instance) -> CrashOutcome:
    """Write down the crash as entry and fault, and act on it. Raises Conflict when the instance changed meanwhile."""
    outcome, lately = _outcome(instance)
    message = f"{_what(instance)} {_then(outcome, lately)}"
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


def hang_handle(instance: Instance) -> CrashOutcome:
    """Write down that the guest of this active instance hangs, and act on it: it is rebooted hard, or stands still.
    Raises Conflict when the instance changed meanwhile.
    """
    outcome, lately = _outcome(instance)
    message = f"{reason_sentence(instance)} {_then_of_hang(outcome, lately)}"
    log.warning("instance %s on %s: %s", instance.pk, instance.host, message)
    incident_record(instance, STOOD_STILL, message)
    if outcome is CrashOutcome.RESTART:
        host_action_begin(instance, REBOOT, user_id=None, vm_in={VmState.ACTIVE}, task_in={TaskState.NONE})
    return outcome


def hang_is_recorded(instance: Instance) -> bool:
    """Whether its journey says that it stands still, and of no action since that would have let it run."""
    rows = InstanceAction.objects.filter(instance_uuid=instance.pk, action__in=[STOOD_STILL, *_LET_RUN])
    return rows.order_by("-id").values_list("action", flat=True).first() == STOOD_STILL


_LET_RUN = tuple(name for name, rule in ACTIONS.items() if rule.vm_state_after is VmState.ACTIVE)
_RESTARTS = {(CRASH, START.name), (STOOD_STILL, REBOOT.name)}
"""What the journey has of a guest that was started again: what it did, and right after it what nobody asked for."""


def _outcome(instance: Instance) -> tuple[CrashOutcome, int]:
    """What is done about it, and how often its guest was started again lately."""
    options = server_options()
    rows = InstanceAction.objects.filter(
        instance_uuid=instance.pk, started_at__gt=now_plus(-options.guest_restart_interval_s)
    )
    entries = rows.order_by("id").values_list("action", "user_id")
    lately = sum((did, then) in _RESTARTS and user_id is None for (did, _whose), (then, user_id) in pairwise(entries))
    policy = instance.on_crash or options.guest_on_crash
    return crash_outcome(policy, restarts=lately, limit=options.guest_restarts), lately


def _what(instance: Instance) -> str:
    if instance.power_reason == StateReason.PANICKED:
        return _("The system inside crashed.")
    return _("The guest crashed: it ended by itself on its host.")


def _within() -> str:
    return _("{interval_s:g} min", interval_s=server_options().guest_restart_interval_s / 60)


def _then(outcome: CrashOutcome, lately: int) -> str:
    if outcome is CrashOutcome.RESTART:
        return _(
            "It is started again, for the {lately}. of at most {limit} times within {within}.",
            lately=lately + 1,
            limit=server_options().guest_restarts,
            within=_within(),
        )
    if outcome is CrashOutcome.GIVE_UP:
        return _(
            "It was started again {lately} times within {within}, and is not any more: the instance is stopped.",
            lately=lately,
            within=_within(),
        )
    return _("The instance is stopped since.")


def _then_of_hang(outcome: CrashOutcome, lately: int) -> str:
    if outcome is CrashOutcome.RESTART:
        return _(
            "It is rebooted hard, for the {lately}. of at most {limit} times within {within}.",
            lately=lately + 1,
            limit=server_options().guest_restarts,
            within=_within(),
        )
    if outcome is CrashOutcome.GIVE_UP:
        return _(
            "It was started again {lately} times within {within}, and is not any more: somebody has to reboot it hard.",
            lately=lately,
            within=_within(),
        )
    return _("Somebody has to reboot it hard.")
