"""Delete one guest: nothing of it is left on the host, and only then the control plane lets go of it."""

import logging

from computeagent.agent.context import AgentContext
from computeagent.agent.failures import CleanupFailed
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.retry import backoff_s
from computeagent.agent.steps import StepRecorder
from computeagent.drivers.base import DriverError

log = logging.getLogger(__name__)

DESTROY_TRIES = 3


def delete(context: AgentContext, held: HeldLease) -> None:
    """Destroy and say so. Raises Fenced, or CleanupFailed: then it is tried again until the work's deadline."""
    steps = StepRecorder(context, held)
    try:
        with steps.step("deleting"):
            destroy_surely(context, held.guest.uuid)
    except CleanupFailed:
        steps.report()
        raise
    context.changes.note(held.guest.uuid)
    steps.write(lambda ended: context.conductor.deleted(lease=held.lease, ended=ended))
    log.info("instance %s is deleted", held.guest.uuid)


def destroy_surely(context: AgentContext, instance_uuid: str) -> None:
    """Remove all of a guest, with a few tries. Raises CleanupFailed: then something may be left."""
    for failures in range(1, DESTROY_TRIES + 1):
        try:
            context.driver.destroy(instance_uuid)
        except DriverError as error:
            log.warning("instance %s: destroy failed (%d of %d): %s", instance_uuid, failures, DESTROY_TRIES, error)
            if failures == DESTROY_TRIES:
                raise CleanupFailed(f"instance {instance_uuid} is not removed: {error.message}") from error
            context.pause(backoff_s(failures))
        else:
            context.tracker.release(instance_uuid)
            return
