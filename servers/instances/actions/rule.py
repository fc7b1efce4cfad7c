"""What a row of the table of instance actions says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from computeagent.protocol.power import PowerState
from computeagent.protocol.work import WorkKind
from controlplane.identity.domain import Caller
from servers.instances.actions.guards import ANY_TASK, GUARDS
from servers.states import TaskState, VmState


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
    @property
    def protected(self) -> bool: ...


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
    refused for an instance that was locked so (`Instance.locked_as`). `takes_quota`: until it begins, the instance
    counts for no quota, so the quota is asked. `is_deletion`: it is refused for what is protected.
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
    takes_quota: bool = False
    is_deletion: bool = False
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
