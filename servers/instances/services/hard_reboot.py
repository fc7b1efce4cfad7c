"""A hard reboot takes the place of what is under way with a guest's power, as in Nova: it is the way out where that
hangs. Everything else that runs for the instance has to end first.
"""

from collections.abc import Mapping

from controlplane.identity.domain import Caller
from controlplane.kernel.texts import phrase as _
from controlplane.work.work import work_cancel, work_lock
from servers.instances.actions.power import REBOOT
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.table import HOST_ACTIONS
from servers.instances.services.host_action import host_action_begin, row_locked
from servers.instances.services.journal import action_close, steps_cut
from servers.instances.services.notifications import Phase, emit_action
from servers.models import Instance
from servers.states import TaskState, VmState

SUPERSEDED = tuple(rule for rule in HOST_ACTIONS.values() if rule.task and rule.task in REBOOT.task_states)
"""Actions that a hard reboot takes the place of: soft and hard reboots, pause, unpause, suspend and resume."""
WORDS = _("A hard reboot took its place.")


def reboot_begin(instance: Instance, rule: ActionRule, caller: Caller, arguments: Mapping[str, str]) -> None:
    """Write its work, in the transaction that cancels the work of what it takes the place of.

    Whoever does that is fenced off, so it cannot end the instance's task any more. Its host begins the reboot when the
    verb that it was in has returned. Raises Conflict.
    """
    work_lock(subject=instance.pk)
    row = row_locked(instance, rule, caller)
    if row.task_state != TaskState.NONE:
        _others_end(row)
    host_action_begin(
        row,
        rule,
        user_id=caller.user_id,
        vm_in={VmState(row.vm_state)},
        task_in={TaskState(row.task_state)},
        arguments=arguments,
    )


def _others_end(row: Instance) -> None:
    """What is under way ends as cancelled. Its task is the reboot's to replace."""
    work_cancel(subject=row.pk, kinds=tuple(rule.name for rule in SUPERSEDED))
    for rule in SUPERSEDED:
        if row.task_state in rule.tasks:
            emit_action(rule, Phase.ERROR, row.pk, problem=WORDS, step=row.task_state)
    action_close(instance_id=row.pk, actions=tuple(rule.name for rule in SUPERSEDED), result="cancelled", message=WORDS)
    steps_cut(instance_id=row.pk, error=WORDS)
