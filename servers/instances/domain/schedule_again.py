"""Which instances may be scheduled again: those in ERROR that are on no host and never ran, so nothing of them is."""

from servers.instances.domain.guards import action_refusal
from servers.states import VmState

ACTION = "schedule_again"
"""The name of the action by which it stands in an instance's journey."""


def schedule_again_refusal(*, vm_state: str, task_state: str, host: str, was_launched: bool) -> str:
    """Why an instance may not be scheduled again, as a sentence; empty when it may."""
    if vm_state == VmState.BUILDING:
        return "The instance is being built already."
    if refused := action_refusal(ACTION, vm_state=vm_state, task_state=task_state, is_launched=was_launched):
        return refused
    if host:
        return "The instance is on a host, which may still hold something of it; delete it, or act on it there."
    if was_launched:
        return "The instance has run before: a new one in its place would not have its disks."
    return ""
