"""After a start: adopt what runs, bring back what should run, tell the truth about the rest.

Work that was cut off is not handled here: its row is open, `waiting_work` names it, and every step is idempotent. But
work that needs the guest as it was finds it again.
"""

import logging

from computeagent.agent.context import AgentContext
from computeagent.agent.instance_lock import InstanceBusy, instance_lock
from computeagent.agent.telling import guests_returned_tell, power_states_tell
from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestFacts, GuestReturn, InstanceOnHost
from computeagent.protocol.power import PowerState
from controlplane.kernel.errors import Invalid

log = logging.getLogger(__name__)

DOWN = (PowerState.SHUTDOWN, PowerState.CRASHED, PowerState.NOSTATE)
NOT_PAUSED = (PowerState.NOSTATE, PowerState.RUNNING)
NEED_THEIR_GUEST = ("pausing", "unpausing", "suspending")
"""Tasks that would fail on a guest which the host lost, and leave its instance without one."""
GUEST_STAYS = (
    "networking",
    "block_device_mapping",
    "image_snapshot",
    "image_snapshot_pending",
    "image_pending_upload",
    "image_uploading",
    "image_backup",
    "updating_password",
)
"""Tasks that neither start a guest nor end it: a device comes or goes, its disk is copied, its password is set."""


def recover(context: AgentContext) -> None:
    """Once, before any work is taken and before any power state is told. Raises Unavailable, DriverError."""
    instances = context.conductor.instances_on_host(host=context.host)
    context.tracker.rebuild(instance.guest for instance in instances)
    returns: list[GuestReturn] = []
    facts: dict[str, GuestFacts] = {}
    for instance in instances:
        if instance.has_open_work and instance.task_state not in (*NEED_THEIR_GUEST, *GUEST_STAYS):
            continue
        found = _recover_one(context, instance, returns)
        if found is not None and not instance.has_open_work:
            facts[instance.uuid] = found
    if returns:
        # Before the power states: what they would make of a guest that did not come back has its reason then.
        guests_returned_tell(context, returns)
    if facts:
        power_states_tell(context, facts)


def _recover_one(context: AgentContext, instance: InstanceOnHost, returns: list[GuestReturn]) -> GuestFacts | None:
    """The facts of one instance after what could be done for it, which is noted in `returns`.

    None when nothing could be learnt of it.
    """
    facts = None
    try:
        facts = context.driver.facts(instance.uuid) or GuestFacts(power_state=PowerState.NOSTATE)
        if _is_to_be_brought_back(context, instance, facts.power_state):
            found = facts.power_state
            with instance_lock(context.state_dir, instance.uuid):
                facts = _bring_back(context, instance, facts)
            returns.append(GuestReturn(instance.uuid, found))
    except (DriverError, InstanceBusy, Invalid) as error:
        context.counts.add("recovery_failed")
        log.error("instance %s could not be brought back: %s", instance.uuid, error.message)
        if facts is not None:
            returns.append(GuestReturn(instance.uuid, facts.power_state, error.message))
    return facts


def _is_to_be_brought_back(context: AgentContext, instance: InstanceOnHost, found: PowerState) -> bool:
    if not context.options.resume_guests_state_on_host_boot:
        return False
    if instance.task_state and instance.task_state not in GUEST_STAYS:
        is_known = instance.vm_state in ("active", "paused")
        return is_known and instance.task_state in NEED_THEIR_GUEST and found is PowerState.NOSTATE
    # A paused guest that is off went off by itself: its instance follows and becomes stopped (Nova's rule).
    runs = instance.vm_state in ("active", "rescued")
    return (runs and found in DOWN) or (instance.vm_state == "paused" and found in NOT_PAUSED)


def _bring_back(context: AgentContext, instance: InstanceOnHost, facts: GuestFacts) -> GuestFacts:
    """Power on what is off; define and start what is gone, from the disks it has: new disks are never made here.

    What is to be paused is paused then, or the next time if this run is cut off between the two: what its memory held
    is lost like that of any guest which is started again.
    """
    log.info("instance %s is %s and its guest is not: bringing it back", instance.uuid, instance.vm_state)
    context.counts.add("brought_back")
    if facts.power_state is PowerState.NOSTATE:
        facts = context.driver.spawn(instance.guest)
    elif facts.power_state in DOWN:
        facts = context.driver.start(instance.guest)
    return context.driver.pause(instance.uuid) if instance.vm_state == "paused" else facts
