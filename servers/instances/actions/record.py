"""Rules of the actions that change only the record of an instance: no host has anything to do for them."""

from collections.abc import Mapping
from typing import Any

from controlplane.identity.domain import Caller
from controlplane.kernel.texts import gettext_noop
from servers.instances.actions.rule import ActionGroup, ActionRule, Argument, BulkAction, Subject

OWNER, ADMIN = "owner", "admin"


def _lock(instance: Subject, caller: Caller, arguments: Mapping[str, str]) -> Mapping[str, Any]:
    """As in Nova, a lock stays as it is when its own project locks again; an administrator of another takes it over."""
    is_owner = instance.project_id == caller.own_project_id
    if instance.locked and is_owner:
        return {}
    return {
        "locked": True,
        "locked_as": OWNER if is_owner else ADMIN,
        "locked_by": caller.username,
        "locked_reason": arguments.get("reason", ""),
    }


def _unlock(instance: Subject, _caller: Caller, _arguments: Mapping[str, str]) -> Mapping[str, Any]:
    unlocked = {"locked": False, "locked_as": "", "locked_by": "", "locked_reason": ""}
    return unlocked if instance.locked else {}


LOCK = ActionRule(
    name="lock",
    title=gettext_noop("Lock"),
    doing=gettext_noop("Being locked"),
    help=gettext_noop("Nobody acts on it until it is unlocked."),
    group=ActionGroup.RECORD,
    policy="instances:lock",
    guard="lock",
    notification="lock",
    is_verb=True,
    arguments=(Argument("reason", gettext_noop("Told to whoever is refused.")),),
    changes=_lock,
    passes_locks=frozenset({OWNER, ADMIN}),
    bulk=BulkAction("lock", "Lock the chosen instances"),
)
UNLOCK = ActionRule(
    name="unlock",
    title=gettext_noop("Unlock"),
    doing=gettext_noop("Being unlocked"),
    help=gettext_noop("It can be acted on again."),
    group=ActionGroup.RECORD,
    policy="instances:unlock",
    guard="unlock",
    notification="unlock",
    is_verb=True,
    changes=_unlock,
    passes_locks=frozenset({OWNER}),
    bulk=BulkAction("unlock", "Unlock the chosen instances"),
)

PROTECT = ActionRule(
    name="protect",
    title=gettext_noop("Protect"),
    doing=gettext_noop("Being protected"),
    help=gettext_noop("Nobody deletes it until it is unprotected."),
    group=ActionGroup.RECORD,
    policy="instances:protect",
    guard="protect",
    notification="protect",
    is_verb=True,
    changes=lambda instance, _caller, _arguments: {} if instance.protected else {"protected": True},
    bulk=BulkAction("protect", "Protect the chosen instances from deletion"),
)
UNPROTECT = ActionRule(
    name="unprotect",
    title=gettext_noop("Unprotect"),
    doing=gettext_noop("Being unprotected"),
    help=gettext_noop("It can be deleted again."),
    group=ActionGroup.RECORD,
    policy="instances:protect",
    guard="unprotect",
    notification="unprotect",
    is_verb=True,
    changes=lambda instance, _caller, _arguments: {"protected": False} if instance.protected else {},
    bulk=BulkAction("unprotect", "Unprotect the chosen instances, so that they can be deleted"),
)

UPDATE = ActionRule(
    name="update",
    title=gettext_noop("Edit"),
    doing=gettext_noop("Being changed"),
    help=gettext_noop("Changes its name, description, metadata and tags."),
    group=ActionGroup.RECORD,
    is_main=True,
    policy="instances:update",
    guard="update",
    notification="update",
)

RESET_STATE = ActionRule(
    name="reset_state",
    title=gettext_noop("Reset state"),
    doing=gettext_noop("Being reset"),
    help=gettext_noop("Says what its state is where the record is wrong; its guest is left as it is."),
    group=ActionGroup.REPAIR,
    policy="instances:reset_state",
    guard="reset_state",
)
