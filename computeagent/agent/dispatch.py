"""Which function does which kind of work: the whole of what an agent can be asked."""

from collections.abc import Callable, Mapping

from computeagent.agent import power
from computeagent.agent.build import build
from computeagent.agent.context import AgentContext
from computeagent.agent.delete import delete
from computeagent.agent.held_leases import Hold
from computeagent.protocol.work import WorkKind

Handler = Callable[[AgentContext, Hold], None]

HANDLERS: Mapping[WorkKind, Handler] = {
    WorkKind.BUILD: build,
    WorkKind.DELETE: delete,
    WorkKind.START: power.start,
    WorkKind.STOP: power.stop,
    WorkKind.REBOOT: power.reboot,
}
