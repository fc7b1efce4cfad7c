"""Why an action may not begin now: asked by services before they begin it, and by pages for what they offer."""

from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from servers.instances.actions.guards import guard_refusal
from servers.instances.actions.rule import ActionRule, Subject
from servers.instances.actions.table import ACTIONS, UNLOCK, VERBS


def action_refusal(action: str, instance: Subject, caller: Caller) -> str:
    """The reason as a sentence, empty where it may begin. KeyError for an action that is not in the table.

    Whether the caller holds the role that the action needs is the policy's business and not asked here.
    """
    rule = ACTIONS[action]
    if refused := _lock_refusal(rule, instance, caller):
        return refused
    if rule.is_deletion and instance.protected:
        return "The instance is protected from deletion; unprotect it first."
    if rule.needs_host and not instance.host:
        return "The instance is on no host, so there is nothing to act on."
    is_launched = instance.launched_at is not None
    return guard_refusal(
        rule.guard, vm_state=instance.vm_state, task_state=instance.task_state, is_launched=is_launched
    )


def verbs_allowed(instance: Subject, caller: Caller) -> list[ActionRule]:
    """What a page offers the caller as buttons."""
    return [
        rule
        for rule in VERBS.values()
        if instance.task_state in rule.task_states
        and allows(caller, rule.policy)
        and not action_refusal(rule.name, instance, caller)
        and (rule.changes is None or rule.changes(instance, caller, {}))
    ]


def _lock_refusal(rule: ActionRule, instance: Subject, caller: Caller) -> str:
    """As in Nova, a lock holds for everybody who may not override it, also for who locked it, until it is unlocked."""
    if not instance.locked or instance.locked_as in rule.passes_locks or allows(caller, "instances:unlock:override"):
        return ""
    why = f" ({instance.locked_reason})" if instance.locked_reason else ""
    unlocks = "unlock it first" if instance.locked_as in UNLOCK.passes_locks else "only an administrator can unlock it"
    return f"The instance is locked by {instance.locked_by}{why}; {unlocks}."
