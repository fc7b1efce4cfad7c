"""Why an action may not begin now: asked by services before they begin it, and for what a caller is offered."""

from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.kernel.texts import phrase as _
from servers.instances.actions.guards import guard_refusal
from servers.instances.actions.record import UNLOCK
from servers.instances.actions.rule import Subject
from servers.instances.actions.table import ACTIONS


def action_refusal(action: str, instance: Subject, caller: Caller) -> str:
    """The reason as a sentence, empty where it may begin. KeyError for an action that is not in the table.

    Whether the caller holds the role that the action needs is the policy's business and not asked here.
    """
    rule = ACTIONS[action]
    if instance.locked_as not in rule.passes_locks and (refused := lock_refusal(instance, caller)):
        return refused
    if rule.is_deletion and instance.protected:
        return _("The instance is protected from deletion; unprotect it first.")
    if rule.needs_host and not instance.host:
        return _("The instance is on no host, so there is nothing to act on.")
    is_launched = instance.launched_at is not None
    task = "" if instance.task_state in rule.waits_behind else instance.task_state
    states = {"vm_state": instance.vm_state, "task_state": task}
    if refused := guard_refusal(rule.guard, **states, is_launched=is_launched):
        return refused
    return rule.refusal(instance) if rule.refusal else ""


def lock_refusal(instance: Subject, caller: Caller) -> str:
    """Why a lock keeps the caller from changing the instance; empty where none does. As in Nova, a lock holds for
    everybody who may not override it, also for who locked it, until it is unlocked.
    """
    if not instance.locked or allows(caller, "instances:unlock:override"):
        return ""
    why = f" ({instance.locked_reason})" if instance.locked_reason else ""
    unlocks = (
        _("unlock it first") if instance.locked_as in UNLOCK.passes_locks else _("only an administrator can unlock it")
    )
    return _(
        "The instance is locked by {locked_by}{why}; {unlocks}.", locked_by=instance.locked_by, why=why, unlocks=unlocks
    )
