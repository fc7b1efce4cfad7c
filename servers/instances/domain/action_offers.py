"""What a caller can do to an instance now, and what not yet and why: asked by its page and by the API."""

from dataclasses import dataclass

from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.kernel.texts import phrase as _
from servers.instances.actions.lifecycle import DELETE, SCHEDULE_AGAIN
from servers.instances.actions.record import RESET_STATE, UPDATE
from servers.instances.actions.refusal import action_refusal
from servers.instances.actions.rule import ActionRule, Subject
from servers.instances.actions.table import ACTIONS
from servers.instances.domain.schedule_again import schedule_again_refusal
from servers.states import TaskState

OFFERED = tuple(
    rule
    for rule in ACTIONS.values()
    if rule.is_verb or rule.is_own_request or rule in (SCHEDULE_AGAIN, UPDATE, RESET_STATE, DELETE)
)
"""What a person asks for, in the order of the table; of the deletions the one that chooses among them."""


@dataclass(frozen=True, slots=True)
class ActionOffer:
    """One action; `refusal` is why it may not begin now, as a sentence, and empty when it may."""

    rule: ActionRule
    refusal: str = ""


def action_offers(instance: Subject, caller: Caller, *, is_pending: bool = False) -> list[ActionOffer]:
    """All that the caller's role lets him do, but for what there is nothing to do for, as to lock what is locked.

    `is_pending`: it has no row yet, only a build request.
    """
    offered = []
    for rule in OFFERED:
        if not allows(caller, rule.policy):
            continue
        refusal = _refusal(rule, instance, caller, is_pending)
        asks = any(one.is_required for one in rule.arguments)
        if refusal or asks or rule.changes is None or rule.changes(instance, caller, {}):
            offered.append(ActionOffer(rule, refusal))
    return offered


def _refusal(rule: ActionRule, instance: Subject, caller: Caller, is_pending: bool) -> str:
    if rule is SCHEDULE_AGAIN:
        return schedule_again_refusal(instance, caller)
    if is_pending and rule is not DELETE:
        return _("The instance waits to be scheduled.")
    if refused := action_refusal(rule.name, instance, caller):
        return refused
    if TaskState(instance.task_state or "") not in rule.task_states | rule.waits_behind:
        return _("The instance is busy with {task_state}.", task_state=instance.task_state)
    return ""
