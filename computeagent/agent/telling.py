"""Messages about many guests, in parts that the control plane takes."""

from collections.abc import Mapping, Sequence

from computeagent.agent.context import AgentContext
from computeagent.protocol.bounds import GUESTS_TOGETHER
from computeagent.protocol.guests import GuestFacts, GuestReturn


def power_states_tell(context: AgentContext, facts: Mapping[str, GuestFacts]) -> None:
    """What is known of these guests now. Raises what the control plane raises; the parts before are told then."""
    known = list(facts.items())
    for at in range(0, len(known), GUESTS_TOGETHER):
        context.conductor.power_states(host=context.host, facts=dict(known[at : at + GUESTS_TOGETHER]))


def guests_returned_tell(context: AgentContext, returns: Sequence[GuestReturn]) -> None:
    """What became of these guests after a start. Raises as above."""
    for at in range(0, len(returns), GUESTS_TOGETHER):
        context.conductor.guests_returned(host=context.host, returns=returns[at : at + GUESTS_TOGETHER])
