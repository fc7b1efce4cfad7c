"""Power of a guest: start, stop, reboots, pause, suspend and back. The step names are Nova's task states."""

import logging
from collections.abc import Callable

from computeagent.agent.context import AgentContext
from computeagent.agent.done_once import done_forget, done_once
from computeagent.agent.failures import StepFailed
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.shut_down import guest_shut_down
from computeagent.agent.steps import StepRecorder
from computeagent.drivers.base import DriverError
from computeagent.protocol.guests import GuestFacts

log = logging.getLogger(__name__)


def start(context: AgentContext, held: HeldLease) -> None:
    """Power on. Raises Fenced."""
    act_in_step(context, held, "powering-on", lambda: context.driver.start(held.guest))


def stop(context: AgentContext, held: HeldLease) -> None:
    """Power off. Raises Fenced."""
    _act(context, held, "powering-off", lambda steps: guest_shut_down(context, held, steps))


def reboot(context: AgentContext, held: HeldLease) -> None:
    """Power off and on. Raises Fenced."""

    def verb() -> GuestFacts:
        return done_once(context, held, lambda: context.driver.hard_reboot(held.guest))

    act_in_step(context, held, "rebooting_hard", verb)


def reboot_soft(context: AgentContext, held: HeldLease) -> None:
    """Ask the guest to power off, pull the plug when it does not in time, and power on, as Nova does. Raises Fenced."""

    def verb(steps: StepRecorder) -> GuestFacts:
        guest_shut_down(context, held, steps, timeout_s=context.options.soft_reboot_timeout_s)
        held.check()
        return context.driver.start(held.guest)

    _act(context, held, "rebooting", lambda steps: done_once(context, held, lambda: verb(steps)))


def pause(context: AgentContext, held: HeldLease) -> None:
    """Let the guest stand still in memory. Raises Fenced."""
    act_in_step(context, held, "pausing", lambda: context.driver.pause(held.guest.uuid))


def unpause(context: AgentContext, held: HeldLease) -> None:
    """Let a paused guest run on. Raises Fenced."""
    act_in_step(context, held, "unpausing", lambda: context.driver.unpause(held.guest.uuid))


def suspend(context: AgentContext, held: HeldLease) -> None:
    """Save the guest's memory on the host's disk and power off. Raises Fenced."""
    act_in_step(context, held, "suspending", lambda: context.driver.suspend(held.guest.uuid))


def resume(context: AgentContext, held: HeldLease) -> None:
    """Run on from the saved memory. Raises Fenced."""
    act_in_step(context, held, "resuming", lambda: context.driver.resume(held.guest))


def trigger_crash_dump(context: AgentContext, held: HeldLease) -> None:
    """Interrupt the guest so that it crashes with a dump: once, for a second NMI would end that. Raises Fenced."""

    def verb() -> GuestFacts:
        return done_once(context, held, lambda: context.driver.inject_nmi(held.guest.uuid))

    act_in_step(context, held, "interrupting", verb)


def soft_delete(context: AgentContext, held: HeldLease) -> None:
    """Power off, and leave all that there is so that it can be restored. Raises Fenced."""
    _act(context, held, "soft-deleting", lambda steps: guest_shut_down(context, held, steps))


def restore(context: AgentContext, held: HeldLease) -> None:
    """Power on what was soft-deleted. Raises Fenced."""
    act_in_step(context, held, "restoring", lambda: context.driver.start(held.guest))


def act_in_step(context: AgentContext, held: HeldLease, step: str, verb: Callable[[], GuestFacts]) -> None:
    """Do it as this one step of the action, and tell how it ended. Raises Fenced."""
    _act(context, held, step, lambda _steps: verb())


def _act(context: AgentContext, held: HeldLease, step: str, verb: Callable[[StepRecorder], GuestFacts]) -> None:
    steps = StepRecorder(context, held)
    try:
        with steps.step(step):
            facts = verb(steps)
    except StepFailed as failed:
        report_failure(context, held, steps, failed)
        return
    report_done(context, held, steps, facts)


def report_done(context: AgentContext, held: HeldLease, steps: StepRecorder, facts: GuestFacts) -> None:
    """Tell that the action is done, and what the guest is now. Raises Fenced."""
    context.changes.note(held.guest.uuid)
    steps.write(lambda ended: context.conductor.action_done(lease=held.lease, facts=facts, ended=ended))
    context.instance_mutex.reported(held.guest.uuid, facts)
    done_forget(context, held)
    log.info("instance %s: %s done, power state %s", held.guest.uuid, held.order.kind, facts.power_state)


def report_failure(context: AgentContext, held: HeldLease, steps: StepRecorder, failed: StepFailed) -> None:
    """Tell that the action failed, at which step, and whether the guest is gone. Raises Fenced."""
    failure = failed.failure
    log.warning("instance %s: %s", held.guest.uuid, failed.message)
    is_guest_gone = _is_gone(context, held.guest.uuid)
    steps.write(
        lambda ended: context.conductor.action_failed(
            lease=held.lease,
            step=failure.step,
            message=failure.message,
            details=failure.details,
            ended=ended,
            failure_class=failure.failure_class,
            is_guest_gone=is_guest_gone,
        )
    )


def _is_gone(context: AgentContext, guest_uuid: str) -> bool:
    """Whether the hypervisor says that it has no such guest; one that does not answer says nothing. Bringing it back is
    work, and a host in safe mode takes none.
    """
    try:
        return context.driver.facts(guest_uuid) is None
    except DriverError:
        return False
