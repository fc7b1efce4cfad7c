"""The table of instance actions. A row says all that other modules have to know of an action; nobody repeats it.

The rows stand by subject in the modules beside this one.
"""

from servers.instances.actions.crash import CRASH_SEEN, ON_CRASH, TRIGGER_CRASH_DUMP
from servers.instances.actions.images import BACKUP, SHELVE, SHELVE_OFFLOAD, SNAPSHOT, UNSHELVE
from servers.instances.actions.interfaces import ATTACH_INTERFACE, DETACH_INTERFACE
from servers.instances.actions.lifecycle import CREATE, DELETE, FORCE_DELETE, RESTORE, SCHEDULE_AGAIN, SOFT_DELETE
from servers.instances.actions.power import PAUSE, REBOOT, REBOOT_SOFT, RESUME, START, STOP, SUSPEND, UNPAUSE
from servers.instances.actions.record import LOCK, PROTECT, RESET_STATE, UNLOCK, UNPROTECT, UPDATE
from servers.instances.actions.rescue import CHANGE_PASSWORD, REBUILD, RESCUE, UNRESCUE
from servers.instances.actions.rule import ActionRule
from servers.instances.actions.volumes import ATTACH_VOLUME, DETACH_VOLUME
from servers.instances.actions.watching import SCREENSHOT
from servers.states import TaskState

ACTIONS: dict[str, ActionRule] = {
    rule.name: rule
    for rule in (
        CREATE,
        SCHEDULE_AGAIN,
        START,
        STOP,
        REBOOT_SOFT,
        REBOOT,
        PAUSE,
        UNPAUSE,
        SUSPEND,
        RESUME,
        RESTORE,
        RESCUE,
        UNRESCUE,
        REBUILD,
        CHANGE_PASSWORD,
        TRIGGER_CRASH_DUMP,
        SCREENSHOT,
        ON_CRASH,
        CRASH_SEEN,
        ATTACH_INTERFACE,
        DETACH_INTERFACE,
        ATTACH_VOLUME,
        DETACH_VOLUME,
        SNAPSHOT,
        BACKUP,
        SHELVE,
        SHELVE_OFFLOAD,
        UNSHELVE,
        LOCK,
        UNLOCK,
        PROTECT,
        UNPROTECT,
        UPDATE,
        RESET_STATE,
        SOFT_DELETE,
        DELETE,
        FORCE_DELETE,
    )
}
"""All of them by name, in the order in which buttons and menus show them."""

VERBS: dict[str, ActionRule] = {name: rule for name, rule in ACTIONS.items() if rule.is_verb}
"""Those that are asked for by name."""

AT_ONCE = frozenset(name for name, rule in ACTIONS.items() if rule.changes is not None or rule is UPDATE)
"""Those that are done when they are asked for, whatever else is under way."""

ACTION_OF_WORK: dict[str, ActionRule] = {rule.work: rule for rule in ACTIONS.values() if rule.work is not None}
"""By the kind of work that a host's agent does for it."""

WORK_WITHOUT_TASK = frozenset(kind for kind, rule in ACTION_OF_WORK.items() if rule.task is TaskState.NONE)
"""Kinds of work that leave the guest as it is, or as they find it: it is not theirs to bring it back."""

HOST_ACTIONS: dict[str, ActionRule] = {
    kind: rule for kind, rule in ACTION_OF_WORK.items() if rule not in (CREATE, DELETE, SCREENSHOT)
}
"""Of these, those that `servers.instances.services.act` ends; others end by services of their own."""
