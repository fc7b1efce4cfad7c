"""Why an action may not begin now: asked by services before they begin it, and by pages for what they offer."""

from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from servers.instances.actions.guards import refusal
from servers.instances.actions.table import ACTIONS, VERBS, ActionRule, Subject


def action_refusal(action: str, instance: Subject, caller: Caller) -> str:
    """The reason as a sentence, empty where it may begin. KeyError for an action that is not in the table.

    Whether the caller holds the role that the action needs is the policy's business and not asked here.
    """
    rule = ACTIONS[action]
    if rule.needs_host and not instance.host:
        return "The instance is on no host, so there is nothing to act on."
    is_launched = instance.launched_at is not None
    return refusal(rule.guard, vm_state=instance.vm_state, task_state=instance.task_state, is_launched=is_launched)


def verbs_allowed(instance: Subject, caller: Caller) -> list[ActionRule]:
    """What a page offers the caller as buttons."""
    return [
        rule
        for rule in VERBS.values()
        if instance.task_state in rule.task_states
        and allows(caller, rule.policy)
        and not action_refusal(rule.name, instance, caller)
    ]
