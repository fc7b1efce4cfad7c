"""Giving work back when the agent is asked to stop, or what the work needs is away, so that the next who can takes it
at once and no attempt is lost.
"""

import logging

from computeagent.agent.context import AgentContext
from computeagent.agent.held_leases import HeldWork
from controlplane.kernel.errors import KilonovaError

log = logging.getLogger(__name__)

REASON = "The agent was stopped before it was done."


def give_back(context: AgentContext, held: HeldWork, *, reason: str = REASON) -> None:
    """Let the control plane have the work again. What cannot be given back is taken again when its lease is over."""
    if held.is_fenced:
        return
    # First of all: what the thread still does with it must not be written down any more.
    held.fence()
    context.held_leases.drop(held)
    try:
        context.conductor.give_back(lease=held.lease, reason=reason)
    except KilonovaError as error:
        log.warning("%s is not given back: %s", held.about, error.message)
        return
    context.counts.add("given_back")
    log.info("%s is given back", held.about)


def give_all_back(context: AgentContext) -> None:
    """Everything that is held still: what hangs in the hypervisor, and what waits for its turn."""
    for held in context.held_leases.all():
        give_back(context, held)
