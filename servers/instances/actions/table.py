"""The table of instance actions. A row says all that other modules have to know of an action; nobody repeats it."""

from collections.abc import Mapping
from typing import Any

from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from servers.instances.actions.guards import NO_TASK
from servers.instances.actions.rule import ActionRule, Argument, BulkAction, Step, Subject
from servers.states import TaskState, VmState

_T, _V = TaskState, VmState

_POWER_DEADLINE_S = 900.0
_SAVE_DEADLINE_S = 3600.0  # the memory of a large guest goes to a disk, or comes from it

CREATE = ActionRule(
    name="create",
    title="Create",
    doing="Building",
    policy="instances:create",
    guard="create",
    work=WorkKind.BUILD,
    task=_T.SCHEDULING,
    steps=(
        Step("claim", "Claim on the host"),
        Step("group_check", "Group rule"),
        Step("networking", "Network", _T.NETWORKING),
        Step("block_device_mapping", "Image and disks", _T.BLOCK_DEVICE_MAPPING),
        Step("spawning", "Start the guest", _T.SPAWNING),
    ),
    vm_state_after=_V.ACTIVE,
    notification="create",
)
SCHEDULE_AGAIN = ActionRule(
    name="schedule_again",
    title="Schedule again",
    doing="Being scheduled again",
    policy="instances:act",
    guard="schedule_again",
    vm_state_after=_V.BUILDING,
)
DELETE = ActionRule(
    name="delete",
    title="Delete",
    doing="Being deleted",
    policy="instances:delete",
    is_deletion=True,
    guard="delete",
    work=WorkKind.DELETE,
    task=_T.DELETING,
    vm_state_after=_V.DELETED,
    power_state_wanted=PowerState.SHUTDOWN,
    notification="delete",
    deadline_s=86400.0,
    bulk=BulkAction(
        "delete_instances",
        "Delete the chosen instances and their disks",
        "These instances and their disks are deleted: for good, unless RECLAIM_INSTANCE_INTERVAL_S is set; then they "
        "can be restored for so long.",
    ),
)
FORCE_DELETE = ActionRule(
    name="force_delete",
    title="Delete for good",
    doing="Being deleted",
    policy="instances:delete",
    is_deletion=True,
    guard="force_delete",
    bulk=BulkAction(
        "force_delete_instances",
        "Delete the chosen instances and their disks for good, at once",
        "These instances and their disks are deleted for good, also where they could be restored.",
    ),
)
SOFT_DELETE = ActionRule(
    name="soft_delete",
    title="Delete",
    doing="Being deleted",
    policy="instances:delete",
    is_deletion=True,
    guard="soft_delete",
    work=WorkKind.SOFT_DELETE,
    task=_T.SOFT_DELETING,
    vm_state_after=_V.SOFT_DELETE,
    power_state_wanted=PowerState.SHUTDOWN,
    notification="soft_delete",
    deadline_s=_POWER_DEADLINE_S,
)
RESTORE = ActionRule(
    name="restore",
    title="Restore",
    doing="Being restored",
    policy="instances:act",
    guard="restore",
    work=WorkKind.RESTORE,
    task=_T.RESTORING,
    vm_state_after=_V.ACTIVE,
    notification="restore",
    deadline_s=_POWER_DEADLINE_S,
    is_verb=True,
    takes_quota=True,
    bulk=BulkAction("restore", "Restore the chosen instances"),
)
START = ActionRule(
    name="start",
    title="Start",
    doing="Starting",
    policy="instances:act",
    guard="start",
    work=WorkKind.START,
    task=_T.POWERING_ON,
    vm_state_after=_V.ACTIVE,
    notification="power_on",
    deadline_s=_POWER_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction("start", "Start the chosen instances"),
)
STOP = ActionRule(
    name="stop",
    title="Stop",
    doing="Stopping",
    policy="instances:act",
    guard="stop",
    work=WorkKind.STOP,
    task=_T.POWERING_OFF,
    vm_state_after=_V.STOPPED,
    power_state_wanted=PowerState.SHUTDOWN,
    notification="power_off",
    deadline_s=_POWER_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction(
        "stop",
        "Stop the chosen instances",
        "These instances are shut down; whoever uses them loses them until they are started again.",
    ),
)
REBOOT_SOFT = ActionRule(
    name="reboot_soft",
    title="Soft reboot",
    doing="Rebooting",
    policy="instances:act",
    guard="reboot_soft",
    work=WorkKind.REBOOT_SOFT,
    task=_T.REBOOTING,
    later_tasks=(_T.REBOOT_PENDING, _T.REBOOT_STARTED),
    vm_state_after=_V.ACTIVE,
    notification="reboot",
    deadline_s=_POWER_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction(
        "reboot_soft",
        "Soft reboot of the chosen instances",
        "These instances are asked to shut down, and are started again; whatever runs in them is interrupted.",
    ),
)
REBOOT = ActionRule(
    name="reboot",
    title="Hard reboot",
    doing="Rebooting",
    policy="instances:act",
    guard="reboot_hard",
    # Nova lets a hard reboot replace other tasks; here one piece of work per instance runs at a time.
    only_during=NO_TASK,
    work=WorkKind.REBOOT,
    task=_T.REBOOTING_HARD,
    later_tasks=(_T.REBOOT_PENDING_HARD, _T.REBOOT_STARTED_HARD),
    vm_state_after=_V.ACTIVE,
    notification="reboot",
    deadline_s=_POWER_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction(
        "reboot",
        "Reboot the chosen instances",
        "These instances are rebooted; whatever runs in them is interrupted.",
    ),
)

