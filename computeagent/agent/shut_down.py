"""A guest is asked to shut down, gets its time for it, and its journey says when the plug was pulled all the same."""

from computeagent.agent.context import AgentContext
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.steps import StepRecorder
from computeagent.protocol.guests import GuestFacts, GuestSpec
from computeagent.protocol.shut_down import PLUG_PULLED, image_shutdown_timeout_s


def guest_shut_down(
    context: AgentContext, held: HeldLease, steps: StepRecorder, *, timeout_s: float | None = None
) -> GuestFacts:
    """Power off within `timeout_s`, or as image and host say. Raises DriverError, Fenced."""
    return context.driver.stop(
        held.guest.uuid,
        grace_s=shutdown_timeout_s(held.guest, context.options.shutdown_timeout_s) if timeout_s is None else timeout_s,
        check=held.check,
        plug_pulled=lambda: steps.happened(PLUG_PULLED),
    )


def shutdown_timeout_s(guest: GuestSpec, of_host_s: float) -> float:
    """How long it may take: the image goes before the host, as in Nova."""
    of_image_s = image_shutdown_timeout_s(guest.image_properties)
    return of_host_s if of_image_s is None else of_image_s
