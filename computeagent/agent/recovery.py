"""After a start: adopt what runs, bring back what should run, tell the truth about the rest.

Work that was cut off is not handled here: its row is open, `waiting_work` names it, and every step is idempotent.
"""

import logging

from computeagent.agent.context import AgentContext
from computeagent.agent.instance_lock import InstanceBusy, instance_lock
from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestFacts, GuestReturn, InstanceOnHost
from computeagent.protocol.power import PowerState
from controlplane.kernel.errors import Invalid

log = logging.getLogger(__name__)

DOWN = (PowerState.SHUTDOWN, PowerState.CRASHED, PowerState.NOSTATE)


def recover(context: AgentContext) -> None:
    """Once, before any work is taken and before any power state is told. Raises Unavailable, DriverError."""
    instances = context.conductor.instances_on_host(host=context.host)
    context.tracker.rebuild(instance.guest for instance in instances)
    returns: list[GuestReturn] = []
    facts = {
        instance.uuid: found
        for instance in instances
        if not instance.has_open_work and (found := _recover_one(context, instance, returns)) is not None
    }
    if returns:
        # Before the power states: what they would make of a guest that did not come back has its reason then.
        context.conductor.guests_returned(host=context.host, returns=returns)
    if facts:
        context.conductor.power_states(host=context.host, facts=facts)


def _recover_one(context: AgentContext, instance: InstanceOnHost, returns: list[GuestReturn]) -> GuestFacts | None:
    """The facts of one instance after what could be done for it, which is noted in `returns`.

    None when nothing could be learnt of it.
    """
    facts = None
    try:
        facts = context.driver.facts(instance.uuid) or GuestFacts(power_state=PowerState.NOSTATE)
        if _should_run(context, instance) and facts.power_state in DOWN:
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


def _should_run(context: AgentContext, instance: InstanceOnHost) -> bool:
    wanted = instance.vm_state == "active" and not instance.task_state
    return wanted and context.options.resume_guests_state_on_host_boot


def _bring_back(context: AgentContext, instance: InstanceOnHost, facts: GuestFacts) -> GuestFacts:
    """Power on what is off; define and start what is gone, from the disks it has: new disks are never made here."""
    log.info("instance %s should run and does not: bringing it back", instance.uuid)
    context.counts.add("brought_back")
    if facts.power_state is PowerState.NOSTATE:
        return context.driver.spawn(instance.guest)
    return context.driver.start(instance.guest)
