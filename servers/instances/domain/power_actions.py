"""Power actions: in which states they are allowed (Nova's guards), and which states they pass through."""

from dataclasses import dataclass

from servers.instances.domain.guards import GUARDS, action_refusal
from servers.states import TaskState, VmState


@dataclass(frozen=True, slots=True)
class PowerAction:
    """One verb. `guard`: the row of `GUARDS` that says when it may begin; `task_states`: tasks during which it may,
    which may be fewer here. `kind`: the work that an agent does for it.
    """

    name: str
    kind: str
    guard: str
    vm_states: frozenset[VmState]
    task_states: frozenset[TaskState]
    task_state: TaskState
    vm_state_after: VmState


def _power(name: str, guard: str, during: TaskState, after: VmState) -> PowerAction:
    rule = GUARDS[guard]
    return PowerAction(name, name, guard, rule.vm_states, rule.task_states, during, after)


# A hard reboot may replace other tasks in Nova; here one piece of work per instance runs at a time.
_REBOOT = GUARDS["reboot_hard"]
POWER_ACTIONS: dict[str, PowerAction] = {
    "start": _power("start", "start", TaskState.POWERING_ON, VmState.ACTIVE),
    "stop": _power("stop", "stop", TaskState.POWERING_OFF, VmState.STOPPED),
    "reboot": PowerAction(
        "reboot",
        "reboot",
        "reboot_hard",
        _REBOOT.vm_states,
        frozenset({TaskState.NONE}),
        TaskState.REBOOTING_HARD,
        VmState.ACTIVE,
    ),
}


def allowed_actions(vm_state: str, task_state: str, *, has_host: bool, is_launched: bool) -> list[str]:
    """Names of the power actions possible now: what a page offers as buttons."""
    return [
        rule.name
        for rule in POWER_ACTIONS.values()
        if has_host
        and task_state in rule.task_states
        and not action_refusal(rule.guard, vm_state=vm_state, task_state=task_state, is_launched=is_launched)
    ]
