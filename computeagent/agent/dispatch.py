"""Which function does which kind of work: the whole of what an agent can be asked."""

from collections.abc import Callable, Mapping

from computeagent.agent import guest_volumes, interfaces, power, rescue, shelving, snapshots
from computeagent.agent.build import build
from computeagent.agent.context import AgentContext
from computeagent.agent.delete import delete
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.screenshot import screenshot
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
    WorkKind.SNAPSHOT: snapshots.snapshot,
    WorkKind.BACKUP: snapshots.snapshot,
    WorkKind.SHELVE: shelving.shelve,
    WorkKind.SHELVE_OFFLOAD: shelving.shelve_offload,
    WorkKind.UNSHELVE: shelving.unshelve,
    WorkKind.REBUILD: rescue.rebuild,
    WorkKind.RESCUE: rescue.rescue,
    WorkKind.UNRESCUE: rescue.unrescue,
    WorkKind.CHANGE_PASSWORD: rescue.change_password,
    WorkKind.TRIGGER_CRASH_DUMP: power.trigger_crash_dump,
    WorkKind.SCREENSHOT: screenshot,
    WorkKind.ATTACH_INTERFACE: interfaces.attach_interface,
    WorkKind.DETACH_INTERFACE: interfaces.detach_interface,
    WorkKind.ATTACH_VOLUME: guest_volumes.attach_volume,
    WorkKind.DETACH_VOLUME: guest_volumes.detach_volume,
}
