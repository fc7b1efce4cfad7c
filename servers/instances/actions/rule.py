"""What a row of the table of instance actions says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from computeagent.protocol.power import PowerState
from computeagent.protocol.shut_down import SHUTDOWN_TIMEOUT_MAX_S, image_shutdown_timeout_s
from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from controlplane.kernel.texts import gettext_noop
from servers.instances.actions.guards import GUARDS
from servers.states import TaskState, VmState

MOMENTS_S = 300.0
"""For what ends in moments, on a host that is busy."""
POWER_DEADLINE_S = SHUTDOWN_TIMEOUT_MAX_S + MOMENTS_S
"""Of what ends in moments, after the most that a host may give a guest to shut down."""
SAVE_DEADLINE_S = 3600.0
"""For what writes or reads the memory or a disk of a large guest."""


DEVICE_TASKS = frozenset({TaskState.NETWORKING, TaskState.BLOCK_DEVICE_MAPPING})
"""What an instance is busy with while a card or a volume comes or goes."""


class Subject(Protocol):
    """What the table reads of an instance, or of the build request that is not an instance yet."""

    @property
    def vm_state(self) -> str: ...
    @property
    def task_state(self) -> str: ...
    @property
    def power_state(self) -> str: ...
    @property
    def crash_is_seen(self) -> bool: ...
    @property
    def host(self) -> str: ...
    @property
    def launched_at(self) -> datetime | None: ...
    @property
    def failure_class(self) -> str: ...
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
    @property
    def protected(self) -> bool: ...
    @property
    def flavor(self) -> Mapping[str, Any]: ...
    @property
    def image(self) -> Mapping[str, Any]: ...
    @property
    def is_bfv(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One step as the host's agent reports it. `task`: what the instance is busy with from then on, if that changes."""

    name: str
    title: str
    task: TaskState | None = None


class ArgumentKind(StrEnum):
    """What an argument is, so that a form can ask for it. All of them travel as text."""

    TEXT = "text"
    PASSWORD = "password"  # noqa: S105  (a kind of field)
    NUMBER = "number"
    """A whole number from `min_value` to `max_value`."""
    IMAGE = "image"
    """The id or name of an image that the caller sees."""
    CHOICE = "choice"
    """One of `choices`."""


@dataclass(frozen=True, slots=True)
class Argument:
    """Text that may come with an action; empty where it does not, and refused so if it `is_required`. `is_secret`: it
    is never stored in clear, nothing shows it, and nothing of it is left when the action's work ends.
    """

    name: str
    help: str
    max_length: int = 255
    kind: ArgumentKind = ArgumentKind.TEXT
    is_required: bool = False
    min_value: int = 0
    max_value: int = 2**31 - 1
    choices: tuple[str, ...] = ()

    @property
    def is_secret(self) -> bool:
        """Whether it may stand in no journey and no log."""
        return self.kind is ArgumentKind.PASSWORD


class ActionGroup(StrEnum):
    """The heading under which the menu of an instance has an action, in this order."""

    POWER = gettext_noop("Power")
    DATA = gettext_noop("Disks and images")
    NETWORK = gettext_noop("Network")
    REPAIR = gettext_noop("Repair")
    PLACE = gettext_noop("Host")
    RECORD = gettext_noop("Name, access and protection")
    DELETION = gettext_noop("Deletion")