PAUSE = ActionRule(
    name="pause",
    title="Pause",
    doing="Pausing",
    policy="instances:act",
    guard="pause",
    work=WorkKind.PAUSE,
    task=_T.PAUSING,
    vm_state_after=_V.PAUSED,
    power_state_wanted=PowerState.PAUSED,
    notification="pause",
    deadline_s=_POWER_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction(
        "pause",
        "Pause the chosen instances",
        "These instances stand still, and keep their memory, until they are unpaused.",
    ),
)
UNPAUSE = ActionRule(
    name="unpause",
    title="Unpause",
    doing="Unpausing",
    policy="instances:act",
    guard="unpause",
    work=WorkKind.UNPAUSE,
    task=_T.UNPAUSING,
    vm_state_after=_V.ACTIVE,
    notification="unpause",
    deadline_s=_POWER_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction("unpause", "Unpause the chosen instances"),
)
SUSPEND = ActionRule(
    name="suspend",
    title="Suspend",
    doing="Suspending",
    policy="instances:act",
    guard="suspend",
    work=WorkKind.SUSPEND,
    task=_T.SUSPENDING,
    vm_state_after=_V.SUSPENDED,
    power_state_wanted=PowerState.SHUTDOWN,
    notification="suspend",
    deadline_s=_SAVE_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction(
        "suspend",
        "Suspend the chosen instances",
        "The memory of these instances is saved on their hosts, and they are off until they are resumed.",
    ),
)
RESUME = ActionRule(
    name="resume",
    title="Resume",
    doing="Resuming",
    policy="instances:act",
    guard="resume",
    work=WorkKind.RESUME,
    task=_T.RESUMING,
    vm_state_after=_V.ACTIVE,
    notification="resume",
    deadline_s=_SAVE_DEADLINE_S,
    is_verb=True,
    bulk=BulkAction("resume", "Resume the chosen instances"),
)

OWNER, ADMIN = "owner", "admin"


def _lock(instance: Subject, caller: Caller, arguments: Mapping[str, str]) -> Mapping[str, Any]:
    """As in Nova, a lock stays as it is when its own project locks again; an administrator of another takes it over."""
    is_owner = instance.project_id == caller.project_id
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
    title="Lock",
    doing="Being locked",
    policy="instances:lock",
    guard="lock",
    notification="lock",
    is_verb=True,
    arguments=(Argument("reason", "Told to whoever is refused."),),
    changes=_lock,
    passes_locks=frozenset({OWNER, ADMIN}),
    bulk=BulkAction("lock", "Lock the chosen instances"),
)
UNLOCK = ActionRule(
    name="unlock",
    title="Unlock",
    doing="Being unlocked",
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
    title="Protect",
    doing="Being protected",
    policy="instances:protect",
    guard="protect",
    notification="protect",
    is_verb=True,
    changes=lambda instance, _caller, _arguments: {} if instance.protected else {"protected": True},
    bulk=BulkAction("protect", "Protect the chosen instances from deletion"),
)
UNPROTECT = ActionRule(
    name="unprotect",
    title="Unprotect",
    doing="Being unprotected",
    policy="instances:protect",
    guard="unprotect",
    notification="unprotect",
    is_verb=True,
    changes=lambda instance, _caller, _arguments: {"protected": False} if instance.protected else {},
    bulk=BulkAction("unprotect", "Unprotect the chosen instances, so that they can be deleted"),
)

UPDATE = ActionRule(
    name="update",
    title="Edit",
    doing="Being changed",
    policy="instances:update",
    guard="update",
    notification="update",
)

RESET_STATE = ActionRule(
    name="reset_state",
    title="Reset state",
    doing="Being reset",
    policy="instances:reset_state",
    guard="reset_state",
)

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

HOST_ACTIONS: dict[str, ActionRule] = {
    kind: rule for kind, rule in ACTION_OF_WORK.items() if rule not in (CREATE, DELETE)
}
"""Of these, those that `servers.instances.services.act` ends; a build and a deletion end by services of their own."""
