"""Which instances may be scheduled again: those in ERROR that are on no host and never ran, so nothing of them is, and
whose own request is not what failed.
"""

from computeagent.protocol.steps import FailureClass
from controlplane.identity.domain import Caller
from controlplane.kernel.texts import phrase as _
from servers.instances.actions.lifecycle import SCHEDULE_AGAIN
from servers.instances.actions.refusal import action_refusal
from servers.instances.actions.rule import Subject
from servers.states import VmState


def schedule_again_refusal(instance: Subject, caller: Caller, *, flavor: str = "") -> str:
    """Why an instance may not be scheduled again, as a sentence; empty when it may. With another `flavor`, by id or
    name, it is another request.
    """
    if instance.vm_state == VmState.BUILDING:
        return _("The instance is being built already.")
    if refused := action_refusal(SCHEDULE_AGAIN.name, instance, caller):
        return refused
    if instance.host:
        return _("The instance is on a host, which may still hold something of it; delete it, or act on it there.")
    if instance.launched_at is not None:
        return _("The instance has run before: a new one in its place would not have its disks.")
    if instance.failure_class == FailureClass.USER and not _is_another(flavor, instance):
        return _(
            "No host can build what was asked for; the instance's fault says why. Ask with another flavor, or create "
            "an instance with another image."
        )
    return ""


def _is_another(flavor: str, instance: Subject) -> bool:
    return flavor not in {"", *(instance.flavor.get(name, "") for name in ("id", "given_id", "name"))}
