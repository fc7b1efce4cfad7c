"""Network cards of a guest that is there: add one, take one away. Both may be done twice."""

from computeagent.agent.context import AgentContext
from computeagent.agent.held_leases import HeldLease
from computeagent.agent.power import act_in_step

PORT_ID = "port_id"


def attach_interface(context: AgentContext, held: HeldLease) -> None:
    """The order's guest has the port already. One that could not be added is not there afterwards. Raises Fenced."""
    guest, port_id = held.guest, held.order.arguments.get(PORT_ID, "")
    act_in_step(context, held, "networking", lambda: context.driver.attach_interface(guest, port_id))


def detach_interface(context: AgentContext, held: HeldLease) -> None:
    """The order's guest has the port still. Raises Fenced."""
    guest, port_id = held.guest, held.order.arguments.get(PORT_ID, "")
    timeout_s = context.options.unplug_timeout_s
    act_in_step(
        context, held, "networking", lambda: context.driver.detach_interface(guest, port_id, timeout_s=timeout_s)
    )
