"""What a config drive says besides the order is asked for right before the drive is made, and kept nowhere."""

from dataclasses import replace

from computeagent.agent.context import AgentContext
from computeagent.agent.held_leases import HeldLease
from computeagent.drivers.base import DriverError
from computeagent.protocol.guest_config import FirstBoot
from computeagent.protocol.guests import GuestSpec
from computeagent.protocol.steps import FailureClass
from controlplane.kernel.errors import Invalid


def guest_with_first_boot(context: AgentContext, held: HeldLease) -> GuestSpec:
    """The guest of this work with its password, files and vendor data, as far as it has any.

    Raises DriverError (NETWORK) where a service that must answer does not; Fenced, Unavailable where the agent ends.
    """
    guest = held.guest

    def ask() -> FirstBoot:
        held.check()
        return context.conductor.first_boot(lease=held.lease)

    if not (guest.config.has_drive and guest.config.asks_first_boot):
        return guest
    try:
        said = context.retry.call(ask)  # until the work's time is over, as images
    except Invalid as error:
        message = f"what the guest reads at its first boot could not be had: {error.message}"
        raise DriverError(message, failure_class=FailureClass.NETWORK) from error
    return replace(guest, first_boot=said)