def work_deadline_s(rule: "ActionRule", subject: Subject) -> float:
    """Seconds after which a host's work on this instance is given up (0: by a setting): what its image gives the guest
    to shut down is no delay.
    """
    if not (rule.deadline_s and rule.shuts_down):
        return rule.deadline_s
    return rule.deadline_s + (image_shutdown_timeout_s(subject.image.get("properties") or {}) or 0.0)


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
    caller needs. `guard`: the row of `GUARDS`. `work`:
    what the host's agent is asked to do, within `deadline_s` seconds (0: by a setting). `task` begins with it, and
    `later_tasks` are those that Nova has for its later stages; `steps` are those of its agent. `vm_state_after` (None:
    as before) and `power_state_wanted` are what there is when it went well. `notification`: Nova's verb in the names of
    its events. `is_verb`: it is asked for by its name in `POST /api/instances/<id>/actions/`, and by a button of that
    name, with the `arguments` that it takes; they go to the agent with the work. `may_lack_host`: it is not refused for
    an instance that is on none. A verb without work is done at once: `changes` says which columns of the instance get
    which values (none: there is nothing to do). `passes_locks`: it is not refused for an instance that was locked so
    (`Instance.locked_as`). `takes_quota`: until it begins, the instance counts for no quota, so the quota is asked.
    `is_deletion`: it is refused for what is protected. `waits_behind`: while the instance is busy with one of these, by
    an action on another device, it is accepted and begins after that.

    `vm_state_after` None leaves the stable state as it is, and so does beginning in one of `comes_back_to`.
    `vm_state_on_failure`: what the instance is once its host could not do it; None: what it was. `columns_after`: what
    these columns hold when it went well. `is_own_request`: it is asked for by a request and a page of its own, since
    more belongs to it than texts. `refusal`: why it cannot be done to this instance, whatever its states. `shuts_down`:
    the guest is asked to shut down, and gets its time for it.
    `help` is a sentence on what it does. The instance's page has it in the menu under `group`, and as a button where
    `is_main`. `loss`: what is lost by it, as a sentence; it is asked for once more on a page that says so.
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
    vm_state_after: VmState | None = None
    power_state_wanted: PowerState = PowerState.RUNNING
    notification: str = ""
    deadline_s: float = 0.0
    is_verb: bool = False
    arguments: tuple[Argument, ...] = ()
    changes: Callable[[Subject, Caller, Mapping[str, str]], Mapping[str, Any]] | None = None
    passes_locks: frozenset[str] = frozenset()
    takes_quota: bool = False
    is_deletion: bool = False
    waits_behind: frozenset[TaskState] = frozenset()
    may_lack_host: bool = False
    bulk: BulkAction | None = None
    comes_back_to: frozenset[VmState] = frozenset()
    vm_state_on_failure: VmState | None = None
    columns_after: Mapping[str, Any] = field(default_factory=dict)
    is_own_request: bool = False
    refusal: Callable[[Subject], str] | None = None
    help: str = ""
    loss: str = ""
    group: ActionGroup = ActionGroup.POWER
    is_main: bool = False
    shuts_down: bool = False

    @property
    def vm_states(self) -> frozenset[VmState]:
        """The stable states in which it may begin."""
        return GUARDS[self.guard].vm_states

    @property
    def task_states(self) -> frozenset[TaskState]:
        """The tasks that it may replace."""
        return GUARDS[self.guard].task_states

    @property
    def needs_host(self) -> bool:
        """Whether it is refused for an instance that is on no host."""
        return (self.is_verb or self.is_own_request) and self.work is not None and not self.may_lack_host

    @property
    def is_task(self) -> bool:
        """Whether the instance is busy with it. What is none changes no state, and other things begin meanwhile."""
        return bool(self.task)

    @property
    def tasks(self) -> frozenset[TaskState]:
        """All tasks that an instance has from its beginning to its end."""
        return frozenset({self.task, *self.later_tasks, *(step.task for step in self.steps if step.task is not None)})

    def vm_state_end(self, began: VmState) -> VmState:
        """The stable state when it went well, for an instance that was in this one."""
        return began if self.vm_state_after is None or began in self.comes_back_to else self.vm_state_after

    def power_state_end(self, began: VmState) -> PowerState:
        """The power state when it went well, for an instance that was in this stable state."""
        stays_off = began is VmState.STOPPED and began in self.comes_back_to
        return PowerState.SHUTDOWN if stays_off else self.power_state_wanted

    def step_task(self, step: str) -> TaskState | None:
        """The task that begins with a step of its agent; None where the task stays."""
        return next((one.task for one in self.steps if one.name == step), None)
