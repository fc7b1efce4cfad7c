"""What pages say after an action was asked for: where its work is, and the button that takes it back."""

import uuid
from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from controlplane.dashboard.toasts import ToastLink, Undo, toast
from controlplane.identity.domain import Caller
from controlplane.identity.policy import allows
from controlplane.infra.reader_texts import refusal_text
from controlplane.kernel.errors import Conflict, KilonovaError
from servers.instances.actions.lifecycle import RESTORE, SCHEDULE_AGAIN
from servers.instances.actions.opposites import OPPOSITES
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.table import AT_ONCE, VERBS


def action_toast(request: HttpRequest, caller: Caller, instance: Any, rule: ActionRule) -> None:
    """One that was begun, or is done already."""
    is_done = rule.name in AT_ONCE or (rule.work is None and rule is not SCHEDULE_AGAIN)
    text = _("%(action)s: done for %(name)s.") if is_done else _("%(action)s: asked for %(name)s.")
    text %= {"action": _(rule.title), "name": instance.name}
    links = [] if is_done else work_links(caller, instance.pk)
    toast(request, text, links=links, undo=_opposite(caller, instance.pk, OPPOSITES.get(rule.name)))


def deletion_toast(request: HttpRequest, caller: Caller, instance: Any, *, can_be_restored: bool) -> None:
    """One that is being deleted."""
    undo = _opposite(caller, instance.pk, RESTORE) if can_be_restored else None
    text = _("%(name)s is being deleted.") % {"name": instance.name}
    toast(request, text, links=work_links(caller, instance.pk), undo=undo)


def refused_toast(request: HttpRequest, instance_id: uuid.UUID, action: str, error: KilonovaError) -> None:
    """Why it may not be; where only the moment is wrong, the button once more."""
    can_wait = isinstance(error, Conflict) and action in VERBS and not VERBS[action].arguments
    again = _button(instance_id, VERBS[action], _("Try again")) if can_wait else None
    toast(request, refusal_text(error), undo=again, tone="bad")


def work_links(caller: Caller, instance_id: uuid.UUID) -> Sequence[ToastLink]:
    """The work itself for who sees it, else the journey."""
    if allows(caller, "work:read"):
        return [ToastLink(_("Its work"), f"{reverse('work')}?state=&q={instance_id}")]
    return [ToastLink(_("Its journey"), reverse("instance", kwargs={"instance_id": instance_id}) + "#journey")]


def batch_links(made: Sequence[Any]) -> Sequence[ToastLink]:
    """All that one request asked for, where it is more than the one whose page is shown."""
    if len(made) == 1:
        return []
    path = f"{reverse('instances')}?q={made[0].request_id}"
    return [ToastLink(_("Only these"), path)] if made[0].request_id else []


def _opposite(caller: Caller, instance_id: uuid.UUID, rule: ActionRule | None) -> Undo | None:
    if rule is None or not allows(caller, rule.policy):
        return None
    return _button(instance_id, rule, _("Undo: %(action)s") % {"action": _(rule.title).lower()})


def _button(instance_id: uuid.UUID, rule: ActionRule, title: str) -> Undo:
    return Undo(reverse("instance-act", kwargs={"instance_id": instance_id}), "action", rule.name, title)
