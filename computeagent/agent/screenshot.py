"""A picture of a guest's screen, as it is asked for."""

import logging

from computeagent.agent.context import AgentContext
from computeagent.agent.held_leases import HeldLease
from computeagent.drivers.base import DriverError

log = logging.getLogger(__name__)


def screenshot(context: AgentContext, held: HeldLease) -> None:
    """Take it and send it. Taken twice it is a newer picture. Raises Fenced."""
    png, error = b"", ""
    try:
        png = context.driver.screenshot(held.guest.uuid)
    except DriverError as failed:
        error = failed.message
        log.warning("instance %s: no screenshot: %s", held.guest.uuid, error)
    held.check()
    context.retry.call(lambda: context.conductor.screenshot_done(lease=held.lease, png=png, error=error))
