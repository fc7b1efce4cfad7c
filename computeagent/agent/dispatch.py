"""Which function does which kind of work: the whole of what an agent can be asked."""

from collections.abc import Callable, Mapping

from computeagent.agent import power
from computeagent.agent.build import build
from computeagent.agent.context import AgentContext
from computeagent.agent.delete import delete
from computeagent.agent.held_leases import HeldLease
from computeagent.protocol.work import WorkKind

ActionHandler = Callable[[AgentContext, HeldLease], None]

HANDLERS: Mapping[WorkKind, ActionHandler] = {
    WorkKind.BUILD: build,
    WorkKind.DELETE: delete,
    WorkKind.START: power.start,
    WorkKind.STOP: power.stop,
    WorkKind.REBOOT: power.reboot,
    WorkKind.REBOOT_SOFT: power.reboot_soft,
    WorkKind.PAUSE: power.pause,
    WorkKind.UNPAUSE: power.unpause,
    WorkKind.SUSPEND: power.suspend,
    WorkKind.RESUME: power.resume,
    WorkKind.SOFT_DELETE: power.soft_delete,
    WorkKind.RESTORE: power.restore,
}
