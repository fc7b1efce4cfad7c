"""Power actions: in which states they are allowed (Nova's guards), and which states they pass through."""

from dataclasses import dataclass

from servers.domain.states import TaskState, VmState

_V, _T = VmState, TaskState


@dataclass(frozen=True, slots=True)
class PowerAction:
    """One verb. `task_states`: tasks during which it may begin. `kind`: the work that an agent does for it."""

    name: str
    kind: str
    vm_states: frozenset[VmState]
    task_states: frozenset[TaskState]
    task_state: TaskState
    vm_state_after: VmState


POWER_ACTIONS: dict[str, PowerAction] = {
    rule.name: rule
    for rule in (
        PowerAction("start", "start", frozenset({_V.STOPPED}), frozenset({_T.NONE}), _T.POWERING_ON, _V.ACTIVE),
        PowerAction("stop", "stop", frozenset({_V.ACTIVE, _V.ERROR}), frozenset({_T.NONE}), _T.POWERING_OFF, _V.STOPPED),
        PowerAction(
            "reboot",
            "reboot",
            frozenset({_V.ACTIVE, _V.STOPPED, _V.PAUSED, _V.SUSPENDED, _V.ERROR}),
            frozenset({_T.NONE}),
            _T.REBOOTING_HARD,
            _V.ACTIVE,
        ),
    )
}


def allowed_actions(vm_state: str, task_state: str, *, has_host: bool) -> list[str]:
    """Names of the power actions possible now: what a page offers as buttons."""
    return [
        rule.name
        for rule in POWER_ACTIONS.values()
        if has_host and vm_state in rule.vm_states and task_state in rule.task_states
    ]
