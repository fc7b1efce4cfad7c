"""The actions of an instance as its page offers them: a few buttons, the others in a menu, out of the table."""

import hashlib
from dataclasses import dataclass, field
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext

from controlplane.identity.domain import Caller
from controlplane.infra.reader_texts import said
from servers.instances.actions.rule import ActionGroup, ActionRule
from servers.instances.domain.action_offers import ActionOffer, action_offers

PAGES = {
    "update": "instance-edit",
    "delete": "instance-delete",
    "rebuild": "instance-rebuild",
    "rescue": "instance-rescue",
    "reset_state": "instance-reset",
    "schedule_again": "instance-again",
}
"""Actions that are asked for on pages of their own, by the names of their addresses."""


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """One action. `address` is the page that asks more; empty where one press does it."""

    name: str
    title: str
    help: str
    address: str
    is_danger: bool


@dataclass(frozen=True, slots=True)
class ActionMenu:
    """`groups` are headings with their entries, `refused` those of other states with the reason. `digest` differs where
    the menu does, so that one that is open stays as it is while nothing in it changes.
    """

    main: list[MenuEntry] = field(default_factory=list)
    groups: list[tuple[str, list[MenuEntry]]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    digest: str = ""


def action_menu(instance: Any, caller: Caller) -> ActionMenu:
    """Nothing at all for who may do nothing."""
    offers = action_offers(instance, caller, is_pending=instance.is_pending)
    possible = [one for one in offers if not one.refusal]
    main = [_entry(one.rule, instance.pk) for one in possible if one.rule.is_main]
    rest = [one.rule for one in possible if not one.rule.is_main]
    groups = [
        (gettext(group.value), entries)
        for group in ActionGroup
        if (entries := [_entry(rule, instance.pk) for rule in rest if rule.group is group])
    ]
    refused = [(gettext(one.rule.title), said(one.refusal)) for one in offers if one.refusal]
    return ActionMenu(main, groups, refused, _digest(offers))


def _entry(rule: ActionRule, instance_id: object) -> MenuEntry:
    title = gettext(rule.title)
    asks_more = bool(rule.arguments or rule.loss or rule.name in PAGES)
    return MenuEntry(
        name=rule.name,
        title=title if rule.name == "update" or not asks_more else f"{title}…",
        help=gettext(rule.help),
        address=action_address(rule, instance_id) if asks_more else "",
        is_danger=bool(rule.loss or rule.is_deletion),
    )


def action_address(rule: ActionRule, instance_id: object) -> str:
    """The page on which an action is asked for."""
    if rule.name in PAGES:
        return reverse(PAGES[rule.name], kwargs={"instance_id": instance_id})
    return reverse("instance-act-form", kwargs={"instance_id": instance_id, "action": rule.name})


def _digest(offers: list[ActionOffer]) -> str:
    return hashlib.sha256(repr([(one.rule.name, one.refusal) for one in offers]).encode()).hexdigest()[:12]
