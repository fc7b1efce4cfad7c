"""Which instances may be scheduled again: those in ERROR that are on no host and never ran, so nothing of them is."""

from controlplane.identity.domain import Caller
from controlplane.kernel.texts import phrase as _
from servers.instances.actions.lifecycle import SCHEDULE_AGAIN
from servers.instances.actions.refusal import action_refusal
from servers.instances.actions.rule import Subject
from servers.states import VmState


def schedule_again_refusal(instance: Subject, caller: Caller) -> str:
    """Why an instance may not be scheduled again, as a sentence; empty when it may."""
    if instance.vm_state == VmState.BUILDING:
        return _("The instance is being built already.")
    if refused := action_refusal(SCHEDULE_AGAIN.name, instance, caller):
        return refused
    if instance.host:
        return _("The instance is on a host, which may still hold something of it; delete it, or act on it there.")
    if instance.launched_at is not None:
        return _("The instance has run before: a new one in its place would not have its disks.")
    return ""
