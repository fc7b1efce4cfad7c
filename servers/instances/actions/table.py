"""The table of instance actions. A row says all that other modules have to know of an action; nobody repeats it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from servers.instances.actions.guards import ANY_TASK, GUARDS, NO_TASK
from servers.states import TaskState, VmState

_T, _V = TaskState, VmState


class Subject(Protocol):
    """What the table reads of an instance, or of the build request that is not an instance yet."""

    @property
    def vm_state(self) -> str: ...
    @property
    def task_state(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def launched_at(self) -> datetime | None: ...
    @property
    def project_id(self) -> UUID: ...
    @property
    def locked(self) -> bool: ...
    @property
    def locked_as(self) -> str: ...
    @property
    def locked_by(self) -> str: ...
    @property
    def locked_reason(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One step as the host's agent reports it. `task`: what the instance is busy with from then on, if that changes."""

    name: str
    title: str
    task: TaskState | None = None


@dataclass(frozen=True, slots=True)
class Argument:
    """Text that may come with an action; empty where it does not."""

    name: str
    help: str
    max_length: int = 255


@dataclass(frozen=True, slots=True)
class BulkAction:
    """The action for chosen rows in the Django admin. `question` is asked first, of what cannot be undone."""

    name: str
    description: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class ActionRule:
    """One action.

    `title` is for buttons and journeys, `doing` while it is under way. `policy`: the action of the policy that a
    caller needs. `guard`: the row of `GUARDS`; `only_during` leaves fewer tasks than that for it to replace. `work`:
    what the host's agent is asked to do, within `deadline_s` seconds (0: by a setting). `task` begins with it, and
    `later_tasks` are those that Nova has for its later stages; `steps` are those of its agent. `vm_state_after` and
    `power_state_wanted` are what there is when it went well. `notification`: Nova's verb in the names of its events.
    `is_verb`: it is asked for by its name in `POST /api/instances/<id>/actions/`, and by a button of that name, with
    the `arguments` that it takes; they go to the agent with the work. A verb without work is done at once: `changes`
    says which columns of the instance get which values (none: there is nothing to do). `passes_locks`: it is not
    refused for an instance that was locked so (`Instance.locked_as`).
    """

    name: str
    title: str
    doing: str
    policy: str
    guard: str
    work: WorkKind | None = None
    task: TaskState = TaskState.NONE
    later_tasks: tuple[TaskState, ...] = ()
    steps: tuple[Step, ...] = ()
    only_during: frozenset[TaskState] = ANY_TASK
    vm_state_after: VmState | None = None
    power_state_wanted: PowerState = PowerState.RUNNING
    notification: str = ""
    deadline_s: float = 0.0
    is_verb: bool = False
    arguments: tuple[Argument, ...] = ()
    changes: Callable[[Subject, Caller, Mapping[str, str]], Mapping[str, Any]] | None = None
    passes_locks: frozenset[str] = frozenset()
    bulk: BulkAction | None = None

    @property
    def vm_states(self) -> frozenset[VmState]:
        """The stable states in which it may begin."""
        return GUARDS[self.guard].vm_states

    @property
    def task_states(self) -> frozenset[TaskState]:
        """The tasks that it may replace."""
        return GUARDS[self.guard].task_states & self.only_during

    @property
    def needs_host(self) -> bool:
        """Whether it is refused for an instance that is on no host."""
        return self.is_verb and self.work is not None

    def step_task(self, step: str) -> TaskState | None:
        """The task that begins with a step of its agent; None where the task stays."""
        return next((one.task for one in self.steps if one.name == step), None)


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
        "These instances and their disks are deleted for good.",
    ),
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

UPDATE = ActionRule(
    name="update",
    title="Edit",
    doing="Being changed",
    policy="instances:update",
    guard="update",
    notification="update",
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
        LOCK,
        UNLOCK,
        UPDATE,
        DELETE,
    )
}
"""All of them by name, in the order in which buttons and menus show them."""

VERBS: dict[str, ActionRule] = {name: rule for name, rule in ACTIONS.items() if rule.is_verb}
"""Those that are asked for by name."""

AT_ONCE = frozenset(name for name, rule in ACTIONS.items() if rule.changes is not None or rule is UPDATE)
"""Those that are done when they are asked for, whatever else is under way."""

ACTION_OF_WORK: dict[str, ActionRule] = {rule.work: rule for rule in ACTIONS.values() if rule.work is not None}
"""By the kind of work that a host's agent does for it."""
