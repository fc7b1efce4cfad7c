"""Start, stop and hard reboot of a guest. The step names are Nova's task states."""

import logging
from collections.abc import Callable

from computeagent.agent.context import AgentContext
from computeagent.agent.failures import StepFailed
from computeagent.agent.held_leases import Hold
from computeagent.agent.steps import Steps
from computeagent.protocol.guests import GuestFacts

log = logging.getLogger(__name__)


def start(context: AgentContext, hold: Hold) -> None:
    """Power on. Raises Fenced."""
    _act(context, hold, "powering-on", lambda: context.driver.start(hold.guest))


def stop(context: AgentContext, hold: Hold) -> None:
    """Power off; the order's argument `grace_s` says how long the guest may take. Raises Fenced."""
    grace_s = _grace_s(hold.order.arguments.get("grace_s", ""), context.options.stop_grace_s)
    _act(context, hold, "powering-off", lambda: context.driver.stop(hold.guest.uuid, grace_s=grace_s))


def reboot(context: AgentContext, hold: Hold) -> None:
    """Power off and on. Raises Fenced."""
    _act(context, hold, "rebooting_hard", lambda: context.driver.hard_reboot(hold.guest))


def _act(context: AgentContext, hold: Hold, step: str, verb: Callable[[], GuestFacts]) -> None:
    steps = Steps(context, hold)
    try:
        with steps.step(step):
            facts = verb()
    except StepFailed as failed:
        _report_failure(context, hold, steps, failed)
        return
    context.changes.note(hold.guest.uuid)
    steps.write(lambda ended: context.conductor.action_done(lease=hold.lease, facts=facts, ended=ended))
    log.info("instance %s: %s done, power state %s", hold.guest.uuid, step, facts.power_state)


def _report_failure(context: AgentContext, hold: Hold, steps: Steps, failed: StepFailed) -> None:
    failure = failed.failure
    log.warning("instance %s: %s", hold.guest.uuid, failed.message)
    steps.write(
        lambda ended: context.conductor.action_failed(
            lease=hold.lease, step=failure.step, message=failure.message, details=failure.details, ended=ended
        )
    )


def _grace_s(text: str, default_s: float) -> float:
    try:
        return min(max(float(text), 0.0), 3600.0)
    except ValueError:
        return default_s
