"""Delete one guest: nothing of it is left on the host, and only then the control plane lets go of it."""

import logging

from computeagent.agent.context import AgentContext
from computeagent.agent.failures import CleanupFailed, StepFailed
from computeagent.agent.holds import Hold
from computeagent.agent.patience import backoff_s
from computeagent.agent.steps import Steps
from computeagent.drivers.base import DriverError

log = logging.getLogger(__name__)

DESTROY_TRIES = 3


def delete(context: AgentContext, hold: Hold) -> None:
    """Destroy and say so; after some failures the action fails and the user may ask again. Raises Fenced."""
    steps = Steps(context, hold)
    try:
        with steps.step("deleting"):
            _destroy_for_user(context, hold)
    except StepFailed as failed:
        failure = failed.failure
        steps.write(
            lambda: context.conductor.action_failed(
                lease=hold.lease, step=failure.step, message=failure.message, details=failure.details
            )
        )
        return
    steps.write(lambda: context.conductor.deleted(lease=hold.lease))
    log.info("instance %s is deleted", hold.guest.uuid)


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


def _destroy_for_user(context: AgentContext, hold: Hold) -> None:
    try:
        destroy_surely(context, hold.guest.uuid)
    except CleanupFailed as error:
        raise DriverError(error.message) from error
    context.changes.note(hold.guest.uuid)
